"""Compiled moments of contiguous blocks; the NumPy twins with the same bits are in ``stored.py``."""

# mypy: allow-untyped-defs, allow-untyped-calls

from __future__ import annotations

import math

import numpy as np

from distmom.numerics._jit import entry, inline, njit
from distmom.numerics.blocks.leaf_compiled import middle_value
from distmom.numerics.blocks.moments_compiled import total_row
from distmom.numerics.blocks.stored import LANES
from distmom.numerics.blocks.weighted_moments_compiled import finish_block, lost_digits, total_weighted_row

ROWS_TOGETHER = 4


@njit
def add_lanes(x, lane, shift, s1, s2):
    """Add ``x - shift`` and its square to the lanes in turn, the first value to `lane`.

    Four values of a lane are added at a time, which saves loads and stores of the sums.
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
    shift = middle_value(x, rest, gone)
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
    """Copy the values that count to `out`, from place n on; returns the place after them."""
    for i in range(x.size):
        out[n] = x[i]
        n += not gone[i]
    return n


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
    shift = middle_value(x, rest, gone)
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
def packed(x, rest, gone, out):
    """Copy the values that count to `out`, which has one place more than needed; returns their number."""
    n = x.size
    return pack(rest, gone[n:], out, pack(x, gone[:n], out, 0))


@entry(
    "=f8[] none =f8[] none b1[] i8 =i8[] (i8[] f8[] f8[])",
    "=f8[] =f8[] =f8[] =f8[] b1[] i8 =i8[] (i8[] f8[] f8[] f8[] f8[] f8[])",
    pays=100e6,
)
def stored_blocks(x, w, rest, w_rest, gone, first, edges, out):
    """Moments of the contiguous blocks of a leaf, and last of all its rows, into `out`, which is all zero.

    Without weights `w` and `w_rest` are None, and `out` has three arrays.
    """
    n = x.size
    size = n + rest.size
    k = np.searchsorted(edges, first, side="right") - 1
    while k < edges.size - 1 and edges[k] < first + size:
        begin = max(edges[k] - first, 0)
        end = min(edges[k + 1] - first, size)
        part = slice(min(begin, n), min(end, n))
        more = slice(max(begin - n, 0), max(end - n, 0))
        rows = end - begin
        hidden = gone[begin:end]
        if w is None:
            if gone.size > 0:
                used = np.empty(rows + 1)
                rows = packed(x[part], rest[more], hidden, used)
                if rows > 0:
                    out[1][k], out[2][k] = one_block(used[:rows], used[:0], gone[:0])
            elif rows > 0:
                out[1][k], out[2][k] = one_block(x[part], rest[more], gone)
        else:
            found = (0.0, 0.0, 0.0, 0.0, 0.0)
            if gone.size > 0:
                both = np.empty((2, rows + 1))
                packed(w[part], w_rest[more], hidden, both[1])
                rows = packed(x[part], rest[more], hidden, both[0])
                if rows > 0:
                    a, b = both[0], both[1]
                    found = one_weighted_block(a[:rows], b[:rows], a[:0], b[:0], gone[:0])
            elif rows > 0:
                found = one_weighted_block(x[part], w[part], rest[more], w_rest[more], gone)
            out[1][k], out[2][k], out[3][k], out[4][k], out[5][k] = found
        out[0][k] = rows
        k += 1
    k = out[0].size - 1
    if w is None:
        out[0][k], out[1][k], out[2][k] = total_row(out[0][:k], out[1][:k], out[2][:k])
    else:
        out[0][k], out[1][k], out[2][k], out[3][k], out[4][k], out[5][k] = total_weighted_row(
            out[0][:k], out[1][:k], out[2][:k], out[3][:k], out[4][:k], out[5][:k]
        )
