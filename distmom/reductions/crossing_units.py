"""Units that have rows in several groups: all pairs of unit and group are kept, 16 bytes each."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from distmom.numerics.arrays import Record, Words
from distmom.reductions import Accumulator
from distmom.reductions.accumulate.leaves import Rows
from distmom.reductions.state import Key

AT_ONCE = 1 << 18
"""Pairs of batches that wait to be combined."""


@dataclass(frozen=True)
class UnitPairs(Record):
    """Distinct pairs of a unit's hash and a group's hash, in ascending order."""

    units: Words
    groups: Words

    @staticmethod
    def distinct(units: Words, groups: Words) -> UnitPairs:
        """The distinct ones of any pairs."""
        order = np.lexsort((groups, units))
        units, groups = units[order], groups[order]
        new = np.ones(units.size, np.bool_)
        new[1:] = (units[1:] != units[:-1]) | (groups[1:] != groups[:-1])
        return UnitPairs(units[new], groups[new])

    @staticmethod
    def together(*parts: UnitPairs) -> UnitPairs:
        """The pairs of several parts."""
        return UnitPairs.distinct(
            np.concatenate([part.units for part in parts]), np.concatenate([part.groups for part in parts])
        )

    def crossing(self) -> Words:
        """Hashes of units with several groups, ascending."""
        return np.unique(self.units[1:][self.units[1:] == self.units[:-1]])


@dataclass(frozen=True)
class CrossingUnits:
    """The reduction to `UnitPairs`; rows of the null group do not enter.

    Attributes
    ----------
    nothing : Key
        Key of the null group.
    bytes_of : callable
        Bytes of a key; equal keys have equal bytes: 1 and 1.0 are one group.
    """

    nothing: Key
    bytes_of: Callable[[Key], bytes]

    def begin(self, n_files: int, window: Any = None) -> PairCollector:
        """An accumulator."""
        return PairCollector(self)

    def merge(self, left: UnitPairs, right: UnitPairs) -> UnitPairs:
        """The pairs of both."""
        return UnitPairs.together(left, right)


class PairCollector(Accumulator):
    """The `Accumulator` of `CrossingUnits`."""

    def __init__(self, spec: CrossingUnits) -> None:
        self._spec = spec
        self._found = UnitPairs(np.empty(0, np.uint64), np.empty(0, np.uint64))
        self._parts: list[UnitPairs] = []
        self._waiting = 0

    def add(self, rows: Rows, n_groups: int) -> None:  # noqa: D102
        assert rows.units is not None and rows.codes is not None
        here = slice(None) if rows.keep is None else rows.keep
        self._parts.append(UnitPairs.distinct(rows.units[here], rows.codes[here].astype(np.uint64)))
        self._waiting += self._parts[-1].units.size
        if self._waiting > max(self._found.units.size, AT_ONCE):  # so each pair is sorted only a few times
            self._take()

    def _take(self) -> None:
        self._found = UnitPairs.together(self._found, *self._parts)
        self._parts, self._waiting = [], 0

    def result(self, keys: list[Key]) -> UnitPairs:
        """The pairs; groups are given by hashes of their keys, since numbers differ between units of work."""
        self._take()
        known = np.array([key != self._spec.nothing for key in keys], np.bool_)
        names = [hashlib.blake2b(self._spec.bytes_of(key), digest_size=8).digest() for key in keys]
        codes = self._found.groups.astype(np.int64)
        kept = known[codes]
        hashes = np.frombuffer(b"".join(names), np.uint64)
        return UnitPairs.distinct(self._found.units[kept], hashes[codes[kept]])
