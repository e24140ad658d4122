"""Bounds for vectors, through the geometric median."""

from __future__ import annotations

import math
from functools import lru_cache

from distmom.theory._checks import check_count, check_delta
from distmom.theory.bounds import median_rank


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
