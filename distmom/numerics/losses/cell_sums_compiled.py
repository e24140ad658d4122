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


def _add_losses(truth, predicted, cells, parameter, at, sums):
    a, b, c, d = predicted
    for i in range(truth.size):
        k, y = U(cells[i]), truth[i]
        sums[k, at] += _loss(y, a[i], parameter)
        sums[k, at + U(1)] += _loss(y, b[i], parameter)
        sums[k, at + U(2)] += _loss(y, c[i], parameter)
        sums[k, at + U(3)] += _loss(y, d[i], parameter)


def _add_measures(truth, predicted, cells, rows, parameter, root, at, sums, reach):
    a, b, c, d = predicted
    p, q, r, s = reach[at], reach[at + U(1)], reach[at + U(2)], reach[at + U(3)]
    for j in range(rows.size):
        k, i = U(cells[j]), U(rows[j])
        e, f, g, h = a[i], b[i], c[i], d[i]
        if root:
            y = truth[i]
            e, f = math.sqrt(_loss(y, e, parameter)), math.sqrt(_loss(y, f, parameter))
            g, h = math.sqrt(_loss(y, g, parameter)), math.sqrt(_loss(y, h, parameter))
        sums[k, at] += e
        sums[k, at + U(1)] += f
        sums[k, at + U(2)] += g
        sums[k, at + U(3)] += h
        p, q, r, s = _reached(p, e), _reached(q, f), _reached(r, g), _reached(s, h)
    reach[at], reach[at + U(1)], reach[at + U(2)], reach[at + U(3)] = p, q, r, s


@inline
def _reached(reach, value):
    size = abs(value)
    if not size <= reach:
        reach = size if size == size else math.inf
    return reach


FOUR = "(=f8[] =f8[] =f8[] =f8[])"
"""Predictions of candidates side by side: an addition waits for the one before it in the same cell."""

TABLE = [loss for loss in LOSSES.values() if loss.compiled and loss.of != "margin"]


@entries_for(TABLE)
@cache
def row_losses(loss: LossFunction) -> Any:
    """The kernel that computes the loss of each row, infinite if it is not finite."""
    return entry("=f8[] =f8[] f8 f8[]")(standing_for(_row_losses, loss.name, _loss=compiled_row_loss(loss)))


@entries_for(TABLE)
@cache
def add_losses(loss: LossFunction) -> Any:
    """The kernel that adds the losses of four candidates in each row to the sums of its cell."""
    return entry(f"=f8[] {FOUR} i4[] f8 u8 f8[,]")(
        standing_for(_add_losses, loss.name, _loss=compiled_row_loss(loss))
    )


@entries_for(TABLE)
@cache
def add_measures(loss: LossFunction) -> Any:
    """The kernel that adds predictions, or roots of losses, of some rows to the sums of their cells.

    It keeps the largest sizes of them.
    """
    return entry(f"=f8[] {FOUR} i4[] i8[] f8 b1 u8 f8[,] f8[]")(
        standing_for(_add_measures, loss.name, _loss=compiled_row_loss(loss))
    )
