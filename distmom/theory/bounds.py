"""Deviation of the lower median of independent block values: binomial tails, solved exactly.

The lower median of K blocks misses by more than eps only if at least m = ceil(K/2) block values do, all on
one side. If one block misses with probability at most p, this is a binomial tail, and the largest p for which
it stays below delta is a quantile of a Beta distribution. These bounds hold for every distribution of finite
variance; nothing here sees data.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeVar

from distmom.theory._checks import check_count, check_delta

if TYPE_CHECKING:
    from numpy.typing import NDArray

CACHE = 8192

Count = TypeVar("Count", int, "NDArray[Any]")


def median_rank(n_blocks: Count) -> Count:
    """Rank m = ceil(K/2) of the lower median among K sorted values, counted from 1; of one K or an array."""
    return (n_blocks + 1) // 2


@lru_cache(maxsize=CACHE)
def binomial_p(n_blocks: int, delta: float, outlying: int = 0) -> float:
    """Largest probability of a bad block that still keeps the median good.

    It is p* with P(Bin(K - o, p*) >= m - o) = delta, m = ceil(K/2); NaN if m - o < 1: the arbitrary blocks
    alone then decide the median.

    P(Bin(K - o, p) >= m - o) is the distribution function of Beta(m - o, K - m + 1) at p.
    Results are cached.

    Examples
    --------
    >>> round(binomial_p(7, 0.01), 6)
    0.14227
    """
    check_count("n_blocks", n_blocks)
    check_count("outlying", outlying, least=0)
    check_delta(delta)
    rank = median_rank(n_blocks)
    if rank - outlying < 1:
        return math.nan
    from scipy.special import betaincinv

    return float(betaincinv(rank - outlying, n_blocks - rank + 1, delta))


def cantelli_allowed(n_blocks: int, delta: float, outlying: int = 0) -> bool:
    """Whether the one-sided (Cantelli) form of the bound covers both sides at once.

    The worst distribution of a block value with given variance puts all its mass of misses on one side as
    soon as delta <= 0.1 and at least two good blocks must miss (or K = 2 without arbitrary blocks); then a
    miss has probability at most V/(V + eps^2) instead of Chebyshev's V/eps^2.
    """
    good_needed = median_rank(n_blocks) - outlying
    return delta <= 0.1 and n_blocks >= 2 and (good_needed >= 2 or (n_blocks == 2 and outlying == 0))


@lru_cache(maxsize=CACHE)
def width_factor(n_blocks: int, delta: float, outlying: int = 0) -> float:
    """Margin of error of the interval around the median, in standard deviations of one block value.

    It is sqrt(1/p* - 1) if `cantelli_allowed`, else sqrt(1/p*); inf if no finite bound exists.

    For independent blocks of equal size and every distribution of finite variance, P(|median - mean| >
    width_factor * sqrt(V)) <= delta, with V the variance of a block value. If `cantelli_allowed`, no smaller
    factor is valid for all distributions.

    Examples
    --------
    >>> round(width_factor(7, 0.01) * 7**0.5, 2)
    6.5
    """
    check_count("n_blocks", n_blocks)
    return float(width_factors([n_blocks], delta, outlying)[0])


def width_factors(n_blocks: Sequence[int] | NDArray[Any], delta: float, outlying: int = 0) -> NDArray[Any]:
    """Evaluate `width_factor` for an array of numbers of blocks (float64 array of the same length)."""
    import numpy as np
    from scipy.special import betaincinv

    check_delta(delta)
    check_count("outlying", outlying, least=0)
    blocks = np.asarray(n_blocks, dtype=np.int64)
    if blocks.size and blocks.min() < 1:
        raise ValueError(f"n_blocks must be at least 1, got {int(blocks.min())}")
    rank = median_rank(blocks)
    finite = rank > outlying
    p = np.full(blocks.shape, np.nan)
    p[finite] = betaincinv(rank[finite] - outlying, (blocks - rank + 1)[finite], delta)
    sharp = (blocks >= 2) & ((rank - outlying >= 2) | ((blocks == 2) & (outlying == 0))) & (delta <= 0.1)
    factors = np.full(blocks.shape, np.inf)
    bounded = p > 1e-300  # below, 1/p may overflow; NaN is not: both bound nothing
    factors[bounded] = np.sqrt(1.0 / p[bounded] - sharp[bounded])
    return factors
