"""Which keys there are among the rows that pass the filter."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from distmom.errors import ConfigError
from distmom.reductions.accumulate.leaves import Rows
from distmom.reductions.state import Key


@dataclass(frozen=True)
class DistinctKeys:
    """The distinct keys, by first appearance.

    Attributes
    ----------
    most : int
        How many there may be.
    too_many : str
        What to say of more.
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
        """The keys, once they are known not to be too many."""
        found = list(keys)
        self.check(len(found))
        return found

    def check(self, n_keys: int) -> None:
        """Refuse too many.

        Raises
        ------
        ConfigError
            If there are more than may be.
        """
        if n_keys > self.most:
            raise ConfigError(self.too_many)


class _Collector:
    """The `Accumulator` of `DistinctKeys`; it stops at the first key too many."""

    def __init__(self, spec: DistinctKeys) -> None:
        self._spec = spec

    def start_file(self, number: int, path: str) -> None:
        """Nothing depends on the file."""

    def add(self, rows: Rows, n_groups: int) -> None:
        """The keys are numbered by whoever reads them: only how many there are is looked at."""
        self._spec.check(n_groups)

    def end_file(self) -> None:
        """Nothing is left open."""

    def result(self, keys: list[Key]) -> list[Key]:
        """The keys of the unit."""
        return self._spec.checked(keys)
