"""A tournament of single rows, round by round: losses, distances as they are asked, the last part."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from distmom.errors import NoAnswerError
from distmom.estimators.tournament.files import disagreement
from distmom.estimators.tournament.outcome import DISTANCE_PART, Outcome, decide, round_of
from distmom.estimators.tournament.plan import TOGETHER, Arena
from distmom.estimators.tournament.state import RoundKeeper
from distmom.numerics.arrays import Floats, Ints
from distmom.numerics.losses.duels import block_values, least_distances
from distmom.numerics.median import lower_median
from distmom.reductions.losses.block_losses import INFS, N_ROWS, NANS, NULLS, BlockLossState
from distmom.solvers.tournament import Pair
from distmom.theory import joined_blocks


def play_rounds(arena: Arena, keeper: RoundKeeper) -> Outcome:
    """Play them all.

    Raises
    ------
    NoAnswerError
        A part has no rows, no candidate has a finite loss, or the level that was given is too low.
    """
    state = _losses(arena, keeper)
    counts = state.counts.reshape(arena.parts.n_parts, -1)
    joined = _joins(arena, counts)
    values = tuple(
        block_values(_joined(state.losses.reshape(len(state.losses), *counts.shape)[:, p], joined), counted)
        for p, counted in enumerate(_joined(counts, joined))
    )
    of_distances = _joined(counts[DISTANCE_PART], joined)

    def ask(pairs: Sequence[Pair]) -> Floats:
        sums = _pairs(arena, keeper, pairs)
        return lower_median(block_values(_joined(sums, joined), of_distances))

    measures = _means(_joined(state.measures, joined), of_distances)
    decided = decide(values, ask, least_distances(measures, state.reach), arena.options.beta_r)
    n_used = int(state.counts.sum())
    with np.errstate(over="ignore", invalid="ignore"):
        plain = state.losses.sum(axis=1) / n_used
    plain = np.where(np.isfinite(plain), plain, np.inf)
    tally = state.tally
    rows = (int(tally[N_ROWS]), n_used, int(tally[NULLS]), int(tally[NANS]), int(tally[INFS]))
    bad = disagreement(arena, state, _joined(state.losses, joined), _joined(state.counts, joined))
    return Outcome(rows, plain, state.missing, values, decided, disagree=bad)


def _losses(arena: Arena, keeper: RoundKeeper) -> BlockLossState:
    """Block losses of all candidates, some of them in one pass."""
    m = len(arena.field.candidates)
    states = []
    for start in range(0, m, TOGETHER):
        chosen = range(start, min(m, start + TOGETHER))
        found = keeper.round(
            f"losses {start}",
            lambda chosen=chosen: asdict(arena.losses(chosen)),  # type: ignore[misc]
        )
        states.append(BlockLossState(**found))
    state = reduce(_beside, states)
    if not state.counts.any():
        raise NoAnswerError("no rows with a target: all are null, NaN or filtered; check target and where")
    return state


def _beside(left: BlockLossState, right: BlockLossState) -> BlockLossState:
    """States of other candidates on the same rows."""
    return BlockLossState(
        left.tally,
        left.counts,
        np.concatenate([left.losses, right.losses]),
        np.concatenate([left.measures, right.measures]),
        np.concatenate([left.reach, right.reach]),
        np.concatenate([left.missing, right.missing]),
        left.file_counts,
        left.file_freedom,
        np.concatenate([left.file_losses, right.file_losses]),
        np.concatenate([left.file_squares, right.file_squares]),
    )


def _joins(arena: Arena, counts: Ints) -> int:
    """How many neighbouring blocks are taken together, where their number is automatic and rows are few."""
    per_part = counts.sum(axis=1)
    empty = np.flatnonzero(per_part == 0)
    if empty.size:
        raise NoAnswerError(
            f"part {empty[0] + 1} of {len(counts)} has no rows: {int(counts.sum()):,} in all are too few "
            "for a tournament; use more rows, or units that are smaller"
        )
    if arena.options.n_blocks != "auto" or arena.options.contamination is not None:
        return 1
    return int(counts.shape[1]) // joined_blocks(int(per_part.min()))


def _joined(sums: NDArray[Any], width: int) -> NDArray[Any]:
    """Sums over neighbouring blocks, along the last axis."""
    if width == 1:
        return sums
    with np.errstate(over="ignore", invalid="ignore"):
        return np.asarray(sums.reshape(*sums.shape[:-1], -1, width).sum(axis=-1))


def _means(sums: Floats, counts: Ints) -> Floats:
    with np.errstate(invalid="ignore"):
        return np.asarray(sums[..., counts > 0] / counts[counts > 0])


def _pairs(arena: Arena, keeper: RoundKeeper, pairs: Sequence[Pair]) -> Floats:
    """Sums of distances of pairs, from the round that asked for just these."""
    found = keeper.round(round_of("distances 0", pairs), lambda: {"sums": arena.distances(pairs)})
    return np.asarray(found["sums"], np.float64)
