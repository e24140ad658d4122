"""Compiled running moments of cells; the NumPy twin with the same bits is in ``cells.py``."""

# mypy: allow-untyped-defs, allow-untyped-calls

from __future__ import annotations

import math

from distmom.numerics._jit import njit


@njit
def welford(x, gone, cells, count, mean, m2):
    """Add each value to the moments of its cell; `gone` of size 0 means that all rows count."""
    some_gone = gone.size > 0
    for i in range(x.size):
        if some_gone and gone[i]:
            continue
        c = cells[i]
        v = x[i]
        n = count[c] + 1
        count[c] = n
        delta = v - mean[c]
        if math.isfinite(delta):
            moved = mean[c] + delta / float(n)
            m2[c] += delta * (v - moved)
            mean[c] = moved
        elif math.isfinite(mean[c]) and math.isfinite(v):
            mean[c] = mean[c] * ((float(n) - 1.0) / float(n)) + v / float(n)
            m2[c] = math.inf
        else:
            mean[c] = v if n == 1 else mean[c] + v
            m2[c] = math.nan
