"""Rows whose values lie inside of bounds: the condition that leaves out what stands apart."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from distmom.lake.columns.convert import to_float64
from distmom.lake.filters import Filter
from distmom.numerics.arrays import Bools

Bound = tuple[str, float, float]


@dataclass(frozen=True)
class Within(Filter):
    """Rows of which no value lies at or beyond an end; a null or NaN has no place, and stays.

    Attributes
    ----------
    bounds : tuple of (column, low, high)
        Ends are infinite where there is none.
    also : Filter, optional
        A condition that must hold too.
    """

    bounds: tuple[Bound, ...]
    also: Filter | None = None

    @property
    def columns(self) -> tuple[str, ...]:
        """The bounded columns, and those of the other condition."""
        others = () if self.also is None else self.also.columns
        return tuple(dict.fromkeys((*(column for column, _, _ in self.bounds), *others)))

    @property
    def keys(self) -> tuple[str, ...]:
        """Those of the other condition."""
        return () if self.also is None else self.also.keys

    @property
    def text(self) -> str:
        """How it is shown."""
        mine = " and ".join(f"{low:g} < {column} < {high:g}" for column, low, high in self.bounds)
        return mine if self.also is None else f"({self.also.text}) and {mine}"

    @property
    def identity(self) -> str:
        """The bounds, to their last bit."""
        return f"within {self.bounds!r} {'' if self.also is None else self.also.identity}"

    def check(self, kinds: Mapping[str, str]) -> None:
        """Raise ConfigError if the other condition does not fit the kinds of the columns."""
        if self.also is not None:
            self.also.check(kinds)

    def mask(self, operands: Mapping[str, pa.Array], n_rows: int) -> Bools:
        """Rows within all bounds for which the other condition is true."""
        kept = np.ones(n_rows, np.bool_) if self.also is None else self.also.mask(operands, n_rows)
        for column, low, high in self.bounds:
            values, valid = to_float64(operands[column])
            beyond = (values <= low) & np.isfinite(low) | (values >= high) & np.isfinite(high)
            kept = kept & ~(beyond if valid is None else beyond & valid)  # one value stands for all rows
        return kept

    def excludes(self, values: Mapping[str, pa.Array]) -> bool:
        """Whether the other condition cannot be true."""
        return self.also is not None and self.also.excludes(values)
