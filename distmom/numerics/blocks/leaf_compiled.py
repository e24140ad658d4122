"""Compiled sums of one leaf; `leaf.labelled_moments` has the same bits."""

# mypy: allow-untyped-defs, allow-untyped-calls

from __future__ import annotations

import math

import numpy as np

from distmom.numerics._jit import entry, njit, prefetch
from distmom.numerics.blocks.labels_compiled import run_choice
from distmom.numerics.blocks.leaf import LOST_BITS, SHIFT_PROBES
from distmom.numerics.blocks.moments_compiled import total_row

RUNS_TOGETHER = 4
LINE = 8  # values in a cache line
LEAST_AHEAD = 2048  # values to prefetch: fetching one takes as long as adding hundreds

NO_ROW = -0.0
"""Stands for a row that is gone: a sum with 0.0 never has these bits, and adding them changes no sum."""
NO_ROW_BITS = np.float64(NO_ROW).view(np.int64)


@njit
def differences(x, shift, d):
    """``x - shift`` of each row, never `NO_ROW`."""
    for j in range(x.size):
        d[j] = (x[j] - shift) + 0.0


@njit
def some_differences(x, gone, shift, d):
    """As `differences`; `NO_ROW` where a row is gone, chosen without a branch."""
    for j in range(x.size):
        away = (x[j] - shift) + 0.0
        d[j] = NO_ROW if gone[j] else away


@njit
def gather(x, ahead, run_rows, places, shift, row):
    """Rows of a run less the shift, in the order of the blocks.

    That order defeats the processor's own prefetching, so the values of `x` from place `ahead` on, of a later
    run, are prefetched.
    """
    last = x.size - 1
    whole = row.size - row.size % LINE
    for k in range(0, whole, LINE):
        prefetch(x, min(ahead + k, last))
        for j in range(LINE):
            row[k + j] = run_rows[places[k + j]] - shift
    for k in range(whole, row.size):
        row[k] = run_rows[places[k]] - shift


@njit
def count_missing(row, missing):
    """Count the blocks that get no row."""
    bits = row.view(np.int64)
    for k in range(row.size):
        missing[k] += bits[k] == NO_ROW_BITS


@njit
def add_runs(x, gone, first_row, key, inverse, shift, s1, s2, missing):
    """Add ``x - shift`` and its square to the blocks; return the number of runs met.

    Block k then has ``runs - missing[k]`` rows. Each run is gathered into the order of the blocks first, so
    that the additions are independent lanes over contiguous memory: no reassociation is needed for speed, and
    every processor gives the same bits. Sums of four runs are taken at a time, which saves loads and stores.
    Rows that are gone, or beyond the leaf's edge where a run is cut, are marked before they are gathered.
    """
    n_blocks = s1.size
    d = np.empty(n_blocks)
    rows = np.empty((RUNS_TOGETHER, n_blocks))
    n = x.size
    ahead = max(LEAST_AHEAD, 2 * n_blocks)
    for j in range(0, min(ahead, n), LINE):
        prefetch(x, j)
    i = 0
    run = first_row // n_blocks
    offset = first_row - run * n_blocks
    runs = 0
    held = 0
    while i < n:
        m = min(n_blocks - offset, n - i)
        choice, rotation = run_choice(run, key, n_blocks)
        places = inverse[choice][rotation : rotation + n_blocks]
        row = rows[held]
        if m == n_blocks and gone.size == 0:
            gather(x, i + ahead, x[i : i + m], places, shift, row)
        else:
            if m < n_blocks:
                d[:] = NO_ROW
            mine = d[offset : offset + m]
            if gone.size > 0:
                some_differences(x[i : i + m], gone[i : i + m], shift, mine)
            else:
                differences(x[i : i + m], shift, mine)
            gather(x, i + ahead, d, places, 0.0, row)
            count_missing(row, missing)
        held += 1
        if held == RUNS_TOGETHER:
            add_four(rows, s1, s2)
            held = 0
        i += m
        offset = 0
        run += 1
        runs += 1
    for r in range(held):
        add_one(rows[r], s1, s2)
    return runs


@njit
def add_one(row, s1, s2):
    """Add one difference to each block."""
    for k in range(s1.size):
        d = row[k]
        s1[k] += d
        s2[k] += d * d


@njit
def add_four(rows, s1, s2):
    """Add four differences to each block, one after the other."""
    for k in range(s1.size):
        a = s1[k]
        b = s2[k]
        for r in range(RUNS_TOGETHER):
            d = rows[r, k]
            a += d
            b += d * d
        s1[k] = a
        s2[k] = b


@njit
def finish(runs, shift, count, mean, m2):
    """Turn (missing, s1, s2) into (count, mean, m2) in place; returns whether some block lost its digits."""
    lost = False
    for k in range(count.size):
        c = runs - count[k]
        count[k] = c
        if c == 0:
            mean[k] = 0.0
            m2[k] = 0.0
            continue
        away = mean[k] / float(c)
        q = m2[k] - mean[k] * away
        if q < 0.0:
            q = 0.0
        value = away + shift
        mean[k] = value
        m2[k] = q if math.isfinite(value) else math.nan
        distance = value - shift
        if c > 1 and float(c) * (distance * distance) > LOST_BITS * m2[k]:
            lost = True
    return lost


@entry("=f8[] =f8[] b1[]")
def middle_value(x, rest, gone):
    """Twin of `leaf.middle_value`."""
    n = x.size + rest.size
    probes = np.empty(SHIFT_PROBES)
    found = 0
    for p in range(min(n, SHIFT_PROBES)):
        place = p * n // SHIFT_PROBES if n > SHIFT_PROBES else p
        value = x[place] if place < x.size else rest[place - x.size]
        if math.isfinite(value) and not (gone.size > 0 and gone[place]):
            j = found  # insertion sort: there are only a few
            while j > 0 and probes[j - 1] > value:
                probes[j] = probes[j - 1]
                j -= 1
            probes[j] = value
            found += 1
    if found:
        return probes[(found - 1) // 2] + 0.0
    for i in range(n):
        value = x[i] if i < x.size else rest[i - x.size]
        if math.isfinite(value) and not (gone.size > 0 and gone[i]):
            return value + 0.0
    return 0.0


@entry("=f8[] =f8[] b1[] i8 u8 u2[,] f8 i8[] f8[] f8[]")
def leaf_about(x, rest, gone, first_row, key, inverse, shift, count, mean, m2):
    """Moments of the blocks of a leaf, and last of all its rows; whether some block has lost its digits."""
    k = count.size - 1
    n = x.size
    missing = count[:k]
    s1 = mean[:k]
    s2 = m2[:k]
    missing[:] = 0
    s1[:] = 0.0
    s2[:] = 0.0
    runs = add_runs(x, gone[:n], first_row, key, inverse, shift, s1, s2, missing)
    if rest.size > 0:
        runs += add_runs(rest, gone[n:], first_row + n, key, inverse, shift, s1, s2, missing)
    lost = finish(runs, shift, missing, s1, s2)
    count[k], mean[k], m2[k] = total_row(missing, s1, s2)
    return lost


@entry("=f8[] =f8[] b1[] i8 u8 u2[,] i8[] f8[] f8[]", pays=200e6)
def leaf_amid(x, rest, gone, first_row, key, inverse, count, mean, m2):
    """The same about the leaf's middle value: most leaves need no other shift, nor a second call."""
    shift = middle_value(x, rest, gone)
    return leaf_about(x, rest, gone, first_row, key, inverse, shift, count, mean, m2)
