"""Counting the units that a unit of work meets: files with rows, or units whose hashes come with the rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from distmom.numerics.arrays import Bools, Ints
from distmom.numerics.samples.distinct import DistinctUnits, UnitSketch
from distmom.reductions.accumulate.leaves import Rows

if TYPE_CHECKING:
    from distmom.reductions.block_means import BlockMeans

MANY = 1 << 16
"""So many pairs of file and group are handed on together."""


class UnitCounter:
    """Collects the units that have rows which pass the filter, in each group."""

    def __init__(self, spec: BlockMeans) -> None:
        self._by_file = spec.count_units == "file"
        self._met = DistinctUnits(spec.sketch_size, compiled=spec.compiled)
        self._files: list[tuple[np.uint64, Ints]] = []
        self._n_pairs = 0

    def add(self, rows: Rows, codes: Ints | None, key: np.uint64, n_groups: int) -> None:
        """Count the next rows of the file with this key; `codes` are their groups, None without groups."""
        if not self._by_file:
            assert rows.units is not None and codes is not None
            self._met.offer(rows.units, codes, rows.keep)
            return
        groups = _groups_met(codes, rows.keep, n_groups)
        self._files.append((key, groups))
        self._n_pairs += groups.size
        if self._n_pairs >= MANY:
            self._hand_on()

    def _hand_on(self) -> None:
        if self._files:
            hashes = np.concatenate([np.full(groups.size, key) for key, groups in self._files])
            self._met.offer(hashes, np.concatenate([groups for _, groups in self._files]), None)
        self._files, self._n_pairs = [], 0

    def result(self) -> UnitSketch:
        """The sketch of all rows."""
        self._hand_on()
        return self._met.result()


def _groups_met(codes: Ints | None, keep: Bools | None, n_groups: int) -> Ints:
    """Groups that have some of the rows."""
    if codes is None:
        return np.zeros(int(keep is None or bool(keep.any())), np.int64)
    return np.flatnonzero(np.bincount(codes if keep is None else codes[keep], minlength=n_groups))
