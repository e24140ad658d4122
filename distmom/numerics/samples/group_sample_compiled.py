"""Compiled row samples of groups; the NumPy twin with the same sample is in ``group_sample.py``."""

# mypy: allow-untyped-defs, allow-untyped-calls

from __future__ import annotations

import math

import numpy as np

from distmom.numerics._jit import entry, inline, njit
from distmom.numerics.blocks.labels_compiled import mix

U = np.uint64
CHUNK = 2_048  # rows hashed at a time: they stay in the nearest cache
MOST_HALVINGS = 64
FEW_GROUPS = 16  # with this many rows of a batch per group, groups are checked once more for each batch


@inline
def _word(row, key):
    return mix(U(row) * U(0x9E3779B97F4A7C15) + key)


@njit
def thin(keys, values, size, bound):
    """Drop the larger keys of a full buffer, but never one of the `size` smallest.

    Returns how many are left, in front, and a bound above all of them. Keys are uniform below the
    old bound, so the first guess is nearly always right: no need to select the `size` smallest exactly.
    """
    full = keys.size
    most = full - max(1, (full - size) // 2)
    low = 0.0
    high = bound
    pivot = high * (0.8 * size + 0.2 * full) / full
    for _ in range(MOST_HALVINGS):
        count = np.int64(0)
        for i in range(full):
            count += np.int64(keys[i] < pivot)
        if count < size:
            low = pivot
        elif count > most:
            high = pivot
        else:
            break
        pivot = 0.5 * (low + high)
    else:  # too many equal keys: some of them must be dropped
        pivot = high
    left = np.int64(0)
    for i in range(full):
        u = keys[i]
        v = values[i]
        keys[left] = u
        values[left] = v
        left += np.int64(u < pivot and left < most)
    return left, pivot


@entry("u8 i8 i8[] =f8[] b1[] i8 u8[] f8[,] f8[,] i8[] u8 u8[] i8[]")
def offer_rows(key, first_row, codes, x, gone, size, last, keys, values, fill, bound, low_words, low_rows):
    """Keep rows whose hash is at most the last one wanted for their group; thin a group's full buffer.

    Most rows are rejected, in loops without branches. Rows whose hash is below `bound` are listed; returns
    how many they are.
    """
    n_low = np.int64(0)
    apart = bound > U(0) and FEW_GROUPS * last.size > x.size
    near_last = last if apart or bound == U(0) else np.maximum(last, bound - U(1))
    some_gone = gone.size > 0
    words = np.empty(CHUNK, np.uint64)
    near = np.empty(CHUNK + 1, np.int64)
    for start in range(0, x.size, CHUNK):
        n = min(CHUNK, x.size - start)
        for j in range(n):
            words[j] = _word(first_row + start + j, key)
        n_near = np.int64(0)
        if apart:
            for j in range(n):
                near[n_near] = j
                n_near += np.int64((words[j] <= last[codes[start + j]]) | (words[j] < bound))
        else:
            for j in range(n):
                near[n_near] = j
                n_near += np.int64(
                    words[j] <= near_last[codes[start + j]]
                )  # of a row that is gone it may be -1
        for c in range(n_near):
            j = near[c]
            i = start + j
            if some_gone and gone[i]:
                continue
            if words[j] < bound:
                low_words[n_low] = words[j]
                low_rows[n_low] = i
                n_low += 1
            g = U(codes[i])
            if words[j] > last[g]:  # by now
                continue
            place = fill[g]
            keys[g, place] = float(words[j] >> U(11)) * 2.0**-53
            values[g, place] = x[i]
            fill[g] = place + 1
            if place + 1 == keys.shape[1]:
                most = (float(last[g] >> U(11)) + 1.0) * 2.0**-53
                fill[g], most = thin(keys[g], values[g], size, most)
                last[g] = (U(math.ceil(most * 2.0**53)) << U(11)) - U(1)
    return n_low
