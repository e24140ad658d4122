"""Blocks that are more equal than chance makes them, as those of sorted rows are.

Every run of rows of a file gives one row to each fine block. Where neighbouring rows are correlated, as
in a sorted column, blocks are stratified samples: their means hardly vary, and order statistics of them lie
too close together. The spread that rows have within blocks is then the one to go by.
"""

from __future__ import annotations

import numpy as np

from distmom.inference.answers import Intervals
from distmom.inference.block_set import BlockSet
from distmom.numerics.arrays import Bools, Floats
from distmom.numerics.median import lower_median
from distmom.numerics.own_sums import own_sums

FALSE_ALARM = 1e-6
"""Probability that blocks of exchangeable rows are taken for too equal."""

MEDIAN_EXCESS = 0.5 * np.pi - 1.0
"""The median of K values errs by this share of the variance of their mean about their mean."""


def too_equal(own: BlockSet) -> tuple[Bools, Floats, Floats]:
    """Whether the kept finest blocks of each group vary too little, the ratio, and the standard error.

    The ratio is that of the analysis of variance: variance between block means over that within blocks, each
    as the variance of a row. It is tested against its distribution for normal rows, F with F - 1 and n - F
    degrees of freedom, which other distributions of exchangeable rows come near: heavy tails make numerator
    and denominator move together. Where blocks are contradicted, outlying rows of both signs may cancel in
    the means of kept blocks, so the variance within is that of the typical block, which is no larger. The
    standard error of the mean of all rows is that of the variance within blocks.
    """
    from scipy.special import fdtri

    kept = own.answer.kept
    good = kept.filled & np.isfinite(kept.mean)
    rows = np.where(good, kept.effective, 0.0)
    n, n_blocks = own_sums(rows, kept.width), np.count_nonzero(good, axis=1)
    degrees = np.where(good, np.maximum(kept.count - 1, 0), 0)
    first, second = np.maximum(n_blocks - 1.0, 1.0), np.maximum(degrees.sum(axis=1, dtype=np.float64), 1.0)
    with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
        centre = own_sums(rows * np.where(good, kept.mean, 0.0), kept.width) / n
        away = np.where(good, kept.mean - centre[:, None], 0.0)
        between = own_sums(rows * away * away, kept.width) / first
        variance = np.where(degrees > 0, kept.blocks.row_variance, np.nan)
        within = own_sums(np.where(degrees > 0, degrees * variance, 0.0), kept.width) / second
        within = np.where(own.contradicted, lower_median(variance), within)
        ratio, se = between / within, np.sqrt(within / n)
        alarm = np.isfinite(se) & (n_blocks > 1) & (ratio < fdtri(first, second, FALSE_ALARM))
    return np.asarray(alarm), np.asarray(ratio), np.asarray(se)


def widen(found: Intervals, own: BlockSet, delta: float) -> Bools:
    """Widen the order intervals of blocks that are too equal to what rows vary within them; which these are.

    The mean of all rows has the standard error of the variance within blocks, whatever the order of the rows;
    the median of the blocks errs about it by their own spread alone. So their normal interval around the
    estimate is added to that of the order statistics.
    """
    from scipy.special import ndtri

    equal, ratio, se = too_equal(own)
    equal &= found.order_reason == 0
    reach = -ndtri(0.5 * delta) * se * np.sqrt(1.0 + MEDIAN_EXCESS * np.minimum(ratio, 1.0))
    for end, outer, side in ((found.order_low, np.minimum, -1.0), (found.order_high, np.maximum, 1.0)):
        end[equal] = outer(end, own.answer.estimate + side * reach)[equal]
    return equal
