"""Compiled sums and merges of non-empty cells; the NumPy twins with the same bits are in ``sparse_cells.py``.

Numbers of cells ascend, so all of these go through them once, from the first to the last.
"""

# mypy: allow-untyped-defs, allow-untyped-calls

from __future__ import annotations

import numpy as np

from distmom.numerics._jit import entry
from distmom.numerics.blocks.cells_compiled import step
from distmom.numerics.blocks.moments_compiled import merge_cell, total_row


@entry("i8[] f8[,] i8[] i8[] =f8[] i8[] f8[,]", pays=5e6)
def settle_rows(ids, table, order, numbers, x, to_ids, to_table):
    """Add rows, in the `order` of their cells, to a table; returns how many cells there are."""
    i, p, n = np.int64(0), np.int64(0), np.int64(0)
    while i < ids.size or p < order.size:
        fresh = p < order.size and (i == ids.size or numbers[order[p]] < ids[i])
        cell = numbers[order[p]] if fresh else ids[i]
        count, mean, m2 = 0.0, 0.0, 0.0
        if not fresh:
            count, mean, m2 = table[i, 0], table[i, 1], table[i, 2]
            i += 1
        while p < order.size and numbers[order[p]] == cell:
            count, mean, m2 = step(x[order[p]], 1.0, count, mean, m2)
            p += 1
        to_ids[n] = cell
        to_table[n, 0], to_table[n, 1], to_table[n, 2] = count, mean, m2
        n += 1
    return n


@entry("i8[] f8[,] i8 i8 i8[] (i8[] f8[] f8[])", pays=5e6)
def with_totals(ids, table, n_blocks, n_once, to_ids, out):
    """The cells of a table, and for each group one more with the total of its first `n_once` blocks.

    Each group has `n_blocks` cells, and then one more. Returns how many cells there are.
    """
    to_count, to_mean, to_m2 = out
    i, n = np.int64(0), np.int64(0)
    while i < ids.size:
        group = ids[i] // n_blocks
        first, start, once = group * n_blocks, n, n
        while i < ids.size and ids[i] < first + n_blocks:
            to_ids[n] = ids[i] + group
            to_count[n], to_mean[n], to_m2[n] = np.int64(table[i, 0]), table[i, 1], table[i, 2]
            n += 1
            if ids[i] < first + n_once:
                once = n
            i += 1
        if once > start:
            to_ids[n] = first + n_blocks + group
            part = slice(start, once)
            to_count[n], to_mean[n], to_m2[n] = total_row(to_count[part], to_mean[part], to_m2[part])
            n += 1
    return n


@entry("i8[] (i8[] f8[] f8[]) i8[] (i8[] f8[] f8[]) i8[] (i8[] f8[] f8[])", pays=5e6)
def merge_tables(ids, cells, others, other_cells, to_ids, out):
    """The cells of two tables, those of both merged; returns how many there are."""
    (na, ma, qa), (nb, mb, qb), (to_count, to_mean, to_m2) = cells, other_cells, out
    i, j, n = np.int64(0), np.int64(0), np.int64(0)
    while i < ids.size or j < others.size:
        if j == others.size or (i < ids.size and ids[i] < others[j]):
            to_ids[n] = ids[i]
            to_count[n], to_mean[n], to_m2[n] = na[i], ma[i], qa[i]
            i += 1
        elif i == ids.size or others[j] < ids[i]:
            to_ids[n] = others[j]
            to_count[n], to_mean[n], to_m2[n] = nb[j], mb[j], qb[j]
            j += 1
        else:
            to_ids[n] = ids[i]
            to_count[n], to_mean[n], to_m2[n] = merge_cell(na[i], ma[i], qa[i], nb[j], mb[j], qb[j])
            i += 1
            j += 1
        n += 1
    return n


@entry("i8[] (i8[] f8[] f8[]) i8[] i8 i8[] i8[] (i8[] f8[] f8[])", pays=5e6)
def renumber(ids, cells, where, width, places, to_ids, out):
    """Group g, of `width` cells, becomes number ``where[g]``; -1: it is left out. Returns how many are left.

    `places` has an entry of 0 for each new number, and one more.
    """
    (count, mean, m2), (to_count, to_mean, to_m2) = cells, out
    i = np.int64(0)
    while i < ids.size:
        group, start = ids[i] // width, i
        while i < ids.size and ids[i] < (group + 1) * width:
            i += 1
        if where[group] >= 0:
            places[where[group] + 1] += i - start
    for number in range(1, places.size):
        places[number] += places[number - 1]
    i = np.int64(0)
    while i < ids.size:
        group = ids[i] // width
        number = where[group]
        away = (number - group) * width
        at = places[max(number, 0)]
        while i < ids.size and ids[i] < (group + 1) * width:
            if number >= 0:
                to_ids[at] = ids[i] + away
                to_count[at], to_mean[at], to_m2[at] = count[i], mean[i], m2[i]
                at += 1
            i += 1
    return places[-1]
