"""Compiled row samples of a leaf; the NumPy twin with the same sample is in ``sample.py``."""

# mypy: allow-untyped-defs, allow-untyped-calls

from __future__ import annotations

import numpy as np

from distmom.numerics._jit import inline, njit
from distmom.numerics.labels_compiled import mix
from distmom.numerics.random_counts_compiled import log

U = np.uint64


@inline
def _uniform(start, index):
    word = mix(start + U(index) * U(0x9E3779B97F4A7C15))
    return (float(word >> U(11)) + 0.5) * 2.0**-53


@inline
def _start(key, stream):
    return mix(U(stream) * U(0x9E3779B97F4A7C15) + key)


@njit
def row_keys(key, stream, rows, keys):
    """Independent exponential keys of the given rows of a leaf, into `keys`."""
    start = _start(key, stream)
    for i in range(rows.size):
        keys[i] = -log(_uniform(start, rows[i]))


@njit
def spacings(key, stream, n_used, below, keys):
    """Smallest keys of n_used rows, ascending, into `keys`; how many are not above the bound."""
    start = _start(key, stream)
    at = 0.0
    for j in range(keys.size):
        at += -log(_uniform(start, j)) / float(n_used - j)
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
    start = _start(key, stream)
    some_gone = gone.size > 0
    some_used = used.size > 0
    found = 0
    index = 0
    while found < rows.size:
        row = np.int64(_uniform(start, index) * float(pool))
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
def merge_samples(left_keys, left_values, right_keys, right_values, keys, values):
    """The smallest keys of two lists for each group, all ascending, into (keys, values)."""
    for g in range(keys.shape[0]):
        i = 0
        j = 0
        for place in range(keys.shape[1]):
            if j == right_keys.shape[1] or (i < left_keys.shape[1] and left_keys[g, i] <= right_keys[g, j]):
                keys[g, place] = left_keys[g, i]
                values[g, place] = left_values[g, i]
                i += 1
            else:
                keys[g, place] = right_keys[g, j]
                values[g, place] = right_values[g, j]
                j += 1
