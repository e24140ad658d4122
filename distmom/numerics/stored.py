"""Moments of contiguous blocks, for rows that are exchangeable as they are stored."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from distmom.numerics.leaf import LOST_BITS, from_sums, middle_value, with_total
from distmom.numerics.moments import Moments

LANES = 64


def stored_moments(
    x: NDArray[np.float64],
    gone: NDArray[np.bool_] | None,
    first: int,
    edges: NDArray[np.int64],
    *,
    compiled: bool = False,
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
    compiled : bool
        Use the compiled twin (same bits).

    Returns
    -------
    Moments
        Of shape (n_blocks + 1,): the blocks, empty where they have no rows here, and last all rows together.
    """
    if compiled:
        from distmom.numerics.stored_compiled import stored_blocks

        both = Moments.empty(edges.size)
        none = gone if gone is not None else np.empty(0, np.bool_)
        stored_blocks(x, none, first, edges, LOST_BITS, *both)
        return both
    out = Moments.empty(edges.size - 1)
    low = int(np.searchsorted(edges, first, side="right")) - 1
    high = int(np.searchsorted(edges, first + x.size, side="left"))
    for k in range(low, high):
        begin, end = max(int(edges[k]) - first, 0), min(int(edges[k + 1]) - first, x.size)
        values = x[begin:end]
        if gone is not None:
            values = values[~gone[begin:end]]
        if values.size == 0:
            continue
        out.count[k] = values.size
        out.mean[k], out.m2[k] = _one_block(values)
    return with_total(out)


def _one_block(values: NDArray[np.float64]) -> tuple[float, float]:
    """Mean and second moment of values, at least one; about their mean if the first shift lost digits."""
    shift = middle_value(values, None)
    block = _about(values, shift)
    with np.errstate(invalid="ignore", over="ignore"):
        lost = values.size * np.square(block.mean[0] - shift) > LOST_BITS * block.m2[0]
    if lost:
        block = _about(values, float(block.mean[0]))
    return float(block.mean[0]), float(block.m2[0])


def _about(values: NDArray[np.float64], shift: float) -> Moments:
    """Moments, of shape (1,), from sums about a shift."""
    s1, s2 = np.zeros(LANES), np.zeros(LANES)
    _add_lanes(values, shift, s1, s2)
    with np.errstate(invalid="ignore", over="ignore"):
        sum1, sum2 = np.cumsum(s1)[-1:], np.cumsum(s2)[-1:]
        return from_sums(np.array([values.size]), sum1, sum2, shift)


def _add_lanes(
    values: NDArray[np.float64], shift: float, s1: NDArray[np.float64], s2: NDArray[np.float64]
) -> None:
    """NumPy twin of `stored_compiled.add_lanes`: a sum over the first axis adds row by row."""
    whole = values.size - values.size % LANES
    with np.errstate(invalid="ignore", over="ignore"):
        d = values - shift
        rows = d[:whole].reshape(-1, LANES)
        s1 += rows.sum(axis=0)
        s2 += (rows * rows).sum(axis=0)
        rest = d[whole:]
        s1[: rest.size] += rest
        s2[: rest.size] += rest * rest
