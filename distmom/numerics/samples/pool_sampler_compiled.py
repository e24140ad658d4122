"""Compiled draws of large row samples; the NumPy twins with the same samples are in ``pool_sampler.py``."""

# mypy: allow-untyped-defs, allow-untyped-calls

from __future__ import annotations

import numpy as np

from distmom.numerics._jit import entry
from distmom.numerics.blocks.leaf import LEAF_ROWS
from distmom.numerics.samples.sample_compiled import distinct_rows, row_uniform, spacings, stream_start, take_rows

U = np.uint64


@entry(
    "(u8 u8) (i8 i8 i8 i8) (i8[] b1[]) (f8 f8) (=f8[] =f8[] =f8[] =f8[]) (f8[] f8[] f8[] u8[] i8[]) i8",
    pays=700e6,
    keep_lock=True,
)
def draw_rows(names, sizes, which, bounds, columns, out, at):
    """The sample of one leaf, into the arrays `out` from place `at` on.

    Returns how many rows have keys of at most `below`, and what that is from now on. `bound` is that of the
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


@entry("u8 i8 i8 b1[] f8 f8[] i8[]", pays=500e6)
def hashed_rows(key, leaf, n_rows, gone, below, keys, rows):
    """Rows that count whose hashed key is at most `below`, and these keys: how many they are."""
    start = stream_start(key, 2 * leaf)
    some_gone = gone.size > 0
    found = 0
    for row in range(n_rows):
        at = row_uniform(start, row)  # of rows that are gone, too: their marks mislead, while few are so low
        if at <= below and not (some_gone and gone[row]):
            keys[found] = at
            rows[found] = row
            found += 1
    return found
