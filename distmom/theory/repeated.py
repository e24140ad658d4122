"""Deviation of the median over repeated random partitions of the same rows.

R random partitions into K blocks each give R K block values that share rows, so they are not independent.
But the number of bad blocks, averaged over the partitions, is an average of sums of independent terms, and
Jensen's inequality gives it the exponential bound of a single partition (Hoeffding 1963, section 5): for
every R, without a second exponential for the draw of the partitions.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from distmom.theory._checks import check_count, check_delta, check_variance

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

_HALVINGS = 60


def repeated_margin(variance: float, n_blocks: int, delta: float, outlying: int = 0) -> float:
    """Margin of error sqrt(V / p) for the median over repeated partitions; V is that of one block mean.

    If the blocks differ in size, V is the average over the blocks of a partition. Infinite if the arbitrary
    blocks alone decide the median. (One partition has the exact bound, which is sharper.)

    Examples
    --------
    >>> round(repeated_margin(11 / 1000, 11, 0.01), 3)
    0.298
    """
    check_variance("variance", variance)
    p = repeated_p(n_blocks, delta, outlying)
    return math.sqrt(variance / p) if p > 0.0 else math.inf


@lru_cache(maxsize=4096)
def repeated_p(n_blocks: int, delta: float, outlying: int = 0) -> float:
    """Largest probability of a bad block for the median over repeated random partitions.

    The p <= t with exp(-(K - o) kl(t | p)) = delta, where t = (K/2 - o)/(K - o) is the share of the good
    blocks that must miss in addition; for o = 0 the solution is (1 - sqrt(1 - delta^(2/K)))/2. 0 if 2 o >= K.

    Half of all R K blocks are bad only if, on average over the partitions, at least t (K - o) of the K - o
    other blocks are. The o arbitrary blocks may differ between partitions.

    Parameters
    ----------
    outlying : int
        Number o of blocks, in each partition, whose values are arbitrary.

    Examples
    --------
    >>> round((214 / repeated_p(214, 0.01)) ** 0.5, 1)
    23.2
    """
    return float(_solve([n_blocks], delta, outlying)[0])


def repeated_factors(n_blocks: Sequence[int] | NDArray[Any], delta: float, outlying: int = 0) -> NDArray[Any]:
    """Margins of error in standard deviations of one block value, for an array of numbers of blocks.

    The counterpart of `width_factors`: 1/sqrt(`repeated_p`), infinite if that is 0.
    """
    import numpy as np

    p = _solve(n_blocks, delta, outlying)
    return np.asarray(np.divide(1.0, np.sqrt(p), out=np.full(p.shape, np.inf), where=p > 0.0))


def _solve(n_blocks: Sequence[int] | NDArray[Any], delta: float, outlying: int) -> NDArray[Any]:
    """`repeated_p` of several numbers of blocks."""
    import numpy as np

    check_delta(delta)
    check_count("outlying", outlying, least=0)
    blocks = np.asarray(n_blocks, dtype=np.int64)
    check_count("n_blocks", int(blocks.min(initial=1)))
    out = np.zeros(blocks.shape)
    possible = blocks > 2 * outlying
    good = (blocks[possible] - outlying).astype(np.float64)
    out[possible] = share_p((0.5 * blocks[possible] - outlying) / good, good, delta)
    return out


def share_p(t: NDArray[Any], good: NDArray[Any], delta: float) -> NDArray[Any]:
    """Largest p <= t with exp(-good kl(t | p)) <= delta, for shares t in (0, 1) of `good` blocks that miss.

    Bisection in log p, which errs downwards.
    """
    import numpy as np

    exponent = math.log(1.0 / delta) / good
    entropy = t * np.log(t) + (1.0 - t) * np.log1p(-t)
    low, high = (entropy - exponent) / t, np.log(t)  # kl(t | p) exceeds the exponent at exp(low)
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        far = entropy - t * middle - (1.0 - t) * np.log1p(-np.exp(middle)) >= exponent
        low, high = np.where(far, middle, low), np.where(far, high, middle)
    return np.asarray(np.exp(low))
