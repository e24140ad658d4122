"""Concordance of weighted rows in two columns: for each row the weight of the others. O(n log n).

Rows in the order of x are split bit by bit of their y-ranks, from the highest down, as in ``order.py``. If a
row has the bit, the rows of its group with a smaller x that lack it are concordant with it, those with a
greater x discordant, and vice versa: each pair of rows that differ in y is counted once, at their highest
differing bit. Weights are only added, never subtracted, so rows of small weight lose no digits beside heavy
ones. The order of the sums depends on the data alone.
"""

from __future__ import annotations

import numpy as np

from distmom.numerics.arrays import Floats
from distmom.numerics.kernels.sums import add_up, ascending
from distmom.numerics.ranks.order import dense_ranks, run_starts
from distmom.numerics.twins import compiled_twin

_kernels = compiled_twin(__name__)

COMPILE = 1 << 8  # below this number of rows all pairs are done before Numba is loaded


def order_masses(
    x: Floats, y: Floats, weights: Floats, *, compiled: bool | None = None
) -> tuple[Floats, Floats]:
    """For each row the weight of the rows that are concordant with it, and of those that are discordant.

    Parameters
    ----------
    x, y : ndarray of float64, shape (n,)
        Without NaN; infinities are the greatest and least values. n >= 1.
    weights : ndarray of float64, shape (n,)
        Not negative.
    compiled : bool, optional
        Sort instead of comparing all pairs (other bits); by default from 256 rows.

    Returns
    -------
    concordant, discordant : ndarray of float64, shape (n,)
    """
    n = x.size
    if not (n >= COMPILE if compiled is None else compiled):
        return _all_pairs(x, y, weights)
    order = ascending(x)
    runs = np.zeros(n, np.int64)
    runs[1:] = np.cumsum(x[order][1:] != x[order][:-1])
    ranks, starts = dense_ranks(y)
    narrow = np.int32 if n < 1 << 31 else np.int64
    whole, sums = np.empty((3, 2, n), narrow), np.zeros((3, 2, n))
    for out, given in zip(whole, (ranks[order], runs, order), strict=True):
        out[0] = given
    sums[0, 0] = weights[order]
    found = np.empty((2, n))
    _kernels.sweep(*whole, *sums, starts, *found)
    return found[0], found[1]


def untied_masses(values: Floats, weights: Floats) -> Floats:
    """For each row the weight of the rows with another value."""
    order = ascending(values)
    sizes = np.diff(run_starts(values[order]))
    run = np.empty(values.size, np.int64)
    run[order] = np.repeat(np.arange(sizes.size), sizes)
    masses = np.bincount(run, weights)
    before = np.concatenate([[0.0], np.cumsum(masses[:-1])])
    after = np.concatenate([[0.0], np.cumsum(masses[:0:-1])])[::-1]
    return np.asarray((before + after)[run])


def _all_pairs(x: Floats, y: Floats, weights: Floats) -> tuple[Floats, Floats]:
    above, right = y[:, None] > y, x[:, None] > x
    below, left = above.T, right.T
    own = weights[:, None]
    return (
        np.asarray(add_up(own * ((above & right) | (below & left)))),
        np.asarray(add_up(own * ((above & left) | (below & right)))),
    )
