"""Compiled weighted moments of contiguous blocks; the NumPy twins are in ``weighted_stored.py``."""

# mypy: allow-untyped-defs, allow-untyped-calls

from __future__ import annotations

import numpy as np

from distmom.numerics._jit import inline, njit
from distmom.numerics.blocks.leaf import SHIFT_PROBES
from distmom.numerics.blocks.leaf_compiled import middle_value
from distmom.numerics.blocks.stored import LANES
from distmom.numerics.blocks.stored_compiled import pack
from distmom.numerics.blocks.weighted_moments_compiled import finish_block, lost_digits, total_weighted_row


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
def add_weighted_lanes(x, w, first, shift, sums):
    """Add the masses and products: row i to lane ``first + i`` modulo their number, in order."""
    n = x.size
    head = min(n, (LANES - first) % LANES)
    for i in range(head):
        add_lane(w[i], x[i], shift, sums, first + i)
    whole = n - (n - head) % LANES
    for i in range(head, whole, LANES):
        values = x[i : i + LANES]
        weights = w[i : i + LANES]
        for j in range(LANES):
            add_lane(weights[j], values[j], shift, sums, j)
    for i in range(whole, n):
        add_lane(w[i], x[i], shift, sums, i - whole)


@njit
def one_weighted_block(x, w, rest, w_rest, gone):
    """Weighted moments of rows, at least one; about their mean if the first shift lost digits."""
    n = x.size + rest.size
    shift = middle_value(x, rest, gone, SHIFT_PROBES)
    s = np.zeros(5)
    for attempt in range(2):
        sums = np.zeros((5, LANES))
        add_weighted_lanes(x, w, 0, shift, sums)
        add_weighted_lanes(rest, w_rest, x.size % LANES, shift, sums)
        for i in range(5):
            s[i] = sums[i, 0]
            for j in range(1, LANES):
                s[i] += sums[i, j]
        found = finish_block(n, s, shift)
        if attempt == 1 or not lost_digits(n, found[2], found[3], found[4], shift):
            break
        shift = found[3]
    return found


@njit
def weighted_stored_blocks(x, w, rest, w_rest, gone, first, edges, count, weight, mean, weight2, mean2, m2):
    """Moments of the contiguous blocks of a leaf, and last of all its rows; the outputs are all zero."""
    n = x.size
    size = n + rest.size
    k = np.searchsorted(edges, first, side="right") - 1
    while k < edges.size - 1 and edges[k] < first + size:
        begin = max(edges[k] - first, 0)
        end = min(edges[k + 1] - first, size)
        part = slice(min(begin, n), min(end, n))
        more = slice(max(begin - n, 0), max(end - n, 0))
        rows = end - begin
        if gone.size == 0:
            if rows > 0:
                found = one_weighted_block(x[part], w[part], rest[more], w_rest[more], gone)
                weight[k], mean[k], weight2[k], mean2[k], m2[k] = found
        else:
            used = np.empty((2, rows + 1))  # one place more, for rows that do not count
            hidden = gone[begin:end]
            here = x[part].size
            for i, column, tail in ((0, x, rest), (1, w, w_rest)):
                rows = pack(column[part], hidden[:here], used[i], 0)
                rows = pack(tail[more], hidden[here:], used[i], rows)
            if rows > 0:
                found = one_weighted_block(used[0, :rows], used[1, :rows], used[0, :0], used[1, :0], gone[:0])
                weight[k], mean[k], weight2[k], mean2[k], m2[k] = found
        count[k] = rows
        k += 1
    k = count.size - 1
    count[k], weight[k], mean[k], weight2[k], mean2[k], m2[k] = total_weighted_row(
        count[:k], weight[:k], mean[:k], weight2[:k], mean2[:k], m2[:k]
    )
