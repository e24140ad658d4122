"""Blocks that are more equal than by chance, as with sorted rows.

Every run of rows of a file gives one row to each fine block. If neighbouring rows are correlated, as in a
sorted column, blocks are stratified samples: their means hardly vary, and their order statistics are too
close together. The variance of rows within blocks is then used instead.
"""

from __future__ import annotations

import numpy as np

from distmom.inference.answers import Intervals
from distmom.inference.block_set import BlockSet
from distmom.numerics.arrays import Bools, Floats
from distmom.numerics.median import lower_median
from distmom.numerics.own_sums import own_sums

FALSE_ALARM = 1e-6
"""Probability of calling blocks of exchangeable rows too equal."""

MEDIAN_EXCESS = 0.5 * np.pi - 1.0
"""Mean squared error of the median of K values about their mean, as a share of the variance of the mean."""


def too_equal(own: BlockSet) -> tuple[Bools, Floats, Floats]:
    """Whether the kept finest blocks of each group vary too little, with the ratio and the standard error.

    The ratio is that of the analysis of variance: variance between block means over that within blocks, each
    as the variance of a row. It is tested against its distribution for normal rows, F with F - 1 and n - F
    degrees of freedom. Other distributions of exchangeable rows come close to it, because heavy tails move
    numerator and denominator together. If blocks are contradicted, outlying rows of both signs may cancel in
    the means of kept blocks, so the variance within is that of the typical block, which is no larger. The
    standard error of the mean of all rows follows from the variance within blocks.
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
    """Widen the order intervals of blocks that are too equal by the variance within them; return which.

    The mean of all rows has the standard error of the variance within blocks, whatever the order of the rows;
    the error of the median of the blocks about that mean depends only on the variance between them. So their
    normal interval around the estimate is added to that of the order statistics.
    """
    from scipy.special import ndtri

    equal, ratio, se = too_equal(own)
    equal &= found.order_reason == 0
    reach = -ndtri(0.5 * delta) * se * np.sqrt(1.0 + MEDIAN_EXCESS * np.minimum(ratio, 1.0))
    for end, outer, side in ((found.order_low, np.minimum, -1.0), (found.order_high, np.maximum, 1.0)):
        end[equal] = outer(end, own.answer.estimate + side * reach)[equal]
    return equal
