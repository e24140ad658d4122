"""The condition that a column has the value of one group."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from distmom.lake.filters import Filter
from distmom.lake.keys.codes import dictionary_places
from distmom.lake.keys.keyvalues import Component, components


@dataclass(frozen=True)
class GroupFilter(Filter):
    """Rows of one group of a column, as a pass with ``by`` has found it.

    A value that was read once need not be written down: decimals, NaN, bytes and durations have no text in
    the small language, and are equal here as groups are.

    Attributes
    ----------
    component : Component
        Of the group's key, not null.
    shown : str
        The value as people see it.
    also : Filter, optional
        A condition that must hold too.
    """

    column: str
    component: Component
    shown: str
    also: Filter | None = None

    @property
    def columns(self) -> tuple[str, ...]:
        """The column, and those of the other condition."""
        others = () if self.also is None else self.also.columns
        return tuple(dict.fromkeys((self.column, *others)))

    @property
    def keys(self) -> tuple[str, ...]:
        """The column; those of the other condition were checked when it was read alone."""
        return (self.column,)

    @property
    def text(self) -> str:
        """How it is shown."""
        mine = f"{self.column} = {self.shown}"
        return mine if self.also is None else f"({self.also.text}) and {mine}"

    @property
    def identity(self) -> str:
        """The key of the group, whatever it is called."""
        other = "" if self.also is None else self.also.identity
        return f"group {self.column!r} {self.component!r} {other}"

    def check(self, kinds: Mapping[str, str]) -> None:
        """Raise ConfigError if the other condition does not fit the kinds of the columns."""
        if self.also is not None:
            self.also.check(kinds)

    def mask(self, operands: Mapping[str, pa.Array], n_rows: int) -> NDArray[np.bool_]:
        """Rows of the group for which the other condition is true."""
        mine = self._equal(operands[self.column])
        if len(mine) != n_rows:
            mine = np.repeat(mine, n_rows)
        return mine if self.also is None else mine & self.also.mask(operands, n_rows)

    def excludes(self, values: Mapping[str, pa.Array]) -> bool:
        """Whether a column of folders has another value, or the other condition cannot be true."""
        if self.column in values and components(values[self.column]) != [self.component]:
            return True
        return self.also is not None and self.also.excludes(values)

    def _equal(self, array: pa.Array) -> NDArray[np.bool_]:
        """Which values are the group's; each distinct one is looked at once."""
        if pa.types.is_null(array.type):
            return np.zeros(len(array), np.bool_)
        encoded = array if isinstance(array, pa.DictionaryArray) else array.dictionary_encode()
        found = [one == self.component for one in components(encoded.dictionary)]
        return np.array([*found, False])[dictionary_places(encoded)]
