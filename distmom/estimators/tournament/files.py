"""Whole bad files, which spoil every block of random rows: cells of whole files tell, as those of means."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import numpy as np

from distmom.estimators.mean.answer import ROWS_ALONE
from distmom.estimators.ustat.files import disagreeing_columns, disagreement_note
from distmom.inference.adaptive import answer_rule
from distmom.inference.answers import RuleAnswer
from distmom.inference.status import Status
from distmom.numerics.arrays import Floats, Ints
from distmom.numerics.blocks.moments import Moments
from distmom.reductions.losses.block_losses import BlockLossState
from distmom.reductions.roots import cell_of
from distmom.report.words import accused

if TYPE_CHECKING:
    from distmom.estimators.mean.plan import MeanPlan
    from distmom.estimators.tournament.block_plan import BlockArena
    from distmom.estimators.tournament.plan import Arena


LEAST_BLOCKS = 5
"""Fewer blocks of rows give no spread to compare with."""


def disagreement(arena: Arena, state: BlockLossState, losses: Floats, counts: Ints) -> tuple[str | None, ...]:
    """For each candidate what is to be said, or None, by the rule of `distmom.mean` on its losses.

    Parameters
    ----------
    arena : Arena
    state : BlockLossState
    losses : ndarray, shape (m, K)
        Sums over the blocks of rows of all parts.
    counts : ndarray of int64, shape (K,)
        Their rows.
    """
    m = len(losses)
    if not state.file_counts.size or counts.size < LEAST_BLOCKS:
        return (None,) * m
    with np.errstate(invalid="ignore", over="ignore"):
        variances = state.file_squares / np.maximum(state.file_freedom, 1)
        rows = _moments(losses, counts, np.zeros_like(losses))
        cells = _moments(state.file_losses, state.file_counts, variances * state.file_counts)
    level = arena.options.confidence_level
    found = answer_rule(rows, None, None, level, files=cells, n_blocks=counts.size, intervals=())
    wrong = (found.status & int(Status.FILES_DISAGREE)) > 0
    return tuple(_note(arena, found, f) if wrong[f] else None for f in range(m))


def _moments(sums: Floats, counts: Ints, squares: Floats) -> Moments:
    every = np.broadcast_to(counts, sums.shape).copy()
    return Moments(every, np.where(every > 0, sums / np.maximum(every, 1), 0.0), squares)


def _note(arena: Arena, found: RuleAnswer, f: int) -> str:
    """What `distmom.mean` says, and the files that it accuses."""
    suspects = set(np.flatnonzero(found.suspect_cells[f]).tolist())
    files = [file.path for file in arena.source.files]
    mine = [path for path in files if cell_of(arena.parts.seed, path, arena.n_file_cells) in suspects]
    return "; ".join([ROWS_ALONE, *accused(tuple(mine))])


def columns_disagree(arena: BlockArena) -> tuple[str | None, ...]:
    """The same where losses are of pairs: by the means of the columns, as U-statistics do."""
    plan = cast("MeanPlan", arena.counted.plan)
    (columns,) = disagreeing_columns(plan, arena.counted.state) or ((),)
    return (disagreement_note(columns) if columns else None,) * len(arena.field.candidates)
