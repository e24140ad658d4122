"""Medians of block mean vectors, and the radius around the geometric one."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from distmom.inference.answers import RuleAnswer
from distmom.inference.status import NoInterval
from distmom.numerics.arrays import Floats
from distmom.numerics.linalg.geometric_median import geometric_median
from distmom.numerics.median import lower_median
from distmom.theory.partition import NEARLY_EQUAL
from distmom.theory.vectors import repeated_vector_factor, vector_factor


def vector_median(points: Floats, geometric: bool, finite: bool) -> tuple[Floats, float | None]:
    """Median of the finite block mean vectors, and the optimality gap of the geometric one."""
    if not finite:
        return np.full(points.shape[1], np.nan), None
    whole = points[np.isfinite(points).all(axis=1)]
    if not geometric:
        return lower_median(whole, axis=0), None
    found = geometric_median(whole)
    return found.point, found.gap


@dataclass(frozen=True)
class Ball:
    """The blocks from which the radius around one vector is computed.

    Attributes
    ----------
    points : ndarray, shape (K, d)
        Block mean vectors at the level with the smallest radius.
    rows : ndarray, shape (K,)
        Their used rows; with weights the effective ones.
    spread : ndarray, shape (d,)
        Standard deviation of a mean of a block of average size.
    n_arbitrary : int
        Blocks that may be arbitrary, or are non-finite and left out.
    code : NoInterval
        Why there is no radius.
    repeats : int
        Number of random partitions of the blocks.
    """

    points: Floats
    rows: Floats
    spread: Floats
    n_arbitrary: int
    code: NoInterval
    repeats: int = 1

    @property
    def trace(self) -> float:
        """Trace of the covariance matrix of a row; with weights, of an effective one."""
        if self.code not in (NoInterval.GIVEN, NoInterval.CONSTANT_BLOCKS, NoInterval.NO_ANSWER):
            return math.nan
        with np.errstate(over="ignore", invalid="ignore"):
            return float((self.spread**2).sum() * self.rows.mean()) if self.rows.size else math.nan

    def radius(self, estimate: Floats, delta: float) -> tuple[float | None, str | None]:
        """Radius around an estimate that need not be the median of these blocks, or why there is none.

        Notes
        -----
        A ball around the geometric median of these blocks covers the mean vector; the ball around `estimate`
        that contains it does so too.
        """
        if self.code != NoInterval.GIVEN:
            return None, self.code.words
        k, o = self.rows.size, self.n_arbitrary
        size = np.sort(self.rows)
        equal = self.repeats == 1 and bool(size[-1] <= NEARLY_EQUAL * size[0])
        # if blocks are unequal the arbitrary ones are taken to be the largest
        smaller = size[:1] if equal else size[: max(k - o * self.repeats, 1)]
        if self.repeats == 1:
            factor = vector_factor(k, delta, o, equal=equal)
        else:
            factor = repeated_vector_factor(k // self.repeats, delta, o)
        with np.errstate(over="ignore", invalid="ignore"):
            variance = float((self.spread**2).sum() * (size.mean() / smaller).mean())
            away = vector_median(self.points, True, True)[0] - estimate
            radius = factor * math.sqrt(variance) + math.sqrt(float((away**2).sum()))
        if not math.isfinite(factor):
            return None, NoInterval.VACUOUS.words
        if not math.isfinite(radius):
            return None, NoInterval.OVERFLOW.words
        return radius, None


def ball_of(answer: RuleAnswer, mine: slice, n_arbitrary: int, repeats: int = 1) -> Ball:
    """The ball of the vector whose columns are the groups `mine` of the rule's answer."""
    filled = answer.ball_rows[mine.start] > 0
    codes = answer.ball_reason[mine]
    # a coordinate that hardly varies adds nothing to the radius
    telling = codes[codes != NoInterval.CONSTANT_BLOCKS]
    code = NoInterval(int(telling.max()) if telling.size else NoInterval.CONSTANT_BLOCKS)
    points = np.ascontiguousarray(answer.ball_means[mine][:, filled].T)
    return Ball(
        points, answer.ball_rows[mine.start][filled], answer.ball_spread[mine], n_arbitrary, code, repeats
    )
