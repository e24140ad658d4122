"""What the rounds of a tournament leave behind, of rows or of pairs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from distmom.errors import NoAnswerError
from distmom.solvers.tournament import Distances, Rounds, play, smallest_level

Floats = NDArray[np.float64]


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
    loses : ndarray of bool, shape (m, m)
    margins : ndarray of float64, shape (m, m)
    last_loses : ndarray of bool, shape (m, m), or None
        Duels of the last round, where there is one.
    distances : Distances
    rounds : Rounds
    champions : tuple of int
    cycle : bool
    intervals : bool
        Whether blocks are independent, so that the spread between them tells how far the risk may be off.
    cells : ndarray of int64, shape (m,), or None
        Most cells of each partition in a block, where candidates are partitions.
    """

    rows: tuple[int, int, int, int, int]
    plain: Floats
    missing: NDArray[np.int64]
    values: tuple[Floats, ...]
    loses: NDArray[np.bool_]
    margins: Floats
    last_loses: NDArray[np.bool_] | None
    distances: Distances
    rounds: Rounds
    champions: tuple[int, ...]
    cycle: bool
    intervals: bool = True
    cells: NDArray[np.int64] | None = None


def settled(loses: NDArray[np.bool_], known: Distances, beta_r: float | None) -> Rounds:
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
