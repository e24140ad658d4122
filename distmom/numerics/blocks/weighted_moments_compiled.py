"""Compiled merging of weighted moments; the NumPy twins with the same bits are in ``weighted.py``."""

# mypy: allow-untyped-defs, allow-untyped-calls

from __future__ import annotations

import math

from distmom.numerics._jit import entry, njit
from distmom.numerics.blocks.leaf import LOST_BITS
from distmom.numerics.blocks.moments_compiled import merge_cell, total_row


@entry(
    "(i8[] f8[] f8[] f8[] f8[] f8[]) (i8[] f8[] f8[] f8[] f8[] f8[]) (i8[] f8[] f8[] f8[] f8[] f8[])",
    pays=40e6,
)
def merge_flat(left, right, out):
    """Merge flat arrays (n, w, mean, v, mean2, m2) of weighted moments cell by cell into those of `out`."""
    na, wa, ma, va, ga, qa = left
    nb, wb, mb, vb, gb, qb = right
    n, w, mean, v, mean2, m2 = out
    for i in range(n.size):
        n[i] = na[i] + nb[i]
        w[i], mean[i], _ = merge_cell(wa[i], ma[i], 0.0, wb[i], mb[i], 0.0)
        v[i], mean2[i], m2[i] = merge_cell(va[i], ga[i], qa[i], vb[i], gb[i], qb[i])


merge_few = merge_flat


@njit
def total_weighted_row(count, weight, mean, weight2, mean2, m2):
    """Weighted moments of all blocks of a row together."""
    n = 0
    for k in range(count.size):
        n += count[k]
    w, whole, _ = total_row(weight, mean, m2)
    v, whole2, squares = total_row(weight2, mean2, m2)
    return n, w, whole, v, whole2, squares


@entry("i8[,] f8[,] f8[,] f8[,] f8[,] f8[,] i8[] f8[] f8[] f8[] f8[] f8[]", pays=10e6)
def total_rows(count, weight, mean, weight2, mean2, m2, n, w, whole, v, whole2, squares):
    """Total of each row of 2-d arrays of weighted moments."""
    for g in range(count.shape[0]):
        n[g], w[g], whole[g], v[g], whole2[g], squares[g] = total_weighted_row(
            count[g], weight[g], mean[g], weight2[g], mean2[g], m2[g]
        )


@njit
def finish_block(rows, s, shift):
    """Weighted moments of a block from its five sums."""
    if rows == 0:
        return 0.0, 0.0, 0.0, 0.0, 0.0
    mean = s[1] / s[0] + shift
    away = s[3] / s[2]
    q = s[4] - s[3] * away
    if q < 0.0:
        q = 0.0
    mean2 = away + shift
    return s[0], mean, s[2], mean2, q if math.isfinite(mean2) else math.nan


@njit
def lost_digits(rows, weight2, mean2, m2, shift):
    """Twin of `weighted.has_lost` for one block."""
    distance = mean2 - shift
    return rows > 1 and weight2 * (distance * distance) > LOST_BITS * m2
