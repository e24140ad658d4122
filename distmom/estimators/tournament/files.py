"""Whole bad files, which spoil every block of random rows: cells of whole files tell, as those of means."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from distmom.estimators.mean.notes import ROWS_ALONE
from distmom.inference.adaptive import answer_rule
from distmom.inference.status import Finding
from distmom.numerics.arrays import Floats, Ints
from distmom.numerics.blocks.moments import Moments
from distmom.reductions.losses.block_losses import BlockLossState
from distmom.reductions.roots import cell_of
from distmom.report.words import accused

LEAST_BLOCKS = 5
"""Fewer blocks of rows give no spread to compare with."""


def disagreement(
    state: BlockLossState,
    losses: Floats,
    counts: Ints,
    files: Sequence[str],
    seed: int,
    confidence_level: float,
) -> tuple[str | None, ...]:
    """For each candidate what is to be said, or None, by the rule of `distmom.mean` on its losses.

    Parameters
    ----------
    state : BlockLossState
    losses : ndarray, shape (m, K)
        Sums over the blocks of rows of all parts.
    counts : ndarray of int64, shape (K,)
        Their rows.
    files : sequence of str
        Paths.
    seed : int
        That put them into cells.
    confidence_level : float
    """
    m = len(losses)
    if not state.file_counts.size or counts.size < LEAST_BLOCKS:
        return (None,) * m
    with np.errstate(invalid="ignore", over="ignore"):
        variances = state.file_squares / np.maximum(state.file_freedom, 1)
        rows = _moments(losses, counts, np.zeros_like(losses))
        cells = _moments(state.file_losses, state.file_counts, variances * state.file_counts)
    found = answer_rule(rows, None, None, confidence_level, files=cells, n_blocks=counts.size, intervals=())
    notes: list[str | None] = [None] * m
    for f in np.flatnonzero(found.status & int(Finding.FILES_DISAGREE)):
        suspects = set(np.flatnonzero(found.suspect_cells[f]).tolist())
        mine = tuple(path for path in files if cell_of(seed, path, state.file_counts.size) in suspects)
        notes[f] = "; ".join([ROWS_ALONE, *accused(mine)])
    return tuple(notes)


def _moments(sums: Floats, counts: Ints, squares: Floats) -> Moments:
    every = np.broadcast_to(counts, sums.shape).copy()
    return Moments(every, np.where(every > 0, sums / np.maximum(every, 1), 0.0), squares)
