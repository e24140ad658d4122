"""Duels of candidates on blocks: who loses to whom, counted in both directions."""

from __future__ import annotations

import numpy as np

from distmom.numerics.arrays import Bools, Floats, Ints
from distmom.numerics.median import lower_median


def block_values(sums: Floats, counts: Ints) -> Floats:
    """Means of blocks with rows, from sums of shape (..., K): non-finite sums count as +infinity.

    Blocks without rows are left out.
    """
    some = counts > 0
    with np.errstate(invalid="ignore", over="ignore"):
        means = sums[..., some] / counts[some]
    return np.where(np.isfinite(means), means, np.inf)


def differences(own: Floats, others: Floats) -> Floats:
    """Block differences own - others; 0 where both are infinite."""
    with np.errstate(invalid="ignore"):
        d = own - others
    return np.where(np.isnan(d), 0.0, d)


def duels(values: Floats) -> tuple[Bools, Floats]:
    """Who loses to whom, and by which margin.

    Parameters
    ----------
    values : ndarray of float64, shape (m, K)
        Block losses of each candidate, as `block_values` gives them.

    Returns
    -------
    loses : ndarray of bool, shape (m, m)
        ``loses[f, g]``: f has the larger loss on more than half of the blocks.
    margins : ndarray of float64, shape (m, m)
        Lower median of the block differences f - g: positive if and only if f loses to g. For even K,
        ``margins[g, f]`` is not ``-margins[f, g]``.

    Notes
    -----
    Two candidates may both be unbeaten (ties, even K), but never both lose. O(m^2 K) time, O(m K) memory
    beyond the result.

    Examples
    --------
    >>> import numpy as np
    >>> loses, margins = duels(np.array([[1.0, 1.0, 9.0], [2.0, 2.0, 2.0]]))
    >>> loses.tolist(), margins.tolist()
    ([[False, False], [True, False]], [[0.0, -1.0], [1.0, 0.0]])
    """
    m, k = values.shape
    loses = np.zeros((m, m), np.bool_)
    margins = np.zeros((m, m))
    for f in range(m):
        d = differences(values[f], values)
        loses[f] = 2 * (d > 0.0).sum(axis=1) > k
        margins[f] = lower_median(d)
    return loses, margins


def least_distances(means: Floats, reach: Floats) -> Floats:
    """Lower bounds of all distances, at linear cost: lower medians of the gaps between block means.

    On a block mean|a - b| is at least |mean a - mean b|. Bounds are lowered by the rounding errors of sums
    of values up to `reach` in size; if that is infinite, the bound is 0.

    Parameters
    ----------
    means : ndarray of float64, shape (m, K)
    reach : ndarray of float64, shape (m,)
        Largest absolute value in each candidate's means.
    """
    m = means.shape[0]
    bounds = np.zeros((m, m))
    finite = np.isfinite(reach)
    clean = np.where(np.isfinite(means), means, 0.0)
    for f in np.flatnonzero(finite):
        slack = 2.0**-34 * reach[f] + 2.0**-34 * reach  # their sum may be infinite
        gaps = lower_median(np.abs(clean[f] - clean)) - slack
        bounds[f] = np.where(finite, np.maximum(gaps, 0.0), 0.0)
    return bounds
