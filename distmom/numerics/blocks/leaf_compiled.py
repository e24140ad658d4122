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
NAN = 0x7FF8 << 48  # the bits of NaN
MARK = NAN + 1  # those of another NaN, in place of a row that is gone
LEAST_AHEAD = 2048  # values to prefetch: fetching one takes as long as adding hundreds


@njit
def add_part(x, gone, first, run, key, forward, shift, s1, s2, missing):
    """Add some rows of one run from its place `first` on, one by one; not a run counted by `missing`."""
    k_blocks = s1.size
    choice, rotation = run_choice(run, key, k_blocks)
    blocks = forward[choice]
    for j in range(x.size):
        if gone.size > 0 and gone[j]:
            continue
        block = np.int64(blocks[first + j]) - rotation
        block = block + k_blocks if block < 0 else block
        d = x[j] - shift
        s1[block] += d
        s2[block] += d * d
        missing[block] -= 1


@njit
def gather(x, start, run, key, inverse, rows, ahead):
    """The whole run from place `start` on, in order of its blocks.

    That order defeats the processor's own prefetching, so values `ahead` places farther on are prefetched.
    """
    k_blocks = rows.size
    choice, rotation = run_choice(run, key, k_blocks)
    places = inverse[choice][rotation : rotation + k_blocks]
    last = x.size - 1
    run_rows = x[start : start + k_blocks]
    whole = k_blocks - k_blocks % LINE
    for k in range(0, whole, LINE):
        prefetch(x, min(start + ahead + k, last))
        for j in range(LINE):
            rows[k + j] = run_rows[places[k + j]]
    for k in range(whole, k_blocks):
        rows[k] = run_rows[places[k]]


@njit
def gather_marked(x, start, gone, run, key, inverse, values, rows):
    """The same with a mark in place of rows that are gone; `values` is room for a run.

    Rows are marked where they lie: to look for the marks of a random row takes as long as for its value.
    """
    k_blocks = rows.size
    choice, rotation = run_choice(run, key, k_blocks)
    places = inverse[choice][rotation : rotation + k_blocks]
    run_rows = x[start : start + k_blocks].view(np.int64)
    hidden = gone[start : start + k_blocks]
    for j in range(k_blocks):
        bits = run_rows[j]
        bits = NAN if bits == MARK else bits  # no value is a mark
        values[j] = MARK if hidden[j] else bits
    for k in range(k_blocks):
        rows[k] = values[places[k]]


@njit
def add_runs(x, gone, first_row, key, inverse, forward, shift, s1, s2, missing):
    """Add ``x - shift`` and its square to the blocks; return the number of whole runs.

    Block k then has ``runs - missing[k]`` rows. Each run is gathered into the order of the blocks first, so
    that the additions are independent lanes over contiguous memory: no reassociation is needed for speed, and
    every processor gives the same bits. Sums of four runs are taken at a time, which saves loads and stores.
    """
    k = s1.size
    n = x.size
    ahead = max(LEAST_AHEAD, 2 * k)
    for j in range(0, min(ahead, n), LINE):
        prefetch(x, j)
    run = first_row // k
    i = min(n, (run + 1) * k - first_row) if first_row > run * k else 0
    add_part(x[:i], gone[:i], first_row - run * k, run, key, forward, shift, s1, s2, missing)
    run += i > 0
    rows = np.empty((RUNS_TOGETHER, k))
    marked = rows.view(np.int64)
    values = np.empty(k if gone.size > 0 else 0, np.int64)
    runs = 0
    while n - i >= k:
        m = min(RUNS_TOGETHER, (n - i) // k)
        for r in range(m):
            start = i + r * k
            if gone.size > 0:
                gather_marked(x, start, gone, run + r, key, inverse, values, marked[r])
            else:
                gather(x, start, run + r, key, inverse, rows[r], ahead)
        if gone.size > 0:
            for r in range(m):
                add_marked(rows[r], marked[r], shift, s1, s2, missing)
        elif m == RUNS_TOGETHER:
            add_four(rows, shift, s1, s2)
        else:
            for r in range(m):
                add_one(rows[r], shift, s1, s2)
        i += m * k
        run += m
        runs += m
    add_part(x[i:], gone[i:], 0, run, key, forward, shift, s1, s2, missing)
    return runs


@njit
def add_one(row, shift, s1, s2):
    """Add one value to each block."""
    for k in range(s1.size):
        d = row[k] - shift
        s1[k] += d
        s2[k] += d * d


@njit
def add_marked(row, marked, shift, s1, s2, missing):
    """The same, and nothing where there is a mark."""
    for k in range(s1.size):
        gone = marked[k] == MARK
        d = 0.0 if gone else row[k] - shift
        missing[k] += gone
        s1[k] += d
        s2[k] += d * d


@njit
def add_four(rows, shift, s1, s2):
    """Add four values to each block, one after the other."""
    for k in range(s1.size):
        a = s1[k]
        b = s2[k]
        for r in range(RUNS_TOGETHER):
            d = rows[r, k] - shift
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


@entry("=f8[] =f8[] b1[] i8 u8 u2[,] u2[,] f8 i8[] f8[] f8[]")
def leaf_about(x, rest, gone, first_row, key, inverse, forward, shift, count, mean, m2):
    """Moments of the blocks of a leaf, and last of all its rows; whether some block has lost its digits."""
    k = count.size - 1
    n = x.size
    missing = count[:k]
    s1 = mean[:k]
    s2 = m2[:k]
    missing[:] = 0
    s1[:] = 0.0
    s2[:] = 0.0
    runs = add_runs(x, gone[:n], first_row, key, inverse, forward, shift, s1, s2, missing)
    if rest.size > 0:
        runs += add_runs(rest, gone[n:], first_row + n, key, inverse, forward, shift, s1, s2, missing)
    lost = finish(runs, shift, missing, s1, s2)
    count[k], mean[k], m2[k] = total_row(missing, s1, s2)
    return lost


@entry("=f8[] =f8[] b1[] i8 u8 u2[,] u2[,] i8[] f8[] f8[]", pays=200e6)
def leaf_amid(x, rest, gone, first_row, key, inverse, forward, count, mean, m2):
    """The same about the leaf's middle value: most leaves need no other shift, nor a second call."""
    shift = middle_value(x, rest, gone)
    return leaf_about(x, rest, gone, first_row, key, inverse, forward, shift, count, mean, m2)
