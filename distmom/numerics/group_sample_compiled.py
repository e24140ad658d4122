"""Compiled row samples of groups; the NumPy twin with the same sample is in ``group_sample.py``."""

# mypy: allow-untyped-defs, allow-untyped-calls

from __future__ import annotations

import numpy as np

from distmom.numerics._jit import njit
from distmom.numerics.labels_compiled import mix

U = np.uint64


@njit
def halve(keys, values, size):
    """Keep the `size` smallest keys of a full buffer, in front, in any order; return the largest kept.

    Hoare's selection on a copy of the keys finds the bound; keys are distinct but for accidents, and of equal
    ones at the bound the first are kept.
    """
    scratch = keys.copy()
    low = 0
    high = scratch.size - 1
    while low < high:
        pivot = scratch[(low + high) >> 1]
        i = low
        j = high
        while i <= j:
            while scratch[i] < pivot:
                i += 1
            while scratch[j] > pivot:
                j -= 1
            if i <= j:
                held = scratch[i]
                scratch[i] = scratch[j]
                scratch[j] = held
                i += 1
                j -= 1
        if size - 1 <= j:
            high = j
        elif size - 1 >= i:
            low = i
        else:
            break
    bound = scratch[size - 1]
    kept = 0
    for i in range(keys.size):
        if keys[i] <= bound and kept < size:
            keys[kept] = keys[i]
            values[kept] = values[i]
            kept += 1
    return bound


@njit
def offer_rows(key, first_row, codes, x, gone, below, keys, values, fill):
    """Keep rows whose key is below their group's bound; when a group's buffer is full, halve it."""
    some_gone = gone.size > 0
    size = keys.shape[1] // 2
    for i in range(x.size):
        if some_gone and gone[i]:
            continue
        g = codes[i]
        u = float(mix(U(first_row + i) * U(0x9E3779B97F4A7C15) + key) >> U(11)) * 2.0**-53
        if u < below[g]:
            j = fill[g]
            keys[g, j] = u
            values[g, j] = x[i]
            fill[g] = j + 1
            if j + 1 == 2 * size:
                below[g] = halve(keys[g], values[g], size)
                fill[g] = size
