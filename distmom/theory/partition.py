"""Margins of error for blocks that partition the rows and differ in size."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from distmom.theory._checks import check_count
from distmom.theory._roots import last_nonpositive
from distmom.theory.bounds import cantelli_allowed, median_rank, width_factor

if TYPE_CHECKING:
    from numpy.typing import NDArray

NEARLY_EQUAL = 1.1
"""Up to this ratio of the largest to the smallest block, all count as the smallest."""


def unequal_factor(sizes: Sequence[float] | NDArray[Any], delta: float, outlying: int = 0) -> float:
    """Margin of error of the interval around the median of independent blocks of unequal sizes.

    It is in standard deviations of the mean of a block of average size, like `width_factor` for equal blocks;
    inf if vacuous. Block k misses with probability at most p_k = V_k/(V_k + eps^2) (V_k/eps^2 if Cantelli's
    form is not allowed), V_k inversely proportional to its size, and eps solves P(PoissonBinomial(p_1, ...,
    p_(K-o)) >= m - o) = delta by the O(K m) recursion.

    Parameters
    ----------
    sizes : sequence of float
        Rows (with weights, effective rows) of each of the K blocks, above 0.
    outlying : int
        Number o of blocks whose values are arbitrary; the worst choice of them is assumed.

    Examples
    --------
    >>> round(unequal_factor([100, 100, 100, 120, 150, 150, 400], 0.01), 3)
    2.677
    """
    import numpy as np

    n_blocks = len(sizes)
    factor = width_factor(n_blocks, delta, outlying)
    if math.isinf(factor):
        return math.inf
    ordered = sorted(map(float, sizes))
    average = sum(ordered) / n_blocks
    # the o largest blocks miss least often, so they are the ones an adversary gives up
    relative = [average / size for size in ordered[: n_blocks - outlying]]
    sharp = cantelli_allowed(n_blocks, delta, outlying)
    least = median_rank(n_blocks) - outlying
    ratios = np.asarray(relative)
    log_delta = math.log(delta)

    def excess(minus_log_eps: float) -> float:
        missing = ratios * math.exp(2.0 * minus_log_eps)
        probabilities = missing / (1.0 + missing) if sharp else np.minimum(1.0, missing)
        tail = poisson_binomial_tail(probabilities, least)
        return math.log(tail) - log_delta if tail > 0.0 else -math.inf

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
