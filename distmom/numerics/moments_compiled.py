"""Compiled merging of moments; the NumPy twin with the same bits is in ``moments.py``."""

# mypy: allow-untyped-defs, allow-untyped-calls

from __future__ import annotations

import math

from distmom.numerics._jit import inline, njit


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


@njit
def merge_flat(na, ma, qa, nb, mb, qb, n, mean, m2):
    """Merge flat arrays of moments cell by cell into (n, mean, m2)."""
    for i in range(n.size):
        n[i], mean[i], m2[i] = merge_cell(na[i], ma[i], qa[i], nb[i], mb[i], qb[i])


@njit
def total_rows(count, mean, m2, n, whole, spread):
    """Total of each row of 2-d arrays of moments, into (n, whole, spread)."""
    for g in range(count.shape[0]):
        size = 0
        centre = 0.0
        for k in range(count.shape[1]):
            if count[g, k] > 0:
                if size == 0 and math.isfinite(mean[g, k]):
                    centre = mean[g, k]
                size += count[g, k]
        n[g] = size
        if size == 0:
            whole[g] = 0.0
            spread[g] = 0.0
            continue
        total = 0.0
        for k in range(count.shape[1]):
            if count[g, k] > 0:
                total += float(count[g, k]) * (mean[g, k] - centre)
        shift = total / float(size)
        squares = 0.0
        for k in range(count.shape[1]):
            if count[g, k] > 0:
                rest = (mean[g, k] - centre) - shift
                squares += m2[g, k] + float(count[g, k]) * rest * rest
        whole[g] = centre + shift
        spread[g] = squares if math.isfinite(whole[g]) else math.nan
