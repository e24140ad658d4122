"""The rounds of a tournament over an oracle of distances that is queried as little as possible.

Who loses to whom is known; the distance of a pair costs a pass over the data. For f only the distances to the
candidates that beat it matter, through t_f, the largest of them: f is a finalist at the level b if t_f <= b.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from distmom.errors import NoAnswerError
from distmom.numerics.arrays import Bools, Floats
from distmom.numerics.losses.duels import duels

Pair = tuple[int, int]
Ask = Callable[[Sequence[Pair]], Floats]
"""Distances of pairs (f, g), f < g, each queried once."""

DISTANCE_PART, MATCH_PART, LAST_PART = range(3)
"""Purpose of each part of the data; losses of pairs have no last part."""

LEAST_ASKED = 64
PAIRS_A_CANDIDATE = 4
"""Pairs queried together even if fewer would do: a pass has a fixed cost, and so has each candidate."""


class Distances:
    """The distances known so far: those already queried, and lower bounds of all.

    If bounds do not decide between two, the one that wins by the larger of the `margins` is taken as farther.
    """

    def __init__(self, ask: Ask, bounds: Floats, margins: Floats | None = None) -> None:
        self._ask = ask
        self.bounds = bounds
        self._margins = np.zeros(bounds.shape) if margins is None else margins
        self.known = np.full(bounds.shape, np.nan)
        np.fill_diagonal(self.known, 0.0)
        self.n_rounds = 0

    def ask(self, pairs: Sequence[Pair]) -> None:
        """Query the oracle for those pairs that are not known yet."""
        wanted = sorted({(min(p), max(p)) for p in pairs if np.isnan(self.known[p])})
        if wanted:
            found = self._ask(wanted)
            self.n_rounds += 1
            for (f, g), distance in zip(wanted, found, strict=True):
                self.known[f, g] = self.known[g, f] = distance

    def unknown(self, f: int, others: Bools) -> list[Pair]:
        """The pairs of f and others whose distance is not known, those that seem farthest first."""
        places = np.flatnonzero(others & np.isnan(self.known[f]))
        order = np.lexsort((-self._margins[f, places], -self.bounds[f, places]))
        return [(f, int(g)) for g in places[order]]

    def at_least(self, f: int | slice = slice(None)) -> Floats:
        """The distances if known, else their lower bounds; of one candidate or of all."""
        return np.where(np.isnan(self.known[f]), self.bounds[f], self.known[f])


@dataclass(frozen=True)
class Rounds:
    """The outcome of the rounds."""

    level: float  # the level beta r: as given, or the smallest with a finalist
    found: bool  # whether it was found
    finalists: tuple[int, ...]  # in order of their numbers; empty if the given level is too low
    thresholds: Floats  # (m,): t_f, or NaN unless all distances that it depends on are known


def play(loses: Bools, distances: Distances, level: float | None = None) -> Rounds:
    """The finalists: those that lose no allowed match, one whose distance exceeds the level beta r.

    ``loses[f, g]``: f is beaten by g. The default level is the smallest with a finalist, min t_f (Le Cam's
    criterion). A candidate is done once one of its losses is known to be allowed at the level, or all that
    matter are known. For each other candidate, the pairs that seem farthest are queried, twice as many from
    round to round. If the level is to be found, it is at most the least t_f known so far, and all pairs of
    the most promising candidates are queried: branch and bound, in a number of rounds that grows with the
    logarithm of the number of candidates.
    """
    reached = _settle(loses, distances, level)
    exceeded = (loses & (distances.at_least() > reached)).any(axis=1)
    finalists = tuple(np.flatnonzero(~exceeded).tolist())
    return Rounds(reached, level is None, finalists, thresholds(loses, distances))


def thresholds(loses: Bools, distances: Distances) -> Floats:
    """t_f if all distances to those that beat f are known, else NaN."""
    beaten = np.where(loses, distances.known, 0.0)
    return np.asarray(beaten.max(axis=1, initial=0.0), np.float64)


def _settle(loses: Bools, distances: Distances, level: float | None) -> float:
    """Query until every candidate is known to be a finalist or not; return the level, or the least t_f."""
    width = PAIRS_A_CANDIDATE
    while True:
        exact = thresholds(loses, distances)
        best = level
        if best is None:
            best = float(np.nanmin(exact)) if not np.isnan(exact).all() else np.inf
        low = np.where(loses, distances.at_least(), 0.0).max(axis=1, initial=0.0)
        # if the level is to be found, a candidate whose bound equals the best may still share it
        still = np.flatnonzero(np.isnan(exact) & (low <= best))
        if not still.size:
            return float(best)
        wanted: list[Pair] = []
        left = max(PAIRS_A_CANDIDATE * len(loses), LEAST_ASKED) if level is None else 0
        unknown = {f: distances.unknown(f, loses[f]) for f in still.tolist()}
        for f in sorted(unknown, key=lambda f: (low[f], len(unknown[f]), f)):
            mine = unknown[f] if left > 0 else unknown[f][:width]
            left -= len(mine)
            wanted += mine
        distances.ask(wanted)
        width *= 2


def last_round(loses: Bools, distances: Distances, finalists: Sequence[int]) -> tuple[tuple[int, ...], bool]:
    """Champions of the finalists on the last part, and whether they result from a cycle.

    Champions are the finalists that lose to no other. If each loses to another one, they are those with the
    least largest distance to a finalist that beats them.
    """
    at = np.asarray(finalists, np.int64)
    among = loses[np.ix_(at, at)]
    if not at.size:
        return (), False
    undefeated = at[~among.any(axis=1)]
    if undefeated.size:
        return tuple(undefeated.tolist()), False
    distances.ask([(int(at[i]), int(at[j])) for i, j in zip(*np.nonzero(among), strict=True)])
    worst = np.where(among, distances.known[np.ix_(at, at)], 0.0).max(axis=1)
    return tuple(at[worst == worst.min()].tolist()), True


class Oracle(Protocol):
    """What a tournament requests from the data, however blocks are made and losses computed."""

    n_parts: int
    """Disjoint parts of the data: for distances, for matches, and perhaps for those of the finalists."""

    def losses(self, part: int) -> Floats:
        """Block losses of the candidates in a part, shape (m, K); infinite if one is not finite."""
        ...

    def bounds(self) -> Floats:
        """Lower bounds of all distances, shape (m, m), cheaply."""
        ...

    def distances(self, pairs: Sequence[Pair]) -> Floats:
        """Distances of pairs of candidates in the first part."""
        ...


class Decided(NamedTuple):
    """The outcome from losses and distances."""

    losses: tuple[Floats, ...]  # (m, K): block losses of each part
    loses: Bools
    margins: Floats
    last_loses: Bools | None  # (m, m): duels of the last round, if there is one
    distances: Distances
    rounds: Rounds
    champions: tuple[int, ...]
    cycle: bool


def play_tournament(oracle: Oracle, level: float | None = None) -> Decided:
    """Matches, the distances they need, finalists, and with a last part the matches among these.

    NoAnswerError if the given level leaves no candidate.
    """
    losses = tuple(oracle.losses(part) for part in range(oracle.n_parts))
    loses, margins = duels(losses[MATCH_PART])
    known = Distances(oracle.distances, oracle.bounds(), margins)
    rounds = play(loses, known, level)
    if not rounds.finalists:
        raise NoAnswerError(
            f"beta_r: at {rounds.level:g} every candidate loses a match that is allowed; the smallest beta_r "
            f"that leaves one is {_settle(loses, known, None):.17g}"
        )
    if oracle.n_parts <= LAST_PART:
        return Decided(losses, loses, margins, None, known, rounds, rounds.finalists, False)
    last_loses, _ = duels(losses[LAST_PART])
    champions, cycle = last_round(last_loses, known, rounds.finalists)
    return Decided(losses, loses, margins, last_loses, known, rounds, champions, cycle)
