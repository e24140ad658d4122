"""Compiled weighted sums of one leaf; the NumPy twins with the same bits are in ``weighted_leaf.py``."""

# mypy: allow-untyped-defs, allow-untyped-calls

from __future__ import annotations

import math

import numpy as np

from distmom.numerics._jit import inline, njit
from distmom.numerics.labels_compiled import run_choice
from distmom.numerics.leaf_compiled import median_of_probes
from distmom.numerics.weighted_compiled import total_weighted_row


@njit
def add_run(v, u, places, rotation, in_order_v, in_order_u, sums):
    """Add one row to each block: its mass `v` and product `u` lie at the block's place in the run.

    First all rows are gathered, then all sums are taken: two short loops are twice as fast as one long one,
    since only the second can use the processor's vectors, and it has nothing else to do.
    """
    k_blocks = sums.shape[1]
    for k in range(k_blocks):
        place = places[rotation + k]
        in_order_v[k] = v[place]
        in_order_u[k] = u[place]
    for k in range(k_blocks):
        a = in_order_v[k]
        b = in_order_u[k]
        sums[0, k] += a
        sums[1, k] += b
        sums[2, k] += a * a
        sums[3, k] += a * b
        sums[4, k] += b * b


@njit
def any_of(flags):
    """Whether any of the flags is set."""
    n = 0
    for i in range(flags.size):
        n += flags[i]
    return n > 0


@njit
def sum_runs(x, w, gone, first_row, key, inverse, shift, sums, missing):
    """Add the masses and products of all rows to their blocks; return the number of runs met.

    Block k then has ``runs - missing[k]`` rows. A run without holes is read where it lies; else, and where it
    is cut by the leaf's edge, its rows are copied with 0 for what is missing.
    """
    k_blocks = sums.shape[1]
    masses = np.empty(k_blocks)
    products = np.empty(k_blocks)
    in_order_v = np.empty(k_blocks)
    in_order_u = np.empty(k_blocks)
    holes = gone.size > 0
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
        if m == k_blocks and not (holes and any_of(gone[i : i + m])):
            rows = w[i : i + m]
            values = x[i : i + m]
            for j in range(m):
                products[j] = rows[j] * (values[j] - shift)
            add_run(rows, products, places, rotation, in_order_v, in_order_u, sums)
        else:
            masses[:] = 0.0
            products[:] = 0.0
            for j in range(m):
                if not (holes and gone[i + j]):
                    masses[offset + j] = w[i + j]
                    products[offset + j] = w[i + j] * (x[i + j] - shift)
            add_run(masses, products, places, rotation, in_order_v, in_order_u, sums)
            for k in range(k_blocks):
                missing[k] += in_order_v[k] == 0.0
        i += m
        offset = 0
        run += 1
    return runs


@njit
def finish_block(rows, s, shift):
    """Weighted moments of a block, of at least one row, from its five sums."""
    mean = s[1] / s[0] + shift
    away = s[3] / s[2]
    q = s[4] - s[3] * away
    if q < 0.0:
        q = 0.0
    mean2 = away + shift
    return s[0], mean, s[2], mean2, q if math.isfinite(mean2) else math.nan


@njit
def has_lost(rows, weight2, mean2, m2, shift, lost_bits):
    """Whether the second moment has lost its digits."""
    distance = mean2 - shift
    return rows > 1 and weight2 * (distance * distance) > lost_bits * m2


@njit
def weighted_leaf_blocks(
    x, w, gone, first_row, key, inverse, shift, lost_bits, count, weight, mean, weight2, mean2, m2
):
    """Weighted moments of the blocks of a leaf, and last of all its rows; whether a block lost its digits."""
    k_blocks = count.size - 1
    sums = np.zeros((5, k_blocks))
    count[:] = 0
    runs = sum_runs(x, w, gone, first_row, key, inverse, shift, sums, count[:k_blocks])
    lost = False
    for k in range(k_blocks):
        rows = runs - count[k]
        count[k] = rows
        if rows == 0:
            weight[k] = mean[k] = weight2[k] = mean2[k] = m2[k] = 0.0
            continue
        weight[k], mean[k], weight2[k], mean2[k], m2[k] = finish_block(rows, sums[:, k], shift)
        lost |= has_lost(rows, weight2[k], mean2[k], m2[k], shift, lost_bits)
    some = slice(0, k_blocks)
    (count[k_blocks], weight[k_blocks], mean[k_blocks], weight2[k_blocks], mean2[k_blocks], m2[k_blocks]) = (
        total_weighted_row(count[some], weight[some], mean[some], weight2[some], mean2[some], m2[some])
    )
    return lost


@inline
def add_lane(a, value, shift, sums, j):
    """Add one row to a lane."""
    b = a * (value - shift)
    sums[0, j] += a
    sums[1, j] += b
    sums[2, j] += a * a
    sums[3, j] += a * b
    sums[4, j] += b * b


@njit
def add_weighted_lanes(x, w, shift, sums):
    """Add the masses and products: row i to lane i modulo the number of lanes."""
    lanes = sums.shape[1]
    whole = x.size - x.size % lanes
    for i in range(0, whole, lanes):
        values = x[i : i + lanes]
        weights = w[i : i + lanes]
        for j in range(lanes):  # a fixed number: else it would not be compiled to vectors
            add_lane(weights[j], values[j], shift, sums, j)
    for j in range(x.size - whole):
        add_lane(w[whole + j], x[whole + j], shift, sums, j)


@njit
def one_weighted_block(x, w, n_probes, lanes, lost_bits):
    """Weighted moments of rows, at least one; about their mean if the first shift lost digits."""
    shift = median_of_probes(x, n_probes)
    s = np.zeros(5)
    for attempt in range(2):
        sums = np.zeros((5, lanes))
        add_weighted_lanes(x, w, shift, sums)
        for i in range(5):
            s[i] = sums[i, 0]
            for j in range(1, lanes):
                s[i] += sums[i, j]
        found = finish_block(x.size, s, shift)
        if attempt == 1 or not has_lost(x.size, found[2], found[3], found[4], shift, lost_bits):
            break
        shift = found[3]
    return (x.size, *found)
