"""Compiled sums in cells; the NumPy twins with the same bits are in ``cell_sums.py``."""

# mypy: allow-untyped-defs, allow-untyped-calls

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np

from distmom.numerics._jit import entries_for, entry, inline, standing_for
from distmom.numerics.losses.table import LOSSES, LossFunction
from distmom.numerics.losses.table_compiled import compiled_row_loss

U = np.uint64


@entry("=f8[] i4[] f8[]")
def add_values(values, cells, sums):
    """Add each value to the sum of its cell."""
    for i in range(values.size):
        sums[U(cells[i])] += values[i]


@entry("=f8[,] i4[,] i4[] f8[,]")
def add_gaps(measured, pairs, cells, sums):
    """Add the distances of each pair, row by row, to the sums of their cells.

    While neighbouring rows are of one cell, its sum stays in a register. Four pairs are added at a time, as
    an addition waits for the one before it.
    """
    n = cells.size
    whole = pairs.shape[0] - pairs.shape[0] % 4
    for p in range(0, whole, 4):
        a, b = measured[pairs[p, 0]], measured[pairs[p, 1]]
        c, d = measured[pairs[p + 1, 0]], measured[pairs[p + 1, 1]]
        e, f = measured[pairs[p + 2, 0]], measured[pairs[p + 2, 1]]
        g, h = measured[pairs[p + 3, 0]], measured[pairs[p + 3, 1]]
        i = 0
        while i < n:
            cell = cells[i]
            s, t, u, v = sums[p, cell], sums[p + 1, cell], sums[p + 2, cell], sums[p + 3, cell]
            while i < n and cells[i] == cell:
                s += _gap(a[i], b[i])
                t += _gap(c[i], d[i])
                u += _gap(e[i], f[i])
                v += _gap(g[i], h[i])
                i += 1
            sums[p, cell], sums[p + 1, cell], sums[p + 2, cell], sums[p + 3, cell] = s, t, u, v
    for p in range(whole, pairs.shape[0]):
        a, b = measured[pairs[p, 0]], measured[pairs[p, 1]]
        for i in range(n):
            sums[p, U(cells[i])] += _gap(a[i], b[i])


@inline
def _gap(a, b):
    gap = abs(a - b)
    if not gap < math.inf:
        gap = math.inf if math.isfinite(a) or math.isfinite(b) else 0.0
    return gap


def _loss(truth, predicted, parameter):
    raise NotImplementedError


def _row_losses(truth, predicted, parameter, losses):
    for i in range(truth.size):
        value = _loss(truth[i], predicted[i], parameter)
        losses[i] = value if abs(value) < math.inf else math.inf


def _add_losses(truth, predicted, cells, parameter, sums):
    for i in range(truth.size):
        sums[U(cells[i])] += _loss(truth[i], predicted[i], parameter)


def _add_measures(truth, predicted, cells, rows, parameter, root, sums):
    reach = 0.0
    odd = False
    for j in range(rows.size):
        i = rows[j]
        value = predicted[i]
        if root:
            value = math.sqrt(_loss(truth[i], value, parameter))
        sums[U(cells[i])] += value
        size = abs(value)
        if size > reach:
            reach = size
        if size != size:
            odd = True
    return math.inf if odd else reach


TABLE = [loss for loss in LOSSES.values() if loss.compiled and loss.of != "margin"]


@entries_for(TABLE)
@cache
def row_losses(loss: LossFunction) -> Any:
    """The kernel that computes the loss of each row, infinite if it is not finite."""
    return entry("=f8[] =f8[] f8 f8[]")(standing_for(_row_losses, loss.name, _loss=compiled_row_loss(loss)))


@entries_for(TABLE)
@cache
def add_losses(loss: LossFunction) -> Any:
    """The kernel that adds the loss of each row to the sum of its cell."""
    return entry("=f8[] =f8[] i4[] f8 f8[]")(
        standing_for(_add_losses, loss.name, _loss=compiled_row_loss(loss))
    )


@entries_for(TABLE)
@cache
def add_measures(loss: LossFunction) -> Any:
    """The kernel that adds predictions, or roots of losses, of some rows to the sums of their cells.

    It returns the largest size of them.
    """
    return entry("=f8[] =f8[] i4[] i8[] f8 b1 f8[]")(
        standing_for(_add_measures, loss.name, _loss=compiled_row_loss(loss))
    )
