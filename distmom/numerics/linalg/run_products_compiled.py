"""Compiled co-moments of random blocks; `comoments.leaf_comoments` has the same bits.

Every run of rows gives one row to each block. Some runs at a time are gathered into the order of the blocks,
as differences from the blocks' means, so that products are added in independent lanes over contiguous memory:
no reassociation is needed for speed. A row that is missing is a difference of zero, which changes no sum.
"""

# mypy: allow-untyped-defs, allow-untyped-calls

from __future__ import annotations

import numpy as np

from distmom.numerics._jit import entry, inline, njit, prefetch, values_at
from distmom.numerics.blocks.labels_compiled import run_choice

RUNS = 4  # runs that are added together, which saves loads and stores of the sums
WIDTH = 64  # neighbouring blocks whose differences and sums stay in the nearest cache
ROOM = RUNS * WIDTH
LINE = 8  # values in a cache line
U = np.uint64


@njit
def gather_run(x, gone, start, stop, first, run, key, inverse, forward, mean, out):
    """Differences of the rows ``[start, stop)`` of x, which begin at place `first` of a run, by block.

    Block k is at ``(k // WIDTH) * ROOM + k % WIDTH`` of `out`; blocks without a row get zero.
    """
    k_blocks = mean.size
    choice, rotation = run_choice(run, key, k_blocks)
    if stop - start < k_blocks:
        for k in range(k_blocks):
            out[U((k // WIDTH) * ROOM + k % WIDTH)] = 0.0
        blocks = forward[choice]
        for i in range(start, stop):
            if gone.size > 0 and gone[i]:
                continue
            k = np.int64(blocks[first + i - start]) - rotation
            k = k + k_blocks if k < 0 else k
            out[U((k // WIDTH) * ROOM + k % WIDTH)] = x[i] - mean[k]
        return
    places = inverse[choice][rotation : rotation + k_blocks]
    rows = x[start:stop]
    ahead, last = start + k_blocks, x.size - 1
    for k in range(0, k_blocks, WIDTH):
        n = min(WIDTH, k_blocks - k)
        for j in range(0, n, LINE):
            prefetch(x, min(ahead + k + j, last))
        some, centre = places[k : k + n], mean[k : k + n]
        mine = out[(k // WIDTH) * ROOM :]
        for j in range(n):
            mine[j] = rows[some[j]] - centre[j]
    if gone.size > 0:
        hidden = gone[start:stop]
        for k in range(k_blocks):
            if hidden[places[k]]:
                out[U((k // WIDTH) * ROOM + k % WIDTH)] = 0.0


@njit
def add_products(away, at, other, sums, to):
    """Add the products of two columns to the sums of neighbouring blocks, one run after the other."""
    for j in range(WIDTH):
        total = sums[to + U(j)]
        for r in range(RUNS):
            total += away[at + U(r * WIDTH + j)] * away[other + U(r * WIDTH + j)]
        sums[to + U(j)] = total


@njit
def add_together(away, sums):
    """Add the products of all pairs of gathered columns, shape (c + 1, tiles * ROOM), the last one of ones.

    Tile by tile, the sums of each pair; `finish` has the order of the pairs.
    """
    c, size = away.shape[0] - 1, away.shape[1]
    flat = away.reshape(-1)
    for t in range(sums.shape[0]):
        to = 0
        for a in range(c):
            for b in range(a, c + 1):
                add_products(flat, U(a * size + t * ROOM), U(b * size + t * ROOM), sums[t], U(to))
                to += WIDTH


@entry("i8[] i8 b1[] i8 u8 u2[,] u2[,] f8[,] f8[,] f8[,]", pays=150e6)
def add_runs(columns, n, gone, first_row, key, inverse, forward, mean, away, sums):
    """Add the n rows of all columns, which lie at these addresses; `away` is room for some runs."""
    k_blocks = mean.shape[1]
    i = 0
    while i < n:
        for r in range(RUNS):
            run = (first_row + i) // k_blocks
            first = first_row + i - run * k_blocks
            stop = min(n, i + k_blocks - first)
            for a in range(columns.size):
                x, out = values_at(columns[a], n), away[a, r * WIDTH :]
                gather_run(x, gone, i, stop, first, run, key, inverse, forward, mean[a], out)
            i = stop
        add_together(away, sums)


@inline
def _last_pair(a, c):
    """Place of the sums of column a itself: its products with ones."""
    return WIDTH * ((a + 1) * (c + 1) - a * (a + 1) // 2 - 1)


@entry("f8[,] i8[] f8[,,]")
def finish(sums, count, product):
    """Products of differences from the exact mean: the mean was rounded, so subtract the remainder."""
    c = product.shape[1]
    for k in range(count.size):
        tile, size = sums[k // WIDTH][k % WIDTH :], float(max(count[k], 1))
        to = 0
        for a in range(c):
            for b in range(a, c):
                left = tile[_last_pair(a, c)] * tile[_last_pair(b, c)] / size
                product[k, a, b] = tile[to] - left
                product[k, b, a] = product[k, a, b]
                to += WIDTH
            to += WIDTH
