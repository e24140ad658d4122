"""Compiled weighted moments of contiguous blocks; the NumPy twins are in ``weighted_stored.py``."""

# mypy: allow-untyped-defs, allow-untyped-calls

from __future__ import annotations

import numpy as np

from distmom.numerics._jit import inline, njit
from distmom.numerics.leaf import SHIFT_PROBES
from distmom.numerics.leaf_compiled import middle_value
from distmom.numerics.stored import LANES
from distmom.numerics.stored_compiled import used_values
from distmom.numerics.weighted_compiled import finish_block, lost_digits, total_weighted_row


@inline
def add_lane(a, value, shift, sums, j):
    """Add one row to a lane."""
    b = a * (value - shift)
    sums[0, j] += a
    sums[1, j] += b
    sums[2, j] += a * a
    sums[3, j] += a * b
    sums[4, j] += b * b


@njit
def one_weighted_block(x, w, gone):
    """Weighted moments of rows, at least one; about their mean if the first shift lost digits."""
    shift = middle_value(x, gone, SHIFT_PROBES)
    s = np.zeros(5)
    whole = x.size - x.size % LANES
    for attempt in range(2):
        sums = np.zeros((5, LANES))
        for i in range(0, whole, LANES):
            values = x[i : i + LANES]
            weights = w[i : i + LANES]
            for j in range(LANES):
                add_lane(weights[j], values[j], shift, sums, j)
        for j in range(x.size - whole):
            add_lane(w[whole + j], x[whole + j], shift, sums, j)
        for i in range(5):
            s[i] = sums[i, 0]
            for j in range(1, LANES):
                s[i] += sums[i, j]
        found = finish_block(x.size, s, shift)
        if attempt == 1 or not lost_digits(x.size, found[2], found[3], found[4], shift):
            break
        shift = found[3]
    return found


@njit
def weighted_stored_blocks(x, w, gone, first, edges, count, weight, mean, weight2, mean2, m2):
    """Moments of the contiguous blocks of a leaf, and last of all its rows; the outputs are all zero."""
    end = first + x.size
    k = np.searchsorted(edges, first, side="right") - 1
    while k < edges.size - 1 and edges[k] < end:
        begin = max(edges[k] - first, 0)
        stop = min(edges[k + 1] - first, x.size)
        values = x[begin:stop]
        weights = w[begin:stop]
        rows = stop - begin
        if gone.size > 0:
            values = used_values(x[begin:stop], gone[begin:stop])
            weights = used_values(w[begin:stop], gone[begin:stop])
            rows = values.size
        count[k] = rows
        if rows > 0:
            weight[k], mean[k], weight2[k], mean2[k], m2[k] = one_weighted_block(values, weights, gone[:0])
        k += 1
    k = count.size - 1
    count[k], weight[k], mean[k], weight2[k], mean2[k], m2[k] = total_weighted_row(
        count[:k], weight[:k], mean[:k], weight2[:k], mean2[:k], m2[:k]
    )
