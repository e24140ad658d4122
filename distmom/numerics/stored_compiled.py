"""Compiled moments of contiguous blocks; the NumPy twins with the same bits are in ``stored.py``."""

# mypy: allow-untyped-defs, allow-untyped-calls

from __future__ import annotations

import math

import numpy as np

from distmom.numerics._jit import njit
from distmom.numerics.leaf import SHIFT_PROBES
from distmom.numerics.leaf_compiled import middle_value
from distmom.numerics.moments_compiled import total_row
from distmom.numerics.stored import LANES

ROWS_TOGETHER = 4


@njit
def add_lanes(x, shift, s1, s2):
    """Add ``x - shift`` and its square: value i to lane i modulo the number of lanes, in order.

    Four values of a lane are taken at a time, which saves loads and stores of the sums.
    """
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
    for i in range(whole, x.size):
        d = x[i] - shift
        s1[(i - whole) % LANES] += d
        s2[(i - whole) % LANES] += d * d


@njit
def one_block(x, gone):
    """Mean and second moment of values, at least one."""
    s1 = np.zeros(LANES)
    s2 = np.zeros(LANES)
    shift = middle_value(x, gone, SHIFT_PROBES)
    add_lanes(x, shift, s1, s2)
    sum1 = s1[0]
    sum2 = s2[0]
    for j in range(1, LANES):
        sum1 += s1[j]
        sum2 += s2[j]
    away = sum1 / float(x.size)
    mean = away + shift
    if not math.isfinite(mean):
        return mean, math.nan
    q = sum2 - sum1 * away
    return mean, 0.0 if q < 0.0 else q


@njit
def used_values(x, gone):
    """A copy of the values that count."""
    out = np.empty(x.size)
    n = 0
    for i in range(x.size):
        out[n] = x[i]
        n += not gone[i]
    return out[:n]


@njit
def stored_blocks(x, gone, first, edges, count, mean, m2):
    """Moments of the contiguous blocks of a leaf, and last of all its rows; the outputs are all zero."""
    end = first + x.size
    k = np.searchsorted(edges, first, side="right") - 1
    while k < edges.size - 1 and edges[k] < end:
        begin = max(edges[k] - first, 0)
        stop = min(edges[k + 1] - first, x.size)
        if gone.size == 0:
            count[k] = stop - begin
            if stop > begin:
                mean[k], m2[k] = one_block(x[begin:stop], gone)
        else:
            values = used_values(x[begin:stop], gone[begin:stop])
            count[k] = values.size
            if values.size > 0:
                mean[k], m2[k] = one_block(values, gone[:0])
        k += 1
    n = count.size - 1
    count[n], mean[n], m2[n] = total_row(count[:n], mean[:n], m2[:n])
