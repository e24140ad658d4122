"""The interval of a ratio N/D of two U-statistics: all R for which N - R D may be 0 (Fieller)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from distmom.inference.answers import Intervals, RuleAnswer
from distmom.inference.estimate import shown_interval
from distmom.inference.status import NoInterval
from distmom.numerics.arrays import Bools, Floats, Ints
from distmom.numerics.median import lower_median, spread_about

MOST_ROUNDS, CLOSE = 60, 1e-10

UNBOUNDED = (
    "the denominator of the ratio may be 0, so that every ratio agrees with the data (Fieller's set has no "
    "end); give more rows, or use fewer blocks"
)

UNEVEN = 0.4
"""Scale of the denominators of blocks, relative to their median, above which order statistics of block ratios
are not offered by default: the ratios of blocks with small denominators are skewed."""


@dataclass(frozen=True)
class Quotients:
    """Numerators N and denominators D of all blocks, and how they vary inside blocks.

    Attributes
    ----------
    numerator, denominator : ndarray, shape (B,)
    components : ndarray, shape (B, 3)
        Variances of N and D in a block of this size and their covariance, as Var N, Cov, Var D.
    group : ndarray of int64, shape (B,)
        The group of each block.
    """

    numerator: Floats
    denominator: Floats
    components: Floats
    group: Ints

    def linearised(self, ratio: Floats, denominator: Floats) -> tuple[Floats, Floats]:
        """Values R + (N - R D)/d of the blocks and their variances, for the R and the d of each group."""
        r, d = ratio[self.group], denominator[self.group]
        of_n, both, of_d = self.components.T
        with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
            values = r + (self.numerator - r * self.denominator) / d
            return values, np.maximum(of_n - 2.0 * r * both + r * r * of_d, 0.0) / (d * d)


@dataclass(frozen=True)
class FiellerEnds:
    """The interval of each group, or the reason why there is none."""

    intervals: Intervals
    unbounded: Bools

    def shown(self, g: int) -> tuple[tuple[float, float] | None, str | None]:
        """Interval of a group, or the reason why there is none."""
        if self.unbounded[g]:
            return None, UNBOUNDED
        return shown_interval(self.intervals, g, "cantelli")[:2]


def fieller_ends(
    blocks: Quotients, estimate: Floats, rule: Callable[[Floats, Floats], RuleAnswer]
) -> FiellerEnds:
    """The ends of the R around the estimate whose N - R D has a Cantelli interval that contains 0.

    Parameters
    ----------
    blocks : Quotients
    estimate : ndarray, shape (n_groups,)
        The ratio.
    rule : callable
        The rule's answer for block values with these variances, ``rule(values, variances)``.

    Notes
    -----
    N - R D is a U-statistic whose mean is 0 at the true ratio, so its bound holds there without any argument
    about a quotient. For one R the rule gives the interval of R + (N - R D)/d, d the denominator, and R is in
    the set if it is in this interval. An end is bracketed by doubling steps from the estimate, then found by
    regula falsi (Illinois), for all groups at once. If the interval of D contains 0 there is no end.

    References
    ----------
    Fieller (1954), Some problems in interval estimation.
    """
    of_d = rule(blocks.denominator, blocks.components[:, 2])
    found = of_d.intervals
    constant = found.cantelli_reason == NoInterval.CONSTANT_BLOCKS
    unbounded = np.where(constant, of_d.estimate <= 0.0, found.cantelli_low <= 0.0)
    d = np.where(np.isnan(found.cantelli_centre), of_d.estimate, found.cantelli_centre)

    def beyond(end: Floats, sign: float) -> tuple[Floats, Intervals]:
        """How far the interval for R extends beyond R, up (1) or down (-1): negative outside."""
        found = rule(*blocks.linearised(end, d)).intervals
        return (found.cantelli_high - end if sign > 0.0 else end - found.cantelli_low), found

    low, high = (_end(estimate, sign, beyond) for sign in (-1.0, 1.0))
    ends = replace(beyond(high, 1.0)[1], cantelli_low=low, cantelli_high=high)
    return FiellerEnds(ends, unbounded)


def _end(start: Floats, sign: float, beyond: Callable[[Floats, float], tuple[Floats, Intervals]]) -> Floats:
    """The root of `beyond` for each group; the start if `beyond` is 0 or unknown there."""
    inside, outside = start.copy(), start.copy()
    above = below = step = beyond(start, sign)[0]
    wide = np.isfinite(step) & (step > 0.0)
    open_ = wide.copy()
    for _ in range(MOST_ROUNDS):
        step = 2.0 * step
        outside = np.where(open_, inside + sign * step, outside)
        below = np.where(open_, beyond(outside, sign)[0], below)
        open_ &= below > 0.0
        if not open_.any():
            break
        inside, above = np.where(open_, outside, inside), np.where(open_, below, above)
    going = wide.copy()  # each group stops on its own, as it would alone
    for _ in range(MOST_ROUNDS):
        with np.errstate(invalid="ignore", divide="ignore"):
            middle = np.where(wide, inside + (outside - inside) * above / (above - below), start)
        going &= ~np.isclose(middle, inside, rtol=CLOSE, atol=1e-300, equal_nan=True)
        if not going.any():
            break
        value = beyond(middle, sign)[0]
        up, down = going & (value >= 0.0), going & ~(value >= 0.0)
        below, above = np.where(up, 0.5 * below, below), np.where(down, 0.5 * above, above)
        below, above = np.where(down, value, below), np.where(up, value, above)
        inside, outside = np.where(up, middle, inside), np.where(down, middle, outside)
    return np.where(wide, inside, start)


def uneven(denominators: Floats, variances: Floats) -> bool:
    """Whether denominators of blocks differ so much that order statistics of their ratios would mislead.

    By their variances inside blocks, or the variance between blocks if those are unknown.
    """
    known = denominators[np.isfinite(denominators)]
    inside = variances[np.isfinite(variances)]
    if not known.size:
        return False
    if inside.size:
        spread = float(np.sqrt(lower_median(inside)))
    else:
        spread = float(spread_about(known, np.median(known)))
    return spread > UNEVEN * float(lower_median(known))
