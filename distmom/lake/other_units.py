"""Rows of all units but some: the condition that leaves out units which a pass has found."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from distmom.lake.columns.convert import encodable
from distmom.lake.filters import Filter
from distmom.lake.keys.unit_hashes import UnitHashes
from distmom.numerics.arrays import Bools, Words


@dataclass(frozen=True, eq=False)
class OtherUnits(Filter):
    """Rows whose unit is none of some, which are known by their hashes.

    Attributes
    ----------
    units : tuple of str
        Columns whose values make a unit.
    hashes : ndarray of uint64
        Of the units that are left out, ascending.
    seed : int
        128 bits that key the hashes.
    also : Filter, optional
        A condition that must hold too.
    """

    units: tuple[str, ...]
    hashes: Words
    seed: int
    also: Filter | None = None

    @property
    def columns(self) -> tuple[str, ...]:
        """Those of units, and those of the other condition."""
        return tuple(dict.fromkeys((*self.units, *(() if self.also is None else self.also.columns))))

    @property
    def keys(self) -> tuple[str, ...]:
        """Columns of units, and those of the other condition."""
        return (*self.units, *(() if self.also is None else self.also.keys))

    @property
    def text(self) -> str:
        """How it is shown."""
        mine = f"{', '.join(self.units)} is none of {self.hashes.size:,} units"
        return mine if self.also is None else f"({self.also.text}) and {mine}"

    @property
    def identity(self) -> str:
        """The columns, and a hash of the hashes."""
        mine = hashlib.blake2b(self.hashes.tobytes(), digest_size=16).hexdigest()
        return f"units {self.units!r} {self.seed} {mine} {'' if self.also is None else self.also.identity}"

    def check(self, kinds: Mapping[str, str]) -> None:
        """Raise ConfigError if the other condition does not fit the kinds of the columns."""
        if self.also is not None:
            self.also.check(kinds)

    def mask(self, operands: Mapping[str, pa.Array], n_rows: int) -> Bools:
        """Rows of other units for which the other condition is true."""
        kept = np.ones(n_rows, np.bool_) if self.also is None else self.also.mask(operands, n_rows)
        if not self.hashes.size:
            return kept
        columns = [encodable(_each(operands[name], n_rows)) for name in self.units]
        found = UnitHashes(len(columns), self.seed).of(columns)
        place = np.minimum(np.searchsorted(self.hashes, found), self.hashes.size - 1)
        return np.asarray(kept & (self.hashes[place] != found))

    def excludes(self, values: Mapping[str, pa.Array]) -> bool:
        """Whether the other condition cannot be true."""
        return self.also is not None and self.also.excludes(values)


def _each(array: pa.Array, n_rows: int) -> pa.Array:
    """A value for each row: one stands for all."""
    return array if len(array) == n_rows else array.take(pa.array(np.zeros(n_rows, np.int64)))
