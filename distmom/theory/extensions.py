"""Bounds for repeated partitions, and for vectors through the geometric median."""

from __future__ import annotations

import math
from functools import lru_cache

from distmom.theory._checks import check_count, check_delta, check_variance
from distmom.theory.bounds import median_rank


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


@lru_cache(maxsize=1024)
def vector_factor(n_blocks: int, delta: float) -> float:
    """Radius around the geometric median of K block means, in units of sqrt(trace(Sigma)/B).

    Parameters
    ----------
    n_blocks : int
        Number of blocks K.
    delta : float
        Allowed failure probability, in (0, 1).

    Returns
    -------
    float
        min over j = 1..m with alpha = (j - 1)/K < 1/2 of C_alpha / sqrt(p_j), where
        C_alpha = (1 - alpha)/sqrt(1 - 2 alpha) and P(Bin(K, p_j) >= j) = delta.

    Notes
    -----
    If the geometric median is farther than C_alpha r from the mean, more than alpha K block means are
    farther than r (Minsker 2015, Lemma 2.1). Coordinatewise medians: `width_factor` at delta/dimension.

    Examples
    --------
    >>> round(vector_factor(7, 0.01) * 7**0.5, 1)
    10.6
    """
    from scipy.special import betaincinv

    check_count("n_blocks", n_blocks)
    check_delta(delta)
    best = math.inf
    for j in range(1, median_rank(n_blocks) + 1):
        alpha = (j - 1) / n_blocks
        constant = (1.0 - alpha) / math.sqrt(1.0 - 2.0 * alpha)
        p = float(betaincinv(j, n_blocks - j + 1, delta))
        if p > 1e-300:
            best = min(best, constant / math.sqrt(p))
    return best
