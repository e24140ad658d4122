"""Compiled sums in cells; the NumPy twins with the same bits are in ``cell_sums.py``."""

# mypy: allow-untyped-defs, allow-untyped-calls

from __future__ import annotations

import math

import numpy as np

from distmom.numerics._jit import inline, njit

U = np.uint64


@njit
def add_values(values, cells, sums):
    """Add each value to the sum of its cell."""
    for i in range(values.size):
        sums[U(cells[i])] += values[i]


@njit
def add_gaps(measured, pairs, cells, sums):
    """Add the distances of each pair, row by row, to the sums of their cells."""
    for p in range(pairs.shape[0]):
        a, b = measured[pairs[p, 0]], measured[pairs[p, 1]]
        for i in range(cells.size):
            gap = abs(a[i] - b[i])
            if not gap < math.inf:
                gap = math.inf if math.isfinite(a[i]) or math.isfinite(b[i]) else 0.0
            sums[p, U(cells[i])] += gap


@inline
def _loss(truth, predicted, kind, parameter):
    away = truth - predicted
    if kind == 0:
        return away * away
    if kind == 1:
        return abs(away)
    if kind == 2:
        away = abs(away)
        return 0.5 * away * away if away <= parameter else parameter * (away - 0.5 * parameter)
    if kind == 3:
        low, high = (parameter - 1.0) * away, parameter * away
        return low if low > high else high
    return 1.0 if truth != predicted else 0.0


@njit
def add_losses(truth, predicted, cells, kind, parameter, sums):
    """Add the loss of each row to the sum of its cell; the kind is outside of the loop."""
    if kind == 0:
        for i in range(truth.size):
            sums[U(cells[i])] += _loss(truth[i], predicted[i], 0, parameter)
    else:
        for i in range(truth.size):
            sums[U(cells[i])] += _loss(truth[i], predicted[i], kind, parameter)


@njit
def add_measures(truth, predicted, cells, rows, kind, parameter, root, sums):
    """Add predictions, or roots of losses, of some rows to the sums of their cells; the largest size."""
    reach = 0.0
    odd = False
    for j in range(rows.size):
        i = rows[j]
        value = predicted[i]
        if root:
            value = math.sqrt(_loss(truth[i], value, kind, parameter))
        sums[U(cells[i])] += value
        size = abs(value)
        if size > reach:
            reach = size
        if size != size:
            odd = True
    return math.inf if odd else reach
