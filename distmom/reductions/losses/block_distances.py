"""Distances of requested pairs of candidates, block by block, in one pass."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from distmom.numerics.arrays import Floats
from distmom.numerics.losses.cell_sums import add_distances
from distmom.reductions import Accumulator
from distmom.reductions.accumulate.leaves import Rows, missing_rows
from distmom.reductions.losses.block_losses import PIECE, BlockLosses
from distmom.reductions.parts import PartSums


@dataclass(frozen=True)
class BlockDistances:
    """Declaration of the block means of |H_f - H_g| over the first part, for pairs (f, g) of places."""

    of: BlockLosses
    pairs: NDArray[np.int32]

    def begin(self, n_files: int, window: Any = None) -> Accumulator:
        """An accumulator for a unit of `n_files` files."""
        whole = any(c.computed for c in self.of.candidates)
        return PartSums(lambda: _LeafDistances(self), self.merge, n_files, self.of.parts.seed, whole=whole)

    def merge(self, left: Floats, right: Floats) -> Floats:
        """Sums of both, shape (n, n_blocks)."""
        with np.errstate(over="ignore", invalid="ignore"):
            return left + right

    def state_bytes(self) -> int:
        """Bytes of a state."""
        return 8 * len(self.pairs) * self.of.parts.n_blocks


class _LeafDistances:
    """The sums of one leaf."""

    def __init__(self, spec: BlockDistances) -> None:
        self._spec = spec
        self._sums = np.zeros((len(spec.pairs), spec.of.parts.n_blocks))

    def state(self) -> Floats:
        """The sums."""
        return self._sums

    def add(self, rows: Rows, key: np.uint64, path: str) -> None:
        """Add the leaf's rows of the part, a piece at a time, so that a block of pairs stays in cache.

        Rows are added block by block, those of a block in their order.
        """
        of, rows = self._spec.of, rows.whole()
        blocks = of.parts.n_blocks
        cells = of.parts.cells(rows, key)
        gone, _ = missing_rows(rows.valid[of.target], rows.keep)
        truth = rows.values[of.target]
        there = ~np.isnan(truth) if gone is None else ~(gone | np.isnan(truth))
        counted = (cells < blocks) & there
        computed = [c.predict(rows, path, there) for c in of.candidates]
        for start in range(0, rows.n_rows, PIECE):
            those = start + np.flatnonzero(counted[start : start + PIECE])
            those = those[np.argsort(cells[those], kind="stable")]
            y = truth[those]
            measured = np.empty((len(computed), those.size))
            for place, predicted in enumerate(computed):
                measured[place] = of.measure(y, predicted.take(those))
            add_distances(measured, self._spec.pairs, cells[those], self._sums, compiled=of.compiled)
