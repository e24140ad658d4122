"""Bounds for repeated partitions."""

from __future__ import annotations

import math
from functools import lru_cache

from distmom.theory._checks import check_count, check_delta, check_variance


@lru_cache(maxsize=1024)
def repeated_p(n_blocks: int, delta: float) -> float:
    """Largest probability of a bad block for the median over repeated random partitions.

    Parameters
    ----------
    n_blocks : int
        Blocks K_0 of *one* partition; the number of partitions does not enter.
    delta : float
        Allowed failure probability, in (0, 1).

    Returns
    -------
    float
        The p <= 1/2 with exp(-K_0 kl(1/2 | p)) = delta, which is (1 - sqrt(1 - delta^(2/K_0)))/2.

    Notes
    -----
    The share of bad blocks over all partitions is an average of averages of K_0 independent terms, so
    Jensen's inequality gives it the exponential bound of a single partition (Hoeffding 1963, section 5).

    Examples
    --------
    >>> round((214 / repeated_p(214, 0.01)) ** 0.5, 1)
    23.2
    """
    check_count("n_blocks", n_blocks)
    check_delta(delta)
    # 1 - sqrt(1 - q) = q/(1 + sqrt(1 - q)) keeps digits where q is small, expm1 where it is near 1
    exponent = 2.0 * math.log(delta) / n_blocks
    return 0.5 * math.exp(exponent) / (1.0 + math.sqrt(-math.expm1(exponent)))


def repeated_halfwidth(variance: float, n_blocks: int, delta: float) -> float:
    """Half-width sqrt(V / p) for the median over repeated partitions into ``n_blocks``; V of one block mean.

    The lower median of one partition has the exact bound too, so this one matters for repeats > 1.
    """
    check_variance("variance", variance)
    p = repeated_p(n_blocks, delta)
    return math.sqrt(variance / p) if p > 0.0 else math.inf
