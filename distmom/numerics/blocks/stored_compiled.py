"""Compiled moments of contiguous blocks; the NumPy twins with the same bits are in ``stored.py``."""

# mypy: allow-untyped-defs, allow-untyped-calls

from __future__ import annotations

import math

import numpy as np

from distmom.numerics._jit import njit
from distmom.numerics.blocks.leaf import SHIFT_PROBES
from distmom.numerics.blocks.leaf_compiled import middle_value
from distmom.numerics.blocks.moments_compiled import total_row
from distmom.numerics.blocks.stored import LANES

ROWS_TOGETHER = 4


@njit
def add_lanes(x, lane, shift, s1, s2):
    """Add ``x - shift`` and its square to the lanes in turn, the first value to `lane`.

    Four values of a lane are taken at a time, which saves loads and stores of the sums.
    """
    begin = min(x.size, (LANES - lane) % LANES)
    add_one_by_one(x[:begin], lane, shift, s1, s2)
    x = x[begin:]
    step = LANES * ROWS_TOGETHER
    whole = x.size - x.size % step
    for i in range(0, whole, step):
        for j in range(LANES):
            a = s1[j]
            b = s2[j]
            for t in range(ROWS_TOGETHER):
                d = x[i + t * LANES + j] - shift
                a += d
                b += d * d
            s1[j] = a
            s2[j] = b
    add_one_by_one(x[whole:], 0, shift, s1, s2)


@njit
def add_one_by_one(x, lane, shift, s1, s2):
    """The same for few values."""
    for i in range(x.size):
        d = x[i] - shift
        j = (lane + i) % LANES
        s1[j] += d
        s2[j] += d * d


@njit
def one_block(x, rest, gone):
    """Mean and second moment of values, at least one."""
    s1 = np.zeros(LANES)
    s2 = np.zeros(LANES)
    shift = middle_value(x, rest, gone, SHIFT_PROBES)
    add_lanes(x, 0, shift, s1, s2)
    add_lanes(rest, x.size % LANES, shift, s1, s2)
    sum1 = s1[0]
    sum2 = s2[0]
    for j in range(1, LANES):
        sum1 += s1[j]
        sum2 += s2[j]
    away = sum1 / float(x.size + rest.size)
    mean = away + shift
    if not math.isfinite(mean):
        return mean, math.nan
    q = sum2 - sum1 * away
    return mean, 0.0 if q < 0.0 else q


@njit
def pack(x, gone, out, n):
    """Copy the values that count to `out`, from place n on; the place after them."""
    for i in range(x.size):
        out[n] = x[i]
        n += not gone[i]
    return n


@njit
def stored_blocks(x, rest, gone, first, edges, count, mean, m2):
    """Moments of the contiguous blocks of a leaf, and last of all its rows; the outputs are all zero."""
    n = x.size
    size = n + rest.size
    k = np.searchsorted(edges, first, side="right") - 1
    while k < edges.size - 1 and edges[k] < first + size:
        begin = max(edges[k] - first, 0)
        end = min(edges[k + 1] - first, size)
        part = x[min(begin, n) : min(end, n)]
        more = rest[max(begin - n, 0) : max(end - n, 0)]
        if gone.size == 0:
            count[k] = end - begin
            if end > begin:
                mean[k], m2[k] = one_block(part, more, gone)
        else:
            used = np.empty(end - begin + 1)  # one place more, for values that do not count
            hidden = gone[begin:end]
            n_used = pack(part, hidden[: part.size], used, 0)
            n_used = pack(more, hidden[part.size :], used, n_used)
            count[k] = n_used
            if n_used > 0:
                mean[k], m2[k] = one_block(used[:n_used], used[:0], gone[:0])
        k += 1
    last = count.size - 1
    count[last], mean[last], m2[last] = total_row(count[:last], mean[:last], m2[:last])
