"""A tournament on blocks whose rows are together, round by round: losses of parts, distances as asked."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from distmom.errors import NoAnswerError
from distmom.estimators.tournament.block_plan import BlockArena
from distmom.estimators.tournament.files import columns_disagree
from distmom.estimators.tournament.outcome import DISTANCE_PART, Outcome, decide, round_of
from distmom.estimators.tournament.state import RoundKeeper
from distmom.numerics.arrays import Floats
from distmom.numerics.losses.duels import least_distances
from distmom.numerics.median import lower_median
from distmom.reductions.losses.block_by_block import BlockLossTable
from distmom.solvers.tournament import Pair


def play_block_rounds(arena: BlockArena, keeper: RoundKeeper) -> Outcome:
    """Play them all.

    Raises
    ------
    NoAnswerError
        A part has too few rows, or the level that was given is too low.
    """
    states = [_losses(arena, keeper, part) for part in range(arena.options.n_parts)]
    filled = [state.sizes >= 2 for state in states]
    if not all(some.any() for some in filled):
        raise NoAnswerError("a part has too few rows: use more rows, or units that are smaller")
    values = tuple(_values(s.losses[some].T) for s, some in zip(states, filled, strict=True))
    first, some = states[DISTANCE_PART], filled[DISTANCE_PART]

    def ask(pairs: Sequence[Pair]) -> Floats:
        found = keeper.round(round_of("gaps", pairs), lambda: {"gaps": arena.distances(pairs).gaps})
        return lower_median(_values(np.asarray(found["gaps"], np.float64)[some].T))

    reach = first.reach[some].max(axis=0)
    decided = decide(values, ask, least_distances(first.roots[some].T, reach), arena.options.beta_r)
    n, null, nan, inf = arena.tally
    together = np.concatenate(values, axis=1)
    with np.errstate(over="ignore"):
        plain = together.mean(axis=1)
    return Outcome(
        (n, n - null - nan, null, nan, inf),
        plain,
        np.sum([s.missing.sum(axis=0) for s in states], axis=0),
        values,
        decided,
        arena.drawn is None,
        np.max([s.cells.max(axis=0) for s in states], axis=0),
        columns_disagree(arena),
    )


def _losses(arena: BlockArena, keeper: RoundKeeper, part: int) -> BlockLossTable:
    return BlockLossTable(**keeper.round(f"pairs {part}", lambda: vars(arena.losses(part))))


def _values(means: Floats) -> Floats:
    """What is not finite counts as +infinity."""
    return np.where(np.isfinite(means), means, np.inf)
