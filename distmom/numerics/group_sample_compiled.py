"""Compiled row samples of groups; the NumPy twin with the same sample is in ``group_sample.py``."""

# mypy: allow-untyped-defs, allow-untyped-calls

from __future__ import annotations

import numpy as np

from distmom.numerics._jit import inline, njit
from distmom.numerics.labels_compiled import mix

U = np.uint64
CHUNK = 2_048  # rows whose hashes are held at a time: they stay in the nearest cache
MOST_HALVINGS = 64


@inline
def _word(row, key):
    return mix(U(row) * U(0x9E3779B97F4A7C15) + key)


@njit
def thin(kept, size, bound):
    """Drop the larger keys of a full buffer, but never one of the `size` smallest.

    Returns how many are left, in front, and the bound that all of them are below. Keys are uniform below the
    old bound, so the first guess is nearly always right: no need to select the `size` smallest exactly.
    """
    full = kept.shape[0]
    most = full - max(1, (full - size) // 2)
    low = 0.0
    high = min(bound, 1.0)
    pivot = high * (0.8 * size + 0.2 * full) / full
    for _ in range(MOST_HALVINGS):
        count = np.int64(0)
        for i in range(full):
            count += np.int64(kept[i, 0] < pivot)
        if count < size:
            low = pivot
        elif count > most:
            high = pivot
        else:
            break
        pivot = 0.5 * (low + high)
    else:  # so many equal keys: some of them have to go
        pivot = high
    left = np.int64(0)
    for i in range(full):
        u = kept[i, 0]
        v = kept[i, 1]
        kept[left, 0] = u
        kept[left, 1] = v
        left += np.int64(u < pivot and left < most)
    return left, pivot


@njit
def offer_rows(key, first_row, codes, x, gone, size, below, reach, kept, fill):
    """Keep rows whose key is below their group's bound; when a group's buffer is full, thin it.

    `reach` is the largest upper half of a hash that may be below the bound: most rows are turned away by it,
    in loops without branches.
    """
    some_gone = gone.size > 0
    upper = np.empty(CHUNK, np.uint32)
    near = np.empty(CHUNK + 1, np.int64)
    for start in range(0, x.size, CHUNK):
        n = min(CHUNK, x.size - start)
        for j in range(n):
            upper[j] = np.uint32(_word(first_row + start + j, key) >> U(32))
        n_near = np.int64(0)
        for j in range(n):
            near[n_near] = start + j
            n_near += np.int64(upper[j] <= reach[codes[start + j]])  # -1 for rows that are gone: any bound
        for c in range(n_near):
            i = near[c]
            if some_gone and gone[i]:
                continue
            g = U(codes[i])
            u = float(_word(first_row + i, key) >> U(11)) * 2.0**-53
            if u < below[g]:
                j = fill[g]
                kept[g, j, 0] = u
                kept[g, j, 1] = x[i]
                fill[g] = j + 1
                if j + 1 == kept.shape[1]:
                    fill[g], below[g] = thin(kept[g], size, below[g])
                    reach[g] = np.uint32(below[g] * 2.0**32)
