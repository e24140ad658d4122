"""Ratios of two sums over blocks, linearised: block values without the bias of a quotient.

A mean over rows whose units (users, days) have varying numbers of rows is a ratio N/D of two random sums, and
so is any metric with a denominator. The quotient N_i/D_i of a small block is biased by a share of its
variance. The value R + (N_i - R D_i)/d is not: if R is the ratio its mean is R, whatever the dependence of
numerator and denominator. Blocks may be empty, and values of blocks merge by ordinary averages.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from distmom.inference.answers import RuleAnswer
from distmom.inference.status import Finding
from distmom.inference.steps import answer_level
from distmom.inference.variants.together import Asked, Steps, answered
from distmom.numerics.arrays import Bools, Floats
from distmom.numerics.blocks.moments import Moments
from distmom.numerics.median import lower_median
from distmom.theory.ladder import ladder_levels

LEAST_UNITS = 8
"""A block that shows how much blocks differ has at least this many independent units."""

ENOUGH_UNITS = 20
"""Units of a block of the answer: the median of the means of skewed blocks is not their mean."""

LEAST_ABLE = 9
"""With fewer blocks chance makes outliers, in up to one of a hundred clean experiments."""

MOST_STILL = 0.02
"""Share of blocks that may contain the most frequent value alone, as in `ladder.row_bound`."""

ROUNDS = 4
"""The ratio is computed anew around the last one; each round divides the error by about sqrt(units)."""


@dataclass(frozen=True)
class RatioBlocks:
    """The fine blocks of one variant, filled by hash or at random, so that each has the same distribution.

    Attributes
    ----------
    moments : Moments, shape (n_fine,)
        Moments of the numerator.
    denominator : ndarray of float64, shape (n_fine,), or None
        Mean of the denominator in each block; None if every row counts one.
    n_independent : int
        Independent units: rows, or units whose rows stay together.
    """

    moments: Moments
    denominator: Floats | None
    n_independent: int

    @cached_property
    def still(self) -> Bools:
        """Fine blocks that are empty or contain nothing but the most frequent value of the numerator."""
        empty = self.moments.count == 0
        same = ~empty & (self.moments.m2 == 0.0) & np.isfinite(self.moments.mean)
        values, frequency = np.unique(self.moments.mean[same], return_counts=True)
        if values.size == 0:
            return np.asarray(empty)
        return np.asarray(empty | (same & (self.moments.mean == values[np.argmax(frequency)])))

    @cached_property
    def levels(self) -> tuple[int, ...]:
        """The numbers of blocks whose variance is informative.

        They need `LEAST_UNITS` units each, and if one value dominates, as zero does in sales, nearly all
        of them must contain other values, too: else the typical block looks constant and every other one
        outlying.
        """
        levels = ladder_levels(self.still.size)
        enough = tuple(k for k in levels if self.n_independent >= LEAST_UNITS * k)
        if not self.still.any() or self.still.all():
            return enough
        alone = {k: np.count_nonzero(self.still.reshape(k, -1).all(axis=1)) for k in enough}
        return tuple(k for k in enough if alone[k] <= MOST_STILL * k)

    def denominators(self, n_blocks: int) -> Floats:
        """Sum of the denominator over each of `n_blocks` blocks."""
        one = 1.0 if self.denominator is None else self.denominator
        sums = np.where(self.moments.count > 0, self.moments.count * one, 0.0)
        return np.asarray(sums.reshape(n_blocks, -1).sum(axis=1))

    def rest(self, ratio: float | Floats, n_blocks: int) -> Floats:
        """N - ratio D over each of `n_blocks` blocks, formed from means: an offset costs no digits."""
        part = ratio if self.denominator is None else ratio * self.denominator
        with np.errstate(invalid="ignore", over="ignore"):
            away = np.where(self.moments.count > 0, self.moments.count * (self.moments.mean - part), 0.0)
            return np.asarray(away.reshape(n_blocks, -1).sum(axis=1))


@dataclass(frozen=True)
class RobustRatio:
    """The robust ratio of one variant.

    Attributes
    ----------
    cells : RatioBlocks
    value : float
        The ratio; NaN if there is none.
    denominator : float
        Robust mean of the denominator of a fine block.
    answer : RuleAnswer
        The rule's answer for the linearised blocks.
    """

    cells: RatioBlocks
    value: float
    denominator: float
    answer: RuleAnswer

    def blocks(self, n_blocks: int) -> Floats:
        """Linearised values of `n_blocks` blocks."""
        if n_blocks not in self._known:
            self._known[n_blocks] = linearised(self.cells, self.value, self.denominator, n_blocks)
        return self._known[n_blocks]

    @cached_property
    def _known(self) -> dict[int, Floats]:
        return {}


def linearised(cells: RatioBlocks, ratio: float, denominator: float, n_blocks: int) -> Floats:
    """R + (N - R D)/d of `n_blocks` blocks, for a ratio R and the mean denominator d of fine blocks."""
    size = cells.still.size // n_blocks
    with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
        return ratio + cells.rest(ratio, n_blocks) / (denominator * size)


def fewer_blocks(levels: Sequence[int], n_independent: int) -> int | None:
    """The largest number of blocks for which the answer has at least `ENOUGH_UNITS` units per block.

    If there are too few units for that, the fewest blocks that can distinguish outliers from chance. The
    finest blocks come first: if they show outliers, these are screened out there.
    """
    able = [k for k in levels if k >= LEAST_ABLE] or levels[-1:]
    for k in reversed(able):
        of = np.asarray(ladder_levels(k))
        answer = answer_level(of, np.ones((1, of.size), np.bool_), np.array([n_independent]))[0]
        if n_independent >= ENOUGH_UNITS * answer:
            return k
    return able[0] if able else None


def robust_ratio(cells: RatioBlocks, confidence_level: float) -> RobustRatio:
    """The result of `ratio_steps`."""
    return answered(ratio_steps(cells), confidence_level)


def ratio_steps(cells: RatioBlocks) -> Steps[RobustRatio]:
    """The ratio that equals the robust mean of the blocks linearised around it.

    It begins at the lower median of the quotients of blocks; blocks without a positive denominator have none.
    """
    finest = max(cells.levels, default=None)
    found = yield from _ratio_at(cells, finest)
    fewer = fewer_blocks(cells.levels, cells.n_independent)
    if fewer == finest or found.answer.status[0] & Finding.CONTAMINATED:
        return found
    return (yield from _ratio_at(cells, fewer))


def _ratio_at(cells: RatioBlocks, k: int | None) -> Steps[RobustRatio]:
    """The ratio from k blocks."""
    n = cells.n_independent
    sums = cells.denominators(least_level(cells, k))
    answer = yield Asked(sums[None], k, n)
    share = sums.size / cells.still.size
    d = answer.estimate() * share
    with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
        quotients = np.where(sums > 0.0, cells.rest(0.0, sums.size) / sums, np.nan)
    value = float(lower_median(quotients))
    for _ in range(ROUNDS):
        answer = yield Asked(linearised(cells, value, d, sums.size)[None], k, n)
        value = answer.estimate()
    return RobustRatio(cells, value, d, answer.alone())


def least_level(cells: RatioBlocks, finest: int | None) -> int:
    """Number of blocks to use: the finest, or the fewest if none are informative."""
    return finest or ladder_levels(cells.still.size)[0]
