"""Moments of contiguous blocks, for rows that are exchangeable as they are stored."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from distmom.numerics.leaf import LOST_BITS, SHIFT_PROBES, from_sums, middle_value
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
        Of shape (n_blocks,); blocks without rows in this leaf are empty.
    """
    out = Moments.empty(edges.size - 1)
    for k, rows in pieces(x.size, first, edges):
        values = x[rows] if gone is None else x[rows][~gone[rows]]
        if values.size == 0:
            continue
        out.count[k] = values.size
        out.mean[k], out.m2[k] = _one_block(values, compiled)
    return out


def pieces(n_rows: int, first: int, edges: NDArray[np.int64]) -> Iterator[tuple[int, slice]]:
    """The blocks that some of the rows ``first … first + n_rows - 1`` of a lake lie in, and which rows."""
    if n_rows == 0:
        return
    low = int(np.searchsorted(edges, first, side="right")) - 1
    high = int(np.searchsorted(edges, first + n_rows, side="left"))
    for k in range(low, high):
        yield k, slice(max(int(edges[k]) - first, 0), min(int(edges[k + 1]) - first, n_rows))


def _one_block(values: NDArray[np.float64], compiled: bool) -> tuple[float, float]:
    """Mean and second moment of values, at least one; about their mean if the first shift lost digits."""
    if compiled:
        from distmom.numerics.leaf_compiled import one_block

        mean, m2 = one_block(values, SHIFT_PROBES, LANES, LOST_BITS)
        return mean, m2
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
    """NumPy twin of `leaf_compiled.add_lanes`: a sum over the first axis adds row by row."""
    whole = values.size - values.size % LANES
    with np.errstate(invalid="ignore", over="ignore"):
        d = values - shift
        rows = d[:whole].reshape(-1, LANES)
        s1 += rows.sum(axis=0)
        s2 += (rows * rows).sum(axis=0)
        rest = d[whole:]
        s1[: rest.size] += rest
        s2[: rest.size] += rest * rest
