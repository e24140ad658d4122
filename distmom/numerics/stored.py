"""Moments of contiguous blocks, for rows that are exchangeable as they are stored."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from distmom.numerics.leaf import from_sums, middle_value
from distmom.numerics.moments import Moments


def stored_moments(
    x: NDArray[np.float64],
    gone: NDArray[np.bool_] | None,
    first: int,
    edges: NDArray[np.int64],
) -> Moments:
    """Moments of the contiguous blocks in one leaf.

    Parameters
    ----------
    x : ndarray of float64, shape (n,)
        Values of consecutive rows of a lake.
    gone : ndarray of bool, shape (n,), or None
        Rows that do not count.
    first : int
        Number of the first of them in the whole lake.
    edges : ndarray of int64, shape (n_blocks + 1,)
        First row of each block, ascending (`labels.stored_edges`).

    Returns
    -------
    Moments
        Of shape (n_blocks,); blocks without rows in this leaf are empty.
    """
    out = Moments.empty(edges.size - 1)
    if x.size == 0:
        return out
    low = int(np.searchsorted(edges, first, side="right")) - 1
    high = int(np.searchsorted(edges, first + x.size, side="left"))
    for k in range(low, high):
        begin, end = max(int(edges[k]) - first, 0), min(int(edges[k + 1]) - first, x.size)
        values = x[begin:end]
        if gone is not None:
            values = values[~gone[begin:end]]
        if values.size == 0:
            continue
        shift = middle_value(values, None)
        with np.errstate(invalid="ignore", over="ignore"):
            d = values - shift
            n, s1 = np.array([values.size]), np.array([d.sum()])
            if np.isfinite(s1[0]):  # a second look about the mean: no digit is lost for any shift
                shift += float(s1[0] / n[0])
                d = values - shift
                s1 = np.array([d.sum()])
            s2 = np.array([(d * d).sum()])
        for target, value in zip(out, from_sums(n, s1, s2, shift), strict=True):
            target[k] = value[0]
    return out
