"""Radius around the geometric median of block mean vectors: Minsker's lemma with binomial tails.

If the geometric median of K points is farther than C_alpha r from the mean, C_alpha = (1 - alpha)/sqrt(1 - 2
alpha) and 0 < alpha < 1/2, then more than alpha K of the points are farther than r from it (Minsker 2015,
lemma 2.1, in any Hilbert space). One block mean is farther than r with probability of at most trace(Sigma)/(B
r^2), so every rank j <= ceil(K/2) of the number of bad blocks gives a radius; the smallest one is used.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from distmom.theory._checks import check_count, check_delta
from distmom.theory.bounds import median_rank
from distmom.theory.repeated import share_p
from distmom.theory.resampled import resampled_p

if TYPE_CHECKING:
    from numpy.typing import NDArray

MOST_RANKS = 64
"""Number of ranks tried; each gives a valid radius, and the curve is flat around its minimum."""


@lru_cache(maxsize=4096)
def vector_factor(n_blocks: int, delta: float, outlying: int = 0, *, equal: bool = True) -> float:
    """Radius around the geometric median of K block means, in units of sqrt(trace(Sigma)/B).

    It is min over j = o + 1 ... ceil(K/2) of C_alpha / sqrt(p_j), alpha = (j - 1)/K, with P(Bin(K - o, p_j)
    >= j - o) = delta; inf if half or more of the blocks are arbitrary.

    Unequal blocks: P(at least i of n bad) is at most the binomial tail at the average probability p if
    i >= n p + 1 (Hoeffding 1956, theorem 4), and at most n p for i = 1. Medians by coordinate: `width_factor`
    at delta/dimension.

    Parameters
    ----------
    outlying : int
        Number o of blocks whose mean vectors are arbitrary, or left out because they are non-finite.
    equal : bool
        Whether all blocks have the same size B. Otherwise trace(Sigma)/B is the average over the good blocks,
        and only ranks for which equal blocks are the worst case are used.

    References
    ----------
    Minsker (2015), Geometric median and robust estimation in Banach spaces, Bernoulli 21: lemma 2.1.

    Examples
    --------
    >>> round(vector_factor(7, 0.01) * 7**0.5, 1)
    10.6
    """
    import numpy as np
    from scipy.special import betaincinv

    check_count("n_blocks", n_blocks)
    check_count("outlying", outlying, least=0)
    check_delta(delta)
    ranks = _ranks(outlying + 1, median_rank(n_blocks))
    needed, good = ranks - outlying, n_blocks - outlying
    p = betaincinv(needed, n_blocks - ranks + 1, delta)
    if not equal:
        p = np.where(needed == 1, delta / max(good, 1), np.where(needed >= good * p + 1.0, p, 0.0))
    return _least_radius((ranks - 1) / n_blocks, p)


@lru_cache(maxsize=1024)
def resampled_vector_factor(n_blocks: int, inverse_inclusion: float, delta: float) -> float:
    """Like `vector_factor`, for blocks resampled from the same rows, with or without replacement.

    `resampled_p` at every rank: the conditional probability of a bad block given the rows obeys the same
    inequality for vectors as for numbers.

    Parameters
    ----------
    inverse_inclusion : float
        a = 1/pi >= 1, from `row_inverse_inclusion`.

    Examples
    --------
    >>> round(resampled_vector_factor(24, 36.0, 0.01) * 36.0**0.5, 1)
    23.8
    """
    import numpy as np

    check_count("n_blocks", n_blocks)
    ranks = _ranks(1, median_rank(n_blocks))
    p = np.array([resampled_p(n_blocks, inverse_inclusion, delta, int(j)) for j in ranks])
    return _least_radius((ranks - 1) / n_blocks, p)


@lru_cache(maxsize=4096)
def repeated_vector_factor(n_blocks: int, delta: float, outlying: int = 0) -> float:
    """Like `vector_factor`, for the geometric median of the blocks of repeated random partitions.

    If the median of all R K points is farther than C_alpha r from the mean, more than a share alpha of them
    is farther than r, so on average over the partitions more than alpha K - o of the K - o others. That share
    obeys the exponential bound of `repeated_p` at every alpha in place of 1/2, and by Hoelder's inequality
    over the partitions with the average of trace(Sigma)/B over all blocks if these differ in size.

    Parameters
    ----------
    outlying : int
        Number o of blocks, in each partition, whose mean vectors are arbitrary or left out.

    Examples
    --------
    >>> round(repeated_vector_factor(11, 0.01) * 11**0.5, 1)
    16.4
    """
    import numpy as np

    check_count("n_blocks", n_blocks)
    check_count("outlying", outlying, least=0)
    check_delta(delta)
    if n_blocks <= 2 * outlying:
        return math.inf
    least, good = outlying / n_blocks, float(n_blocks - outlying)
    alpha = least + (0.5 - least) * (np.arange(MOST_RANKS) + 0.5) / MOST_RANKS
    p = share_p((alpha * n_blocks - outlying) / good, np.full(MOST_RANKS, good), delta)
    return _least_radius(alpha, p)


def _ranks(least: int, most: int) -> NDArray[Any]:
    import numpy as np

    return np.unique(np.linspace(least, most, min(MOST_RANKS, max(most - least + 1, 0))).astype(np.int64))


def _least_radius(alpha: NDArray[Any], p: NDArray[Any]) -> float:
    """Smallest C_alpha / sqrt(p); p = 0 gives no bound."""
    import numpy as np

    good = p > 1e-300  # NaN is not
    radii = (1.0 - alpha[good]) / np.sqrt((1.0 - 2.0 * alpha[good]) * p[good])
    return float(radii.min(initial=math.inf))
