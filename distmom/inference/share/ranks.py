"""Exact intervals from a sample: of a share by Clopper and Pearson, of a quantile by binomial ranks."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right

from distmom.inference.share.tails import at_most, more_than
from distmom.numerics.arrays import Floats

SLACK = 1.0 + 1e-12
"""Levels that equal 1 - delta in exact arithmetic may be off by a few units in the last place."""


def share_interval(k: int, m: int, level: float = 0.99) -> tuple[float, float]:
    """Clopper-Pearson interval of a share, if k of m sampled rows have a property.

    Parameters
    ----------
    k, m : int
        Number of rows that have it, and of all sampled rows, at least one.
    level : float
        Confidence level.

    Examples
    --------
    >>> low, high = share_interval(655, 65_536)
    >>> round(low, 5), round(high, 5)
    (0.00902, 0.01104)
    >>> share_interval(0, 65_536)[0]
    0.0
    """
    from scipy.special import betaincinv

    half = (1.0 - level) / 2
    low = float(betaincinv(k, m - k + 1, half)) if k else 0.0
    high = float(betaincinv(k + 1, m - k, 1.0 - half)) if k < m else 1.0
    return low, high


def quantile_ranks(m: int, q: float, level: float = 0.99) -> tuple[int, int]:
    """Ranks (from 1) of the order statistics of m rows that enclose the q-quantile; 0 or m + 1: no end.

    Notes
    -----
    Y_(l) exceeds the quantile only if fewer than l rows are at or below it, which has probability at most
    P(Bin(m, q) <= l - 1), whatever the distribution; likewise Y_(u) is below it with probability at most
    P(Bin(m, q) >= u). The largest l and the least u are taken for which either is at most (1 - level)/2.

    Examples
    --------
    >>> quantile_ranks(65_536, 0.5)
    (32438, 33099)
    >>> quantile_ranks(65_536, 0.9999)
    (65522, 65536)
    """
    half = (1.0 - level) / 2 * SLACK
    low = bisect_right(range(m), half, key=lambda k: at_most(k, m, q))
    high = 1 + bisect_left(range(m), -half, key=lambda k: -more_than(k, m, q))
    return low, high


def quantile_interval(y_sorted: Floats, q: float, level: float = 0.99) -> tuple[float, float, float]:
    """Sample quantile and an exact interval for that of the distribution, or of all rows.

    Parameters
    ----------
    y_sorted : ndarray of float64
        Sorted rows of a uniform sample, infinite ones included; at least one.
    q : float
        Between 0 and 1.
    level : float
        Confidence level.

    Returns
    -------
    quantile, low, high : float
        The order statistic of rank ceil(q m), and the ends; infinite if the sample is too small for one.

    Notes
    -----
    Holds for every distribution, ties included. Without replacement ranks vary less, so it is
    conservative.

    Examples
    --------
    >>> import numpy as np
    >>> quantile_interval(np.arange(1.0, 1001.0), 0.5)
    (500.0, 459.0, 542.0)
    """
    m = y_sorted.size
    low, high = quantile_ranks(m, q, level)
    middle = y_sorted[min(max(math.ceil(q * m - 1e-9), 1), m) - 1]
    return (
        float(middle),
        float(y_sorted[low - 1]) if low >= 1 else -math.inf,
        float(y_sorted[high - 1]) if high <= m else math.inf,
    )
