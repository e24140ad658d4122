"""What the rounds of a tournament leave behind, of rows or of pairs."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from distmom.errors import NoAnswerError
from distmom.numerics.arrays import Bools, Floats, Ints
from distmom.numerics.losses.duels import duels
from distmom.solvers.tournament import Distances, Pair, Rounds, last_round, play, smallest_level

DISTANCE_PART, MATCH_PART, LAST_PART = range(3)


class Decided(NamedTuple):
    """What block losses and distances decide.

    Attributes
    ----------
    loses : ndarray of bool, shape (m, m)
    margins : ndarray of float64, shape (m, m)
    last_loses : ndarray of bool, shape (m, m), or None
        Duels of the last round, where there is one.
    distances : Distances
    rounds : Rounds
    champions : tuple of int
    cycle : bool
    """

    loses: Bools
    margins: Floats
    last_loses: Bools | None
    distances: Distances
    rounds: Rounds
    champions: tuple[int, ...]
    cycle: bool


@dataclass(frozen=True)
class Outcome:
    """What the rounds leave behind.

    Attributes
    ----------
    rows : tuple of int
        Rows that passed the filter, that are used, and of the former the nulls, NaNs and infinities.
    plain : ndarray of float64, shape (m,)
        Plain risks.
    missing : ndarray of int64, shape (m,)
        Rows without a finite prediction.
    values : tuple of ndarray of float64, shape (m, K)
        Block losses of each part.
    decided : Decided
    intervals : bool
        Whether blocks are independent, so that the spread between them tells how far the risk may be off.
    cells : ndarray of int64, shape (m,), or None
        Most cells of each partition in a block, where candidates are partitions.
    disagree : tuple of (str or None)
        For each candidate what blocks of whole files say against those of rows.
    """

    rows: tuple[int, int, int, int, int]
    plain: Floats
    missing: Ints
    values: tuple[Floats, ...]
    decided: Decided
    intervals: bool = True
    cells: Ints | None = None
    disagree: tuple[str | None, ...] = ()


def decide(
    values: tuple[Floats, ...],
    ask: Callable[[Sequence[Pair]], Floats],
    least: Floats,
    level: float | None,
) -> Decided:
    """Matches, as many distances as they need, finalists, and with a last part the matches among these.

    Parameters
    ----------
    values : tuple of ndarray, shape (m, K)
        Block losses of each part.
    ask : callable
        Distances of pairs.
    least : ndarray, shape (m, m)
        No distance is smaller.
    level : float, optional
        beta r, if it is given.

    Raises
    ------
    NoAnswerError
        The level that was given leaves no candidate.
    """
    loses, margins = duels(values[MATCH_PART])
    known = Distances(ask, least, margins)
    rounds = _settled(loses, known, level)
    last_loses, champions, cycle = None, rounds.finalists, False
    if len(values) > LAST_PART:
        last_loses, _ = duels(values[LAST_PART])
        champions, cycle = last_round(last_loses, known, rounds.finalists)
    return Decided(loses, margins, last_loses, known, rounds, champions, cycle)


def round_of(kind: str, pairs: Sequence[Pair]) -> str:
    """Name of the round that asks for just these pairs."""
    return f"{kind} {hashlib.blake2b(np.array(pairs, np.int32).tobytes(), digest_size=8).hexdigest()}"


def _settled(loses: Bools, known: Distances, beta_r: float | None) -> Rounds:
    """The finalists.

    Raises
    ------
    NoAnswerError
        The level that was given leaves none.
    """
    rounds = play(loses, known, beta_r)
    if not rounds.finalists:
        raise NoAnswerError(
            f"beta_r: at {rounds.level:g} every candidate loses a match that is allowed; the smallest beta_r "
            f"that leaves one is {smallest_level(loses, known):.17g}"
        )
    return rounds
