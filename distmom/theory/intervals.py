"""Intervals from order statistics of independent block values.

The interval [Y_(l), Y_(K+1-l)] covers the median of the distribution of one block value, whatever that
distribution: it misses only if fewer than l values are on one side, a binomial tail at 1/2. It is not valid
for blocks that share rows (sampling without or with replacement from all rows, incomplete pairs): given the
data such values are independent around the *conditional* median, and the interval ignores the sampling error
of the data itself.
"""

from __future__ import annotations

from functools import lru_cache

from distmom.theory._checks import check_count, check_delta

# Levels that equal 1 - delta in exact arithmetic may lose a few units in the last place on the way.
_SLACK = 1.0 + 1e-12


def _tail(n_good: int, rank: int) -> float:
    """Probability that fewer than ``rank`` of ``n_good`` fair coins show heads."""
    from scipy.special import betainc

    return 1.0 if rank > n_good else float(betainc(n_good - rank + 1, rank, 0.5))


@lru_cache(maxsize=8192)
def order_rank(n_blocks: int, delta: float, outlying: int = 0) -> int | None:
    """Rank l of the order-statistic interval [Y_(l), Y_(K+1-l)].

    The largest l (from 1) whose level 1 - 2 P(Bin(K - o, 1/2) <= l - 1) is at least 1 - delta; None if even
    the extremes do not reach it, that is if K - o < 1 + log2(1/delta).

    With o arbitrary values, fewer than l values on one side of the median imply fewer than l good ones.

    Examples
    --------
    >>> order_rank(63, 0.01), order_rank(7, 0.01), order_rank(8, 0.01)
    (21, None, 1)
    """
    check_count("n_blocks", n_blocks)
    check_count("outlying", outlying, least=0)
    check_delta(delta)
    n_good = n_blocks - outlying
    allowed = 0.5 * delta * _SLACK
    if n_good < 1 or _tail(n_good, 1) > allowed:
        return None
    low, high = 1, n_good // 2 + 1  # rank `low` is good; `high` has a tail of about 1/2 or more: bad
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if _tail(n_good, middle) <= allowed else (low, middle)
    return low


@lru_cache(maxsize=8192)
def order_level(n_blocks: int, rank: int, outlying: int = 0) -> float:
    """Level of the interval [Y_(l), Y_(K+1-l)] with l = ``rank``.

    It is max(0, 1 - 2 P(Bin(K - o, 1/2) <= l - 1)): exact for continuous distributions without arbitrary
    values, otherwise a lower bound.

    Parameters
    ----------
    rank : int
        Rank l, at least 1.

    Examples
    --------
    >>> order_level(8, 1)
    0.9921875
    """
    check_count("n_blocks", n_blocks)
    check_count("rank", rank)
    check_count("outlying", outlying, least=0)
    n_good = n_blocks - outlying
    return max(0.0, 1.0 - 2.0 * _tail(n_good, rank)) if n_good >= 1 else 0.0


@lru_cache(maxsize=1024)
def least_order_blocks(delta: float, outlying: int = 0) -> int:
    """Smallest number of blocks with an order-statistic interval: the least K >= o + 1 + log2(1/delta).

    Examples
    --------
    >>> [least_order_blocks(delta) for delta in (0.1, 0.05, 0.01, 0.001)]
    [5, 6, 8, 11]
    """
    check_delta(delta)
    n_blocks = outlying + 1
    while order_rank(n_blocks, delta, outlying) is None:
        n_blocks += 1
    return n_blocks
