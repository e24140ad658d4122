"""Compiled draws of large row samples; the NumPy twins with the same samples are in ``pool_sampler.py``."""

# mypy: allow-untyped-defs, allow-untyped-calls

from __future__ import annotations

import numpy as np

from distmom.numerics._jit import entry, njit
from distmom.numerics.blocks.labels_compiled import mix
from distmom.numerics.blocks.leaf import LEAF_ROWS
from distmom.numerics.samples.sample_compiled import distinct_rows, spacings, stream_start, take_rows

U = np.uint64
CHUNK = 2_048  # rows hashed at a time: they stay in the nearest cache


@entry(
    "(u8 u8) (i8 i8 i8 i8) (i8[] b1[]) (f8 f8) (=f8[] =f8[] =f8[] =f8[]) (f8[] f8[] f8[] u8[] i8[]) i8",
    pays=700e6,
    keep_lock=True,
)
def draw_rows(names, sizes, which, bounds, columns, out, at):
    """The sample of one leaf, into the arrays `out` from place `at` on.

    Returns how many rows have keys of at most `below`, and its new value. `bound` is that of the
    exponential keys of which the uniform ones are made; `used` and `gone` are those of `distinct_rows`.
    """
    key, file = names
    leaf, n_used, pool, quota = sizes
    used, gone = which
    bound, below = bounds
    x, rest, w, w_rest = columns
    n = spacings(key, 2 * leaf, n_used, bound, out[0][at : at + quota])
    keys = out[0][at : at + n]
    for i in range(n):
        more = 1.0
        for order in range(4, 1, -1):
            more = 1.0 - more * keys[i] / order
        keys[i] = more * keys[i]
    if n == quota:
        below = min(below, keys[n - 1])
    few = n
    while few > 0 and keys[few - 1] > below:
        few -= 1
    rows = out[4][at : at + few]
    n_rows = x.size + rest.size
    distinct_rows(key, 2 * leaf + 1, pool, used, gone, np.zeros(n_rows // 64 + 1, np.uint64), rows)
    take_rows(x, rest, rows, out[1][at : at + few])
    if w.size + w_rest.size > 0:
        take_rows(w, w_rest, rows, out[2][at : at + few])
    out[3][at : at + few] = file
    for i in range(few):
        rows[i] += leaf * LEAF_ROWS
    return few, below


@njit
def last_word(below):
    """The largest of 53 bits whose uniform number, as of `sample.uniforms`, is at most `below`; -1: none."""
    low = np.int64(-1)
    high = np.int64(1) << 53
    while high - low > 1:
        middle = (low + high) // 2
        if (float(middle) + 0.5) * 2.0**-53 <= below:
            low = middle
        else:
            high = middle
    return low


@entry("u8 i8 i8 b1[] f8 f8[] i8[]", pays=500e6)
def hashed_rows(key, leaf, n_rows, gone, below, keys, rows):
    """Rows that count and whose hashed key is at most `below`, and these keys; returns their number.

    Most rows are rejected, in loops without branches.
    """
    last = last_word(below)
    if last < 0:
        return 0
    start = stream_start(key, 2 * leaf)
    some_gone = gone.size > 0
    words = np.empty(CHUNK, np.uint64)
    near = np.empty(CHUNK + 1, np.int64)
    found = 0
    for first in range(0, n_rows, CHUNK):
        n = min(CHUNK, n_rows - first)
        at = start + U(first) * U(0x9E3779B97F4A7C15)
        for j in range(n):
            words[j] = mix(at + U(j) * U(0x9E3779B97F4A7C15)) >> U(11)
        n_near = np.int64(0)
        for j in range(n):
            near[n_near] = j
            n_near += np.int64(words[j] <= U(last))
        for i in range(n_near):
            row = first + near[i]
            if some_gone and gone[row]:
                continue
            keys[found] = (float(words[near[i]]) + 0.5) * 2.0**-53
            rows[found] = row
            found += 1
    return found
