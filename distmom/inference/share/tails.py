"""Binomial tails by the incomplete beta: scipy.stats takes a third of a second to load."""

from __future__ import annotations

from bisect import bisect_left


def at_most(k: int, m: int, p: float) -> float:
    """Probability that at most k < m of m rows have a property that each has with probability p."""
    from scipy.special import betaincc

    return float(betaincc(k + 1, m - k, p))


def more_than(k: int, m: int, p: float) -> float:
    """Probability that more than k < m of them have it."""
    from scipy.special import betainc

    return float(betainc(k + 1, m - k, p))


def quantile(level: float, m: int, p: float) -> int:
    """Least k such that at most k rows have it with probability at least `level`.

    Examples
    --------
    >>> quantile(0.5, 100, 0.25), quantile(0.99, 100, 0.0), quantile(0.99, 100, 1.0)
    (25, 0, 100)
    """
    return bisect_left(range(m), level, key=lambda k: at_most(k, m, p))
