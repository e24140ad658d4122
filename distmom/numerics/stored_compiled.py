"""Compiled moments of contiguous blocks; the NumPy twins with the same bits are in ``stored.py``."""

# mypy: allow-untyped-defs, allow-untyped-calls

from __future__ import annotations

import math

import numpy as np

from distmom.numerics._jit import njit
from distmom.numerics.leaf import SHIFT_PROBES
from distmom.numerics.leaf_compiled import middle_value
from distmom.numerics.moments_compiled import total_row

LANES = 64
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
def one_block(x, gone, lost_bits):
    """Mean and second moment of values, at least one; about their mean if the first shift lost digits."""
    n = float(x.size)
    shift = middle_value(x, gone, SHIFT_PROBES)
    mean = 0.0
    q = 0.0
    for attempt in range(2):
        s1 = np.zeros(LANES)
        s2 = np.zeros(LANES)
        add_lanes(x, shift, s1, s2)
        sum1 = s1[0]
        sum2 = s2[0]
        for j in range(1, LANES):
            sum1 += s1[j]
            sum2 += s2[j]
        away = sum1 / n
        q = sum2 - sum1 * away
        if q < 0.0:
            q = 0.0
        mean = away + shift
        if not math.isfinite(mean):
            q = math.nan
        distance = mean - shift
        if attempt == 1 or not n * (distance * distance) > lost_bits * q:
            break
        shift = mean
    return mean, q


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
def stored_blocks(x, gone, first, edges, lost_bits, count, mean, m2):
    """Moments of the contiguous blocks of a leaf, and last of all its rows; the outputs are all zero."""
    end = first + x.size
    k = np.searchsorted(edges, first, side="right") - 1
    while k < edges.size - 1 and edges[k] < end:
        begin = max(edges[k] - first, 0)
        stop = min(edges[k + 1] - first, x.size)
        if gone.size == 0:
            count[k] = stop - begin
            if stop > begin:
                mean[k], m2[k] = one_block(x[begin:stop], gone, lost_bits)
        else:
            values = used_values(x[begin:stop], gone[begin:stop])
            count[k] = values.size
            if values.size > 0:
                mean[k], m2[k] = one_block(values, gone[:0], lost_bits)
        k += 1
    n = count.size - 1
    count[n], mean[n], m2[n] = total_row(count[:n], mean[:n], m2[:n])
