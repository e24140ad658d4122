"""The number of rows that pass the filter, and the distinct keys among them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from distmom.errors import ConfigError
from distmom.reductions import Accumulator
from distmom.reductions.accumulate.leaves import Rows
from distmom.reductions.state import Key


@dataclass(frozen=True)
class DistinctKeys:
    """The distinct keys, in order of first appearance.

    Attributes
    ----------
    most : int
        Largest allowed number of keys.
    too_many : str
        Message if there are more.
    """

    most: int
    too_many: str

    def begin(self, n_files: int, window: object = None) -> _Collector:
        """An accumulator for one unit."""
        return _Collector(self)

    def merge(self, left: list[Key], right: list[Key]) -> list[Key]:
        """The keys of both."""
        return self.checked(dict.fromkeys([*left, *right]))

    def checked(self, keys: Iterable[Key]) -> list[Key]:
        """The keys, after a check that there are not too many."""
        found = list(keys)
        self.check(len(found))
        return found

    def check(self, n_keys: int) -> None:
        """Refuse too many keys.

        Raises
        ------
        ConfigError
            If there are more keys than allowed.
        """
        if n_keys > self.most:
            raise ConfigError(self.too_many)


class _Collector(Accumulator):
    """The `Accumulator` of `DistinctKeys`; it stops at the first key beyond the limit."""

    def __init__(self, spec: DistinctKeys) -> None:
        self._spec = spec

    def add(self, rows: Rows, n_groups: int) -> None:
        """The reader numbers the keys, so only their number is checked."""
        self._spec.check(n_groups)

    def result(self, keys: list[Key]) -> list[Key]:
        """The keys of the unit."""
        return self._spec.checked(keys)


@dataclass(frozen=True)
class RowCount:
    """Number of rows for which the filter's condition is true."""

    def begin(self, n_files: int, window: object = None) -> _Counter:
        """An accumulator for one unit."""
        return _Counter()

    def merge(self, left: int, right: int) -> int:
        """Rows of both."""
        return left + right


class _Counter(Accumulator):
    """The `Accumulator` of `RowCount`."""

    def __init__(self) -> None:
        self._rows = 0

    def add(self, rows: Rows, n_groups: int) -> None:
        """Count."""
        self._rows += rows.n_rows if rows.keep is None else int(np.count_nonzero(rows.keep))

    def result(self, keys: list[Key]) -> int:
        """The number of rows."""
        return self._rows
