"""Compiled sums of one leaf; the NumPy twins with the same bits are in ``leaf.py``."""

from __future__ import annotations

import numpy as np

from distmom.numerics._jit import inline, njit

U = np.uint64
_LAST = U(15)  # PERMUTATIONS - 1


@inline
def _mix(z):  # type: ignore[no-untyped-def]
    z = (z ^ (z >> U(30))) * U(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> U(27))) * U(0x94D049BB133111EB)
    return z ^ (z >> U(31))


@njit
def add_runs(x, first_row, key, inverse, shift, s1, s2, missing):  # type: ignore[no-untyped-def]
    """Add ``x - shift`` and its square to the blocks; return the number of runs touched.

    Block k then has ``runs - missing[k]`` rows. The inner loop gathers one row for each block, so that the
    additions are independent lanes: no reassociation is needed for speed, and every processor gives the same
    bits.
    """
    k_blocks = s1.size
    n = x.size
    i = 0
    run = first_row // k_blocks
    offset = first_row - run * k_blocks
    runs = 0
    while i < n:
        z = _mix(U(run) * U(0x9E3779B97F4A7C15) + key)
        places = inverse[np.int64(z & _LAST)]
        rotation = np.int64(((z >> U(32)) * U(k_blocks)) >> U(32))
        m = min(k_blocks - offset, n - i)
        runs += 1
        if m == k_blocks:
            rows = x[i : i + k_blocks]
            for k in range(k_blocks):
                d = rows[places[rotation + k]] - shift
                s1[k] += d
                s2[k] += d * d
        else:
            for k in range(k_blocks):
                p = np.int64(places[rotation + k]) - offset
                if p < 0 or p >= m:
                    missing[k] += 1
                else:
                    d = x[i + p] - shift
                    s1[k] += d
                    s2[k] += d * d
        i += m
        offset = 0
        run += 1
    return runs
