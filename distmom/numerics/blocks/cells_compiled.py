"""Compiled running moments of cells; the NumPy twins with the same bits are in ``cells.py``."""

# mypy: allow-untyped-defs, allow-untyped-calls

from __future__ import annotations

import math

import numpy as np

from distmom.numerics._jit import entry, inline, prefetch
from distmom.numerics.blocks.labels_compiled import run_choice
from distmom.numerics.blocks.moments_compiled import total_row

U = np.uint64
AHEAD = 16  # rows whose cells are prefetched: those of many groups are in no near cache
MAGIC_BITS = 40  # label * magic / 2**40 has the whole part of label / width while label * width < 2**40


@inline
def step(v, mass, before, mean, m2):
    """Mass, mean and second moment with one more value."""
    total = before + mass
    delta = v - mean
    if math.isfinite(delta):
        moved = mean + mass * delta / total
        return total, moved, m2 + mass * delta * (v - moved)
    if math.isfinite(mean) and math.isfinite(v):
        return total, mean * (before / total) + v / total * mass, math.inf
    return total, v if before == 0.0 else mean + v, math.nan


@inline
def _add(v, c, table):
    """One value; the cell's number is unsigned, so that Numba does not check for negative indices."""
    table[c, 0], table[c, 1], table[c, 2] = step(v, 1.0, table[c, 0], table[c, 1], table[c, 2])


@entry("=f8[] none b1[] i8[] f8[,]", "=f8[] =f8[] b1[] i8[] f8[,]")
def add_rows(x, w, gone, cells, table):
    """Add each value to the moments of its cell; `gone` of size 0: all rows count; `w` None: alike."""
    some_gone = gone.size > 0
    for i in range(x.size):
        if some_gone and gone[i]:
            continue
        if w is None:
            _add(x[i], U(cells[i]), table)
        else:
            cell, a = table[cells[i]], w[i]
            cell[0] += 1.0
            cell[1], cell[2], _ = step(x[i], a, cell[1], cell[2], 0.0)
            cell[3], cell[4], cell[5] = step(x[i], a * a, cell[3], cell[4], cell[5])


@entry("=f8[] b1[] i8[] i8 u8 u2[,] i8 i8 f8[,]")
def add_blocks(x, gone, codes, first_row, key, forward, n_blocks, magic, table):
    """The same for the cells code * n_blocks + label // width, with ``magic = ceil(2**MAGIC_BITS / width)``.

    The loop over labels has no branch, no division and no look-up, so that it processes several rows at
    once; the cells of one run of rows at a time are kept in the nearest cache.
    """
    some_gone = gone.size > 0
    k_labels = forward.shape[1]
    cells = np.empty(k_labels, np.int64)
    numbers = table.reshape(-1)
    start = 0
    run = first_row // k_labels
    offset = first_row - run * k_labels
    while start < x.size:
        choice, rotation = run_choice(run, key, k_labels)
        m = min(k_labels - offset, x.size - start)
        places = forward[choice, offset : offset + m]
        groups = codes[start : start + m]
        for j in range(m):
            label = np.int64(places[j]) - rotation
            label += k_labels if label < 0 else 0
            cells[j] = groups[j] * n_blocks + ((label * magic) >> MAGIC_BITS)
        for j in range(m):
            prefetch(numbers, table.shape[1] * cells[min(j + AHEAD, m - 1)])
            if some_gone and gone[start + j]:
                continue
            _add(x[start + j], U(cells[j]), table)
        start += m
        offset = 0
        run += 1


@entry("f8[,] i8 i8 i8[,] f8[,] f8[,]")
def unload(table, n_blocks, n_once, count, mean, m2):
    """Move the moments of the first cells into arrays of shape (groups, blocks), and empty the cells.

    If the arrays have one more place for each group, it is for the first `n_once` blocks together.
    """
    for g in range(count.shape[0]):
        for k in range(n_blocks):
            cell = U(g * n_blocks + k)
            count[g, k] = np.int64(table[cell, 0])
            mean[g, k] = table[cell, 1]
            m2[g, k] = table[cell, 2]
            table[cell, 0] = 0.0
            table[cell, 1] = 0.0
            table[cell, 2] = 0.0
        if count.shape[1] > n_blocks:
            whole = total_row(count[g, :n_once], mean[g, :n_once], m2[g, :n_once])
            count[g, n_blocks], mean[g, n_blocks], m2[g, n_blocks] = whole
