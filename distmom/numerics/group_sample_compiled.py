"""Compiled row samples of groups; the NumPy twin with the same sample is in ``group_sample.py``."""

# mypy: allow-untyped-defs, allow-untyped-calls

from __future__ import annotations

import numpy as np

from distmom.numerics._jit import inline, njit

U = np.uint64


@inline
def _mix(z):
    z = (z ^ (z >> U(30))) * U(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> U(27))) * U(0x94D049BB133111EB)
    return z ^ (z >> U(31))


@njit
def offer_rows(key, first_row, codes, x, gone, below, keys, values, fill):
    """Keep rows whose key is below their group's bound; when a group's buffer is full, halve it."""
    some_gone = gone.size > 0
    size = keys.shape[1] // 2
    for i in range(x.size):
        if some_gone and gone[i]:
            continue
        g = codes[i]
        u = float(_mix(U(first_row + i) * U(0x9E3779B97F4A7C15) + ~key) >> U(11)) * 2.0**-53
        if u < below[g]:
            j = fill[g]
            keys[g, j] = u
            values[g, j] = x[i]
            fill[g] = j + 1
            if j + 1 == 2 * size:
                order = np.argsort(keys[g], kind="mergesort")[:size]
                keys[g, :size] = keys[g][order]
                values[g, :size] = values[g][order]
                fill[g] = size
                below[g] = keys[g, size - 1]
