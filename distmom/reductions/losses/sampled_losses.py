"""Losses of single rows on sampled blocks whose rows are together, and the distances of asked candidates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from distmom.numerics.arrays import Floats
from distmom.numerics.losses.cell_sums import add_distances
from distmom.reductions.accumulate.leaves import Rows
from distmom.reductions.losses.block_by_block import BlockByBlock
from distmom.reductions.losses.block_losses import BlockLosses


@dataclass(frozen=True)
class SampledLosses(BlockByBlock):
    """Evaluates candidates on every block of some rows: their losses, or else the distances that are asked.

    Attributes
    ----------
    of : BlockLosses
        The candidates, their loss, and what their distance is measured by.
    asked : ndarray of int32, shape (p, 2), optional
        Pairs of candidates whose distances are asked.
    """

    of: BlockLosses
    asked: NDArray[np.int32] | None = None

    def evaluate(self, rows: Floats, /) -> tuple[Any, ...]:  # noqa: D102
        of, size = self.of, rows.shape[0]
        columns = tuple(np.ascontiguousarray(rows.T))
        block = Rows(0, size, columns, (None,) * len(columns), None, None)
        truth = columns[of.target]
        predicted = [c.predict(block, "") for c in of.candidates]
        measured = np.array([of.measure(truth, p) for p in predicted]).reshape(len(predicted), size)
        m = len(predicted)
        nothing, none = np.full(m, np.nan), np.zeros(m, np.int64)
        if self.asked is not None:
            sums = np.zeros((len(self.asked), 1))
            add_distances(measured, self.asked, np.zeros(size, np.int32), sums)
            with np.errstate(invalid="ignore"):
                return size, nothing, nothing, np.zeros(m), none, sums[:, 0] / size, none
        missing = np.array([np.count_nonzero(~np.isfinite(p)) for p in predicted])
        reach = np.abs(measured).max(axis=1, initial=0.0)
        reach = np.where(np.isfinite(reach), reach, np.inf)
        with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
            losses = np.array([of.loss(truth, p).sum() for p in predicted]) / size
            roots = measured.sum(axis=1) / size
        return size, losses, roots, reach, missing, np.zeros(0), none
