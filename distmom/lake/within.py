"""Rows whose values lie inside of bounds: the condition that leaves out what stands apart."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from distmom.lake.columns.convert import to_float64
from distmom.lake.filters import Filter
from distmom.lake.keys.encoder import KeyEncoder
from distmom.lake.keys.keyvalues import Key, decode_key
from distmom.numerics.arrays import Bools, Floats

Bound = tuple[str, float, float]

GroupBound = tuple[Key, str, float, float]
"""The key of a group, a column, and the ends for its rows in that group."""


@dataclass(frozen=True)
class Within(Filter):
    """Rows of which no value lies at or beyond an end; a null or NaN has no place, and stays.

    Attributes
    ----------
    bounds : tuple of (column, low, high)
        Ends are infinite where there is none.
    also : Filter, optional
        A condition that must hold too.
    by : tuple of str
        Columns whose values form groups.
    of_groups : tuple of (key, column, low, high)
        Bounds that hold in one of them.
    """

    bounds: tuple[Bound, ...]
    also: Filter | None = None
    by: tuple[str, ...] = ()
    of_groups: tuple[GroupBound, ...] = ()

    @property
    def columns(self) -> tuple[str, ...]:
        """The bounded columns, those of groups, and those of the other condition."""
        others = () if self.also is None else self.also.columns
        mine = (*(bound[0] for bound in self.bounds), *(bound[1] for bound in self.of_groups))
        return tuple(dict.fromkeys((*mine, *self.by, *others)))

    @property
    def keys(self) -> tuple[str, ...]:
        """Columns of groups, and those of the other condition."""
        return (*self.by, *(() if self.also is None else self.also.keys))

    @property
    def text(self) -> str:
        """How it is shown."""
        mine = [f"{low:g} < {column} < {high:g}" for column, low, high in self.bounds]
        for key, column, low, high in self.of_groups:
            group = ", ".join(map(str, decode_key(key)))
            mine.append(f"{low:g} < {column} < {high:g} of {group}")
        words = " and ".join(mine)
        return words if self.also is None else f"({self.also.text}) and {words}"

    @property
    def identity(self) -> str:
        """The bounds, to their last bit."""
        mine = f"{self.bounds!r} {self.by!r} {self.of_groups!r}"
        return f"within {mine} {'' if self.also is None else self.also.identity}"

    def check(self, kinds: Mapping[str, str]) -> None:
        """Raise ConfigError if the other condition does not fit the kinds of the columns."""
        if self.also is not None:
            self.also.check(kinds)

    def mask(self, operands: Mapping[str, pa.Array], n_rows: int) -> Bools:
        """Rows within all bounds for which the other condition is true."""
        kept = np.ones(n_rows, np.bool_) if self.also is None else self.also.mask(operands, n_rows)
        for column, low, high in self.bounds:
            kept = kept & ~_beyond(operands[column], low, high)  # one value stands for all rows
        if not self.of_groups:
            return kept
        known = list(dict.fromkeys(bound[0] for bound in self.of_groups))
        codes = KeyEncoder(len(self.by), known).encode([_each(operands[c], n_rows) for c in self.by], None)
        codes = np.minimum(codes, len(known))  # the last is all other groups
        for column in dict.fromkeys(bound[1] for bound in self.of_groups):
            lows, highs = np.full(len(known) + 1, -np.inf), np.full(len(known) + 1, np.inf)
            for key, name, low, high in self.of_groups:
                if name == column:
                    lows[known.index(key)], highs[known.index(key)] = low, high
            kept = kept & ~_beyond(operands[column], lows[codes], highs[codes])
        return kept

    def excludes(self, values: Mapping[str, pa.Array]) -> bool:
        """Whether the other condition cannot be true."""
        return self.also is not None and self.also.excludes(values)


def _each(array: pa.Array, n_rows: int) -> pa.Array:
    """A value for each row: one stands for all."""
    return array if len(array) == n_rows else array.take(pa.array(np.zeros(n_rows, np.int64)))


def _beyond(array: pa.Array, low: float | Floats, high: float | Floats) -> Bools:
    """Values at or beyond an end."""
    values, valid = to_float64(array)
    beyond = (values <= low) & np.isfinite(low) | (values >= high) & np.isfinite(high)
    return np.asarray(beyond if valid is None else beyond & valid)
