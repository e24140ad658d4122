"""Compiled sums of one leaf; the NumPy twins with the same bits are in ``leaf.py``."""

# mypy: allow-untyped-defs, allow-untyped-calls

from __future__ import annotations

import math

import numpy as np

from distmom.numerics._jit import njit
from distmom.numerics.labels_compiled import run_choice
from distmom.numerics.moments_compiled import total_row

U = np.uint64


@njit
def add_runs(x, first_row, key, inverse, shift, s1, s2, missing):
    """Add ``x - shift`` and its square to the blocks; return the number of runs met, and a number to ignore.

    Block k then has ``runs - missing[k]`` rows. The inner loop gathers one row for each block, so that the
    additions are independent lanes: no reassociation is needed for speed, and every processor gives the same
    bits. The order of the gathered rows defeats the processor's prefetching, so each run is first touched in
    the order of memory, one value a cache line: that halves the time. (The sum of these values is handed on
    so that no compiler finds it useless.)
    """
    k_blocks = s1.size
    touched = 0.0
    n = x.size
    i = 0
    run = first_row // k_blocks
    offset = first_row - run * k_blocks
    runs = 0
    while i < n:
        choice, rotation = run_choice(run, key, k_blocks)
        places = inverse[choice]
        m = min(k_blocks - offset, n - i)
        runs += 1
        if m == k_blocks:
            rows = x[i : i + k_blocks]
            for j in range(0, k_blocks, 8):
                touched += rows[j]
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
    return runs, touched


@njit
def finish(runs, shift, lost_bits, count, mean, m2):
    """Turn (missing, s1, s2) into (count, mean, m2) in place; whether some block has lost its digits."""
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
        if c > 1 and float(c) * (distance * distance) > lost_bits * m2[k]:
            lost = True
    return lost


@njit
def count_strange(bits):
    """How many of the float64 values with these bits are infinite or NaN."""
    n = 0
    for i in range(bits.size):
        n += (bits[i] & U(0x7FF0000000000000)) == U(0x7FF0000000000000)
    return n


@njit
def add_lanes(x, shift, s1, s2):
    """Add ``x - shift`` and its square: value i to lane i modulo the number of lanes."""
    lanes = s1.size
    whole = x.size - x.size % lanes
    for i in range(0, whole, lanes):
        row = x[i : i + lanes]
        for j in range(lanes):
            d = row[j] - shift
            s1[j] += d
            s2[j] += d * d
    for j in range(x.size - whole):
        d = x[whole + j] - shift
        s1[j] += d
        s2[j] += d * d


@njit
def take_out(x, gone, first_row, key, forward, shift, out, missing):
    """``x - shift`` into `out`, 0 where a row is gone; such rows are counted as missing from their blocks."""
    k_blocks = missing.size
    n = x.size
    i = 0
    run = first_row // k_blocks
    offset = first_row - run * k_blocks
    while i < n:
        choice, rotation = run_choice(run, key, k_blocks)
        blocks = forward[choice]
        m = min(k_blocks - offset, n - i)
        for j in range(m):
            out[i + j] = 0.0 if gone[i + j] else x[i + j] - shift
        for j in range(m):
            if gone[i + j]:
                block = np.int64(blocks[offset + j]) - rotation
                missing[block + k_blocks if block < 0 else block] += 1
        i += m
        offset = 0
        run += 1


@njit
def leaf_blocks(x, gone, first_row, key, inverse, forward, shift, lost_bits, count, mean, m2):
    """Moments of the blocks of a leaf, and last of all its rows.

    Returns whether some block has lost its digits, and a number to ignore.
    """
    k = count.size - 1
    missing = count[:k]
    s1 = mean[:k]
    s2 = m2[:k]
    missing[:] = 0
    s1[:] = 0.0
    s2[:] = 0.0
    if gone.size > 0:
        out = np.empty(x.size)
        take_out(x, gone, first_row, key, forward, shift, out, missing)
        runs, touched = add_runs(out, first_row, key, inverse, 0.0, s1, s2, missing)
    else:
        runs, touched = add_runs(x, first_row, key, inverse, shift, s1, s2, missing)
    lost = finish(runs, shift, lost_bits, missing, s1, s2)
    count[k], mean[k], m2[k] = total_row(missing, s1, s2)
    return lost, touched


@njit
def median_of_probes(x, n_probes):
    """Lower median of the finite values among spread places, else the first finite value, else 0."""
    n = x.size
    probes = np.empty(n_probes)
    found = 0
    for p in range(min(n, n_probes)):
        value = x[p * n // n_probes if n > n_probes else p]
        if math.isfinite(value):
            j = found  # insertion sort: there are few
            while j > 0 and probes[j - 1] > value:
                probes[j] = probes[j - 1]
                j -= 1
            probes[j] = value
            found += 1
    if found:
        return probes[(found - 1) // 2]
    for i in range(n):
        if math.isfinite(x[i]):
            return x[i]
    return 0.0


@njit
def one_block(x, n_probes, lanes, lost_bits):
    """Mean and second moment of values, at least one; about their mean if the first shift lost digits."""
    n = float(x.size)
    shift = median_of_probes(x, n_probes)
    mean = 0.0
    q = 0.0
    for attempt in range(2):
        s1 = np.zeros(lanes)
        s2 = np.zeros(lanes)
        add_lanes(x, shift, s1, s2)
        sum1 = s1[0]
        sum2 = s2[0]
        for j in range(1, lanes):
            sum1 += s1[j]
            sum2 += s2[j]
        away = sum1 / n
        q = sum2 - sum1 * away
        if q < 0.0:
            q = 0.0
        mean = away + shift
        if not math.isfinite(mean):
            q = math.nan
        distance = mean - shift
        if attempt == 1 or not n * (distance * distance) > lost_bits * q:
            break
        shift = mean
    return mean, q
