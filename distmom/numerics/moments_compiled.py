"""Compiled merging of moments; the NumPy twin with the same bits is in ``moments.py``."""

from __future__ import annotations

import math

from distmom.numerics._jit import inline, njit


@inline
def merge_cell(na, ma, qa, nb, mb, qb):  # type: ignore[no-untyped-def]
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
def merge_flat(na, ma, qa, nb, mb, qb, n, mean, m2):  # type: ignore[no-untyped-def]
    """Merge flat arrays of moments cell by cell into (n, mean, m2), which may be the left arrays themselves."""
    for i in range(n.size):
        n[i], mean[i], m2[i] = merge_cell(na[i], ma[i], qa[i], nb[i], mb[i], qb[i])
