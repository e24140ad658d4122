"""Compiled row samples; the NumPy twins with the same samples are in ``sample.py``."""

# mypy: allow-untyped-defs, allow-untyped-calls

from __future__ import annotations

import math

import numpy as np

from distmom.numerics._jit import entry, inline, njit
from distmom.numerics.blocks.labels_compiled import mix
from distmom.numerics.random.counts_compiled import log

U = np.uint64


@inline
def row_uniform(start, index):
    """Twin of `sample.uniforms`, of one place."""
    word = mix(start + U(index) * U(0x9E3779B97F4A7C15))
    return (float(word >> U(11)) + 0.5) * 2.0**-53


@inline
def stream_start(key, stream):
    """The start of the words of a stream."""
    return mix(U(stream) * U(0x9E3779B97F4A7C15) + key)


@njit
def spacings(key, stream, n_used, below, keys):
    """Smallest keys of n_used rows, ascending, into `keys`; returns how many are at most the bound."""
    start = stream_start(key, stream)
    at = 0.0
    for j in range(keys.size):
        at += -log(row_uniform(start, j)) / float(n_used - j)
        if at > below:
            return j
        keys[j] = at
    return keys.size


@njit
def distinct_rows(key, stream, pool, used, gone, seen, rows):
    """Distinct rows that count, in random order, into `rows`.

    `used` lists the rows to draw among (size 0: all of the pool), `gone` marks rows to reject (size 0: none),
    `seen` is one bit for every row, all zero.
    """
    start = stream_start(key, stream)
    some_gone = gone.size > 0
    some_used = used.size > 0
    found = 0
    index = 0
    while found < rows.size:
        row = np.int64(row_uniform(start, index) * float(pool))
        index += 1
        if some_used:
            row = used[row]
        elif some_gone and gone[row]:
            continue
        word = row >> 6
        bit = U(1) << U(row & 63)
        if seen[word] & bit:
            continue
        seen[word] |= bit
        rows[found] = row
        found += 1


@njit
def take_rows(x, rest, rows, out):
    """Values of some rows of a leaf that comes in two arrays; no call for each row, see `_jit.inline`."""
    for i in range(rows.size):
        row = rows[i]
        out[i] = x[row] if row < x.size else rest[row - x.size]


@njit
def merge_line(keys_a, values_a, keys_b, values_b, keys, values):
    """Merge two ascending lists; the output may be shorter, or longer: then padded. Ties: the first list."""
    a = 0
    b = 0
    for i in range(keys.size):
        if a < keys_a.size and (b == keys_b.size or keys_a[a] <= keys_b[b]):
            keys[i] = keys_a[a]
            values[i] = values_a[a]
            a += 1
        elif b < keys_b.size:
            keys[i] = keys_b[b]
            values[i] = values_b[b]
            b += 1
        else:
            keys[i] = math.inf
            values[i] = math.nan


@entry("f8[,] f8[,] f8[,] f8[,] f8[,] f8[,]", pays=10e6)
def merge_samples(keys_a, values_a, keys_b, values_b, keys, values):
    """Merge the samples of all groups."""
    for g in range(keys.shape[0]):
        merge_line(keys_a[g], values_a[g], keys_b[g], values_b[g], keys[g], values[g])


@njit
def insert_rows(key, stream, x, rest, gone, keys, values):
    """Put a leaf's rows into the sample one by one, each with a key of its own: for few rows."""
    start = stream_start(key, stream)
    last = keys.size - 1
    for row in range(x.size + rest.size):
        if gone.size > 0 and gone[row]:
            continue
        fresh = -log(row_uniform(start, row))
        if not fresh < keys[last]:
            continue
        i = last
        while i > 0 and keys[i - 1] > fresh:
            keys[i] = keys[i - 1]
            values[i] = values[i - 1]
            i -= 1
        keys[i] = fresh
        values[i] = x[row] if row < x.size else rest[row - x.size]


@entry("u8 i8 =f8[] =f8[] b1[] f8[] f8[]", pays=1_500e6, keep_lock=True)
def offer_leaf(key, leaf, x, rest, gone, keys, values):
    """Merge the sample of one leaf into `keys` and `values`; `gone` of size 0 means that all rows count."""
    n = x.size + rest.size
    n_used = n
    for i in range(gone.size):
        n_used -= gone[i]
    if n_used <= keys.size:
        insert_rows(key, 2 * leaf, x, rest, gone, keys, values)
        return
    fresh = np.empty(keys.size)
    n_fresh = spacings(key, 2 * leaf, n_used, keys[keys.size - 1], fresh)
    if n_fresh == 0:
        return
    pool = n
    used = np.empty(0, np.int64)
    if 2 * n_used < n:  # too many rejections: draw among the used rows instead
        used = np.empty(n_used + 1, np.int64)
        pool = 0
        for row in range(n):  # without a branch, which a filter's marks would mispredict
            used[pool] = row
            pool += not gone[row]
    rows = np.empty(n_fresh, np.int64)
    distinct_rows(key, 2 * leaf + 1, pool, used, gone, np.zeros(n // 64 + 1, np.uint64), rows)
    drawn = np.empty(n_fresh)
    take_rows(x, rest, rows, drawn)
    old_keys = keys.copy()
    old_values = values.copy()
    merge_line(old_keys, old_values, fresh[:n_fresh], drawn, keys, values)
