"""A tournament on blocks whose rows are together, round by round: losses of parts, distances as asked."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from distmom.errors import NoAnswerError
from distmom.estimators.tournament.block_plan import BlockArena
from distmom.estimators.tournament.outcome import Outcome, settled
from distmom.estimators.tournament.state import RoundKeeper
from distmom.numerics.duels import duels, least_distances
from distmom.numerics.median import lower_median
from distmom.reductions.block_by_block import BlockLossTable
from distmom.solvers.tournament import Distances, Pair, last_round

Floats = NDArray[np.float64]

DISTANCE_PART, MATCH_PART, LAST_PART = range(3)


def play_block_rounds(arena: BlockArena, keeper: RoundKeeper) -> Outcome:
    """Play them all.

    Raises
    ------
    NoAnswerError
        A part has too few rows, or the level that was given is too low.
    """
    states = [_losses(arena, keeper, part) for part in range(arena.options.n_parts)]
    filled = [state.sizes >= (2 if arena.options.pairwise else 1) for state in states]
    if not all(some.any() for some in filled):
        raise NoAnswerError("a part has too few rows: use more rows, or units that are smaller")
    values = tuple(_values(s.losses[some].T) for s, some in zip(states, filled, strict=True))
    loses, margins = duels(values[MATCH_PART])
    first, some = states[DISTANCE_PART], filled[DISTANCE_PART]

    def ask(pairs: Sequence[Pair]) -> Floats:
        name = hashlib.blake2b(np.array(pairs, np.int32).tobytes(), digest_size=8).hexdigest()
        found = keeper.round(f"gaps {name}", lambda: {"gaps": arena.distances(pairs).gaps})
        return lower_median(_values(np.asarray(found["gaps"], np.float64)[some].T))

    reach = first.reach[some].max(axis=0)
    known = Distances(ask, least_distances(first.roots[some].T, reach), margins)
    if arena.options.table == "full":
        known.ask_all()
    rounds = settled(loses, known, arena.options.beta_r)
    last_loses, champions, cycle = None, rounds.finalists, False
    if len(values) > LAST_PART:
        last_loses, _ = duels(values[LAST_PART])
        champions, cycle = last_round(last_loses, known, rounds.finalists)
    n, null, nan, inf = arena.tally
    together = np.concatenate(values, axis=1)
    with np.errstate(over="ignore"):
        plain = together.mean(axis=1)
    return Outcome(
        (n, n - null - nan, null, nan, inf),
        plain,
        np.sum([s.missing.sum(axis=0) for s in states], axis=0),
        values,
        loses,
        margins,
        last_loses,
        known,
        rounds,
        champions,
        cycle,
        arena.drawn is None,
        np.max([s.cells.max(axis=0) for s in states], axis=0),
    )


def _losses(arena: BlockArena, keeper: RoundKeeper, part: int) -> BlockLossTable:
    return BlockLossTable(**keeper.round(f"pairs {part}", lambda: vars(arena.losses(part))))


def _values(means: Floats) -> Floats:
    """What is not finite counts as +infinity."""
    return np.where(np.isfinite(means), means, np.inf)
