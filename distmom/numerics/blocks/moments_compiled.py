"""Compiled merging of moments; the NumPy twin with the same bits is in ``moments.py``."""

# mypy: allow-untyped-defs, allow-untyped-calls

from __future__ import annotations

import math

from distmom.numerics._jit import entry, inline, njit


@inline
def merge_cell(na, ma, qa, nb, mb, qb):
    """Merge one pair of (count, mean, m2)."""
    n = na + nb
    if nb == 0:
        return n, ma, qa
    if na == 0:
        return n, mb, qb
    delta = mb - ma
    if math.isfinite(delta):
        total = float(n)
        mean = ma + delta * (float(nb) / total)
        return n, mean, (qa + qb) + delta * delta * (float(na) * float(nb) / total)
    if math.isfinite(ma) and math.isfinite(mb):
        total = float(n)
        return n, ma * (float(na) / total) + mb * (float(nb) / total), math.inf
    return n, ma + mb, math.nan


@entry("(i8[] f8[] f8[]) (i8[] f8[] f8[]) (i8[] f8[] f8[])", pays=90e6)
def merge_flat(left, right, out):
    """Merge flat arrays (count, mean, m2) of moments cell by cell into those of `out`."""
    (na, ma, qa), (nb, mb, qb), (n, mean, m2) = left, right, out
    for i in range(n.size):
        n[i], mean[i], m2[i] = merge_cell(na[i], ma[i], qa[i], nb[i], mb[i], qb[i])


@entry("(i8[] f8[] f8[]) (i8[] f8[] f8[]) (i8[] f8[] f8[])", pays=10e6, keep_lock=True)
def merge_few(left, right, out):
    """`merge_flat` for few cells."""
    (na, ma, qa), (nb, mb, qb), (n, mean, m2) = left, right, out
    for i in range(n.size):
        n[i], mean[i], m2[i] = merge_cell(na[i], ma[i], qa[i], nb[i], mb[i], qb[i])


@njit
def total_row(count, mean, m2):
    """Moments of all blocks of a row together."""
    size = 0
    centre = 0.0
    for k in range(count.size):
        if count[k] > 0:
            if size == 0 and math.isfinite(mean[k]):
                centre = mean[k]
            size += count[k]
    if size == 0:
        return size, 0.0, 0.0
    moved = 0.0
    for k in range(count.size):
        if count[k] > 0:
            moved += float(count[k]) * (mean[k] - centre)
    shift = moved / float(size)
    squares = 0.0
    for k in range(count.size):
        if count[k] > 0:
            rest = (mean[k] - centre) - shift
            squares += m2[k] + float(count[k]) * rest * rest
    whole = centre + shift
    return size, whole, squares if math.isfinite(whole) else math.nan


@entry("i8[,] f8[,] f8[,] i8[] f8[] f8[]", pays=10e6)
def total_rows(count, mean, m2, n, whole, spread):
    """Total of each row of 2-d arrays of moments, into (n, whole, spread)."""
    for g in range(count.shape[0]):
        n[g], whole[g], spread[g] = total_row(count[g], mean[g], m2[g])
