"""Compiled sums in cells; the NumPy twins with the same bits are in ``cell_sums.py``."""

# mypy: allow-untyped-defs, allow-untyped-calls

from __future__ import annotations

import math

import numpy as np

from distmom.numerics._jit import njit

U = np.uint64


@njit
def add_values(values, cells, sums):
    """Add each value to the sum of its cell."""
    for i in range(values.size):
        sums[U(cells[i])] += values[i]


@njit
def add_gaps(a, b, cells, sums, squared):
    """Add each distance to the sum of its cell."""
    for i in range(a.size):
        gap = abs(a[i] - b[i])
        if not math.isfinite(a[i]) or not math.isfinite(b[i]):
            gap = math.inf if math.isfinite(a[i]) or math.isfinite(b[i]) else 0.0
        sums[U(cells[i])] += gap * gap if squared else gap
