"""Compiled weighted sums of one leaf; `leaf.labelled_moments` has the same bits."""

# mypy: allow-untyped-defs, allow-untyped-calls

from __future__ import annotations

import numpy as np

from distmom.numerics._jit import entry, inline, njit
from distmom.numerics.blocks.labels_compiled import run_choice
from distmom.numerics.blocks.leaf_compiled import RUNS_TOGETHER
from distmom.numerics.blocks.weighted_moments_compiled import finish_block, lost_digits, total_weighted_row


@inline
def any_of(flags):
    """Whether any of the flags is set."""
    n = 0
    for i in range(flags.size):
        n += flags[i]
    return n > 0


@njit
def pair_up(x, w, shift, pairs):
    """Mass w and product w (x - shift) of each row."""
    for j in range(x.size):
        a = w[j]
        pairs[j] = complex(a, a * (x[j] - shift))


@njit
def pair_up_some(x, w, gone, shift, pairs):
    """As `pair_up`; nothing where a row is gone."""
    for j in range(x.size):
        a = w[j]
        b = a * (x[j] - shift)
        pairs[j] = complex(0.0 if gone[j] else a, 0.0 if gone[j] else b)


@njit
def gather(pairs, places, row):
    """The pairs of a run in the order of the blocks."""
    for k in range(row.size):
        row[k] = pairs[places[k]]


@njit
def add_one(row, sums):
    """Add one row to each block."""
    for k in range(row.size):
        a = row[k].real
        b = row[k].imag
        sums[0, k] += a
        sums[1, k] += b
        sums[2, k] += a * a
        sums[3, k] += a * b
        sums[4, k] += b * b


@njit
def add_four(rows, sums):
    """Add four rows to each block, one after the other, which saves loads and stores of the sums."""
    for k in range(rows.shape[1]):
        s0, s1, s2, s3, s4 = sums[0, k], sums[1, k], sums[2, k], sums[3, k], sums[4, k]
        for r in range(RUNS_TOGETHER):
            a = rows[r, k].real
            b = rows[r, k].imag
            s0 += a
            s1 += b
            s2 += a * a
            s3 += a * b
            s4 += b * b
        sums[0, k], sums[1, k], sums[2, k], sums[3, k], sums[4, k] = s0, s1, s2, s3, s4


@njit
def sum_runs(x, w, gone, first_row, key, inverse, shift, sums, missing):
    """Add the masses and products of all rows to their blocks; return the number of runs met.

    Block k then has ``runs - missing[k]`` rows. Mass and product of a row travel as the two parts of a
    complex number, 16 bytes that are moved at once. Each run is gathered into the order of the blocks before
    it is added, so that the sums are independent lanes over contiguous memory. Rows that are gone, or beyond
    the leaf's edge where a run is cut, are pairs of zeros.
    """
    n_blocks = sums.shape[1]
    pairs = np.empty(n_blocks, np.complex128)
    rows = np.empty((RUNS_TOGETHER, n_blocks), np.complex128)
    n = x.size
    i = 0
    run = first_row // n_blocks
    offset = first_row - run * n_blocks
    runs = 0
    held = 0
    while i < n:
        m = min(n_blocks - offset, n - i)
        part = slice(i, i + m)
        if m < n_blocks:
            pairs[:] = 0.0
        holes = gone.size > 0 and any_of(gone[part])
        if holes:
            pair_up_some(x[part], w[part], gone[part], shift, pairs[offset : offset + m])
        else:
            pair_up(x[part], w[part], shift, pairs[offset : offset + m])
        choice, rotation = run_choice(run, key, n_blocks)
        row = rows[held]
        gather(pairs, inverse[choice][rotation : rotation + n_blocks], row)
        if holes or m < n_blocks:
            for k in range(n_blocks):
                missing[k] += row[k].real == 0.0
        held += 1
        if held == RUNS_TOGETHER:
            add_four(rows, sums)
            held = 0
        i += m
        offset = 0
        run += 1
        runs += 1
    for r in range(held):
        add_one(rows[r], sums)
    return runs


@entry("=f8[] =f8[] =f8[] =f8[] b1[] i8 u8 u2[,] f8 i8[] f8[] f8[] f8[] f8[] f8[]", pays=60e6)
def weighted_leaf_about(
    x, w, rest, w_rest, gone, first_row, key, inverse, shift, count, weight, mean, weight2, mean2, m2
):
    """Weighted moments of the blocks of a leaf, and last of all its rows; whether a block lost its digits."""
    n_blocks = count.size - 1
    sums = np.zeros((5, n_blocks))
    count[:] = 0
    n = x.size
    missing = count[:n_blocks]
    runs = sum_runs(x, w, gone[:n], first_row, key, inverse, shift, sums, missing)
    if rest.size > 0:
        runs += sum_runs(rest, w_rest, gone[n:], first_row + n, key, inverse, shift, sums, missing)
    lost = False
    for k in range(n_blocks):
        rows = runs - count[k]
        count[k] = rows
        weight[k], mean[k], weight2[k], mean2[k], m2[k] = finish_block(rows, sums[:, k], shift)
        lost |= lost_digits(rows, weight2[k], mean2[k], m2[k], shift)
    k = n_blocks
    count[k], weight[k], mean[k], weight2[k], mean2[k], m2[k] = total_weighted_row(
        count[:k], weight[:k], mean[:k], weight2[:k], mean2[:k], m2[:k]
    )
    return lost


@entry("=f8[] =f8[] b1[] u2[] f8 i8[] f8[,]")
def add_labelled(x, w, gone, labels, shift, count, sums):
    """Add each row to the five sums of its block, which comes with it; `gone` of size 0: all count."""
    some_gone = gone.size > 0
    for i in range(x.size):
        if some_gone and gone[i]:
            continue
        k = labels[i]
        a = w[i]
        b = a * (x[i] - shift)
        count[k] += 1
        sums[0, k] += a
        sums[1, k] += b
        sums[2, k] += a * a
        sums[3, k] += a * b
        sums[4, k] += b * b
