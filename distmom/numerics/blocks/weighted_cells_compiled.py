"""Compiled running weighted moments of cells; the NumPy twins are in ``weighted_cells.py``."""

# mypy: allow-untyped-defs, allow-untyped-calls

from __future__ import annotations

import math

from distmom.numerics._jit import inline, njit


@inline
def step(v, mass, before, mean, m2):
    """Add a value to a running mean and second moment."""
    total = before + mass
    delta = v - mean
    if math.isfinite(delta):
        moved = mean + mass * delta / total
        return total, moved, m2 + mass * delta * (v - moved)
    if math.isfinite(mean) and math.isfinite(v):
        return total, mean * (before / total) + v / total * mass, math.inf
    return total, v if before == 0.0 else mean + v, math.nan


@njit
def add_weighted_rows(x, w, gone, cells, table):
    """Add each value to the moments of its cell; `gone` of size 0 means that all rows count."""
    some_gone = gone.size > 0
    for i in range(x.size):
        if some_gone and gone[i]:
            continue
        cell = table[cells[i]]
        a = w[i]
        cell[0] += 1.0
        cell[1], cell[2], _ = step(x[i], a, cell[1], cell[2], 0.0)
        cell[3], cell[4], cell[5] = step(x[i], a * a, cell[3], cell[4], cell[5])
