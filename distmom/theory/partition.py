"""Half-widths for blocks that partition the rows, also when their sizes differ."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from distmom.theory._checks import check_count, check_delta, check_variance
from distmom.theory._roots import last_nonpositive
from distmom.theory.bounds import cantelli_allowed, median_rank, width_factor

if TYPE_CHECKING:
    from numpy.typing import NDArray

NEARLY_EQUAL = 1.1
"""Up to this ratio of the largest to the smallest block, all count as the smallest."""


def partition_halfwidth(
    variance: float,
    n_blocks: int,
    delta: float,
    outlying: int = 0,
    sizes: Sequence[float] | NDArray[Any] | None = None,
) -> float:
    """Half-width eps of the interval around the median of independent blocks.

    It is the eps with P(|median - mean| > eps) <= delta, in units of the data; inf if vacuous.

    Equal sizes: sqrt(variance) times `width_factor`. Otherwise block k misses with probability at most
    p_k = V_k/(V_k + eps^2) (V_k/eps^2 where Cantelli's form is not allowed), V_k inversely proportional
    to its size, and eps solves P(PoissonBinomial(p_1, ..., p_(K-o)) >= m - o) = delta by the O(K m)
    recursion; when the largest block is at most 1.1 times the smallest, all count as the smallest.

    Parameters
    ----------
    variance : float
        Variance of the mean of a block (with ``sizes``: of a block of average size), in squared units of
        the data.
    outlying : int
        Number o of blocks whose values are arbitrary; the worst choice of them is assumed.
    sizes : sequence of float, optional
        Numbers of rows (with weights, of effective rows) of the K blocks, when they differ. Empty blocks are
        dropped, and K falls.

    Examples
    --------
    >>> round(partition_halfwidth(1 / 142, 7, 0.001), 4)
    0.2913
    """
    check_variance("variance", variance)
    check_count("n_blocks", n_blocks)
    if sizes is None:
        return _scaled(variance, width_factor(n_blocks, delta, outlying))
    check_delta(delta)
    check_count("outlying", outlying, least=0)
    if len(sizes) != n_blocks:
        raise ValueError(f"sizes has {len(sizes)} entries for n_blocks={n_blocks}")
    filled = sorted(float(size) for size in sizes if size > 0)
    n_filled = len(filled)
    if median_rank(n_filled) - outlying < 1:
        return math.inf
    average = sum(filled) / n_filled
    if filled[-1] <= NEARLY_EQUAL * filled[0]:
        return _scaled(variance * average / filled[0], width_factor(n_filled, delta, outlying))
    # the o largest blocks miss least often, so they are the ones an adversary gives up
    relative = tuple(average / size for size in filled[: n_filled - outlying])
    return _scaled(variance, _unequal_factor(relative, n_filled, delta, outlying))


def _scaled(variance: float, factor: float) -> float:
    return math.inf if math.isinf(factor) else math.sqrt(variance) * factor


def _unequal_factor(relative: tuple[float, ...], n_blocks: int, delta: float, outlying: int) -> float:
    """Half-width in units of the average block's standard deviation; ``relative`` = V_k / V, descending."""
    import numpy as np

    sharp = cantelli_allowed(n_blocks, delta, outlying)
    least = median_rank(n_blocks) - outlying
    ratios = np.asarray(relative)
    log_delta = math.log(delta)

    def excess(minus_log_eps: float) -> float:
        missing = ratios * math.exp(2.0 * minus_log_eps)
        probabilities = missing / (1.0 + missing) if sharp else np.minimum(1.0, missing)
        tail = poisson_binomial_tail(probabilities, least)
        return math.log(tail) - log_delta if tail > 0.0 else -math.inf

    factor = width_factor(n_blocks, delta, outlying)
    if math.isinf(factor):
        return math.inf
    # equal blocks as small as the smallest, and as large as the largest, bracket the answer
    low = -math.log(factor * math.sqrt(relative[0])) - 1e-9
    high = -math.log(factor * math.sqrt(relative[-1])) + 1e-9
    return math.exp(-last_nonpositive(excess, low, high))


def poisson_binomial_tail(probabilities: Sequence[float] | NDArray[Any], least: int) -> float:
    """Probability that at least ``least`` of independent events happen.

    It is P(sum >= least), by the recursion over events in O(len(probabilities) * least); all terms are
    positive, so the relative error stays near the rounding unit.

    Parameters
    ----------
    probabilities : sequence of float
        Probability of each event.
    least : int
        Number of events, at least 1.

    Examples
    --------
    >>> round(poisson_binomial_tail([0.5, 0.5, 0.5], 2), 12)
    0.5
    """
    import numpy as np

    check_count("least", least)
    counts = np.zeros(least)
    counts[0] = 1.0
    reached = 0.0
    for p in np.asarray(probabilities, dtype=np.float64).tolist():
        moved = counts * p
        counts *= 1.0 - p
        counts[1:] += moved[:-1]
        reached += float(moved[-1])
    return reached
