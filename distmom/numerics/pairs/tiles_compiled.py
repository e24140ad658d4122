"""Compiled tiles of pairs; the NumPy twin with the same bits, and the order of all sums, are in ``tiles.py``.

`_pair_sums` is compiled for each kernel of the table `FILLS`, with its functions in place of `_fill`,
`_lanes` and so on; and for each compiled function of a user, anew in each process.
"""

# mypy: allow-untyped-defs, allow-untyped-calls

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np

from distmom.numerics._jit import anew, entries_for, entry, inline, standing_for
from distmom.numerics.kernels.exponential import exp_of_negative
from distmom.numerics.losses.table import LOSSES, names_of
from distmom.numerics.losses.table_compiled import compiled_value

_fill: Any = None
_lanes: Any = None
_loss: Any = None
_of_pair: Any = None
_term: Any = None
_finish: Any = None

_hinge = compiled_value(LOSSES["hinge"])


def _fill_rows(k, lanes, first, y, j, size, out):
    row = y[j]
    for i in range(size):
        out[i] = _of_pair(k, lanes[i], row)


def _fill_ranking(k, lanes, first, y, j, size, out):
    """Rows are (outcome, score): the loss of z = -(s - s') g, and a constant for equal outcomes."""
    outcomes, scores, outcome, score = lanes[0], lanes[1], y[j, 0], y[j, 1]
    for i in range(size):
        order = (1.0 if outcomes[i] > outcome else 0.0) - (1.0 if outcomes[i] < outcome else 0.0)
        weight = outcomes[i] - outcome if k[0] > 0.5 else order
        loss = _loss(-((scores[i] - score) * weight), 0.0)
        out[i] = k[1] if order == 0.0 else loss


def _fill_columns(k, lanes, first, y, j, size, out):
    """A term for each column's difference, and a function of their sum and of the first columns (labels)."""
    for i in range(size):
        out[i] = 0.0
    for c in range(first, lanes.shape[0]):
        column, own = lanes[c], y[j, c]
        for i in range(size):
            out[i] += _term(k, column[i] - own)
    labels, label = lanes[0], y[j, 0]
    for i in range(size):
        out[i] = _finish(k, out[i], labels[i], label)


@inline
def _of_user(k, a, b):
    return k(a, b)


@inline
def _absolute_difference(k, a, b):
    return abs(a - b)


@inline
def _square(k, d):
    return d * d


@inline
def _absolute(k, d):
    return abs(d)


@inline
def _root(k, total, a, b):
    return math.sqrt(total)


@inline
def _fading(k, total, a, b):
    return exp_of_negative(-(total * k[0]))


@inline
def _within_cells(k, total, a, b):
    distance = total if k[0] > 0.5 else math.sqrt(total)
    return distance if a == b else 0.0


@inline
def _metric_hinge(k, total, a, b):
    return _hinge((1.0 if a == b else -1.0) * (total - k[0]), 0.0)


FILLS: dict[str, tuple[Any, dict[str, Any]]] = {
    "function": (_fill_rows, {"_of_pair": _of_user}),
    "absolute": (_fill_rows, {"_of_pair": _absolute_difference}),
    "euclidean": (_fill_columns, {"_term": _square, "_finish": _root}),
    "gaussian": (_fill_columns, {"_term": _square, "_finish": _fading}),
    "laplace": (_fill_columns, {"_term": _absolute, "_finish": _fading}),
    "cells": (_fill_columns, {"_term": _square, "_finish": _within_cells}),
    "metric": (_fill_columns, {"_term": _square, "_finish": _metric_hinge}),
    **{name: (_fill_ranking, {"_loss": compiled_value(LOSSES[name])}) for name in names_of("margin")},
}
"""For each name of `Inlined` the function that writes the kernel of each lane and row j of y to `out`.

`first` is the first column that is not a label. "function" is a user's, itself the first argument.
"""

N_PARAMETERS = {name: 2 if fill is _fill_ranking else 1 for name, (fill, _) in FILLS.items()}
N_PARAMETERS |= {"absolute": 0, "euclidean": 0}
"""Number of parameters of `Inlined` for each name."""


@inline
def _as_rows(rows):
    return rows


@inline
def _as_columns(rows):
    return rows.T.copy()


@anew
def _halve(values, size):
    """Sum by adding the upper half to the lower one until one value is left; `values` are overwritten."""
    while size > 1:
        if size == 16:  # the same additions, written out
            a, b, c, d = (
                values[0] + values[8],
                values[1] + values[9],
                values[2] + values[10],
                values[3] + values[11],
            )
            e, f, g, h = (
                values[4] + values[12],
                values[5] + values[13],
                values[6] + values[14],
                values[7] + values[15],
            )
            return ((a + e) + (c + g)) + ((b + f) + (d + h))
        half = size // 2
        low, high = values[:half], values[size - half : size]  # slices: loops from 0 are vectorised
        for i in range(half):
            low[i] += high[i]
        size -= half
    return values[0]


def _tile(k, lanes, first, x0, size, y, y0, y1, same, of_x, of_y, sums, squares, rows, right):
    """Add the pairs of a strip of x (rows x0 ... x0 + size - 1) with the rows y0 ... y1 - 1 of y."""
    row_a, row_b, row_c, row_d = rows[0], rows[1], rows[2], rows[3]
    for j in range(y0, y1, 4):
        for g in range(4):
            row = rows[g]
            kept = size
            if j + g >= y1:
                kept = 0
            elif same:  # each pair once, none of a row with itself
                kept = min(size, j + g - x0)
            if kept > 0:
                _fill(k, lanes, first, y, j + g, size, row)
            for i in range(kept, size):
                row[i] = 0.0
        if of_x is None:
            for i in range(size):
                a, b, c, d = row_a[i], row_b[i], row_c[i], row_d[i]
                sums[i] += (a + b) + (c + d)
                squares[i] += (a * a + b * b) + (c * c + d * d)
        else:
            for g in range(min(4, y1 - j)):
                row, v = rows[g], of_y[j + g]
                for i in range(size):
                    w, h = of_x[x0 + i], row[i]
                    sums[i] += v * h
                    squares[i] += (w * v) * (h * h)
                    row[i] = w * h
        if right.size > 0:
            for g in range(min(4, y1 - j)):
                right[j + g] += _halve(rows[g], size)


def _pair_sums(k, x, y, first, same, of_x, of_y, tile, left, right):
    """Sums of a kernel over pairs of rows of x and y: for each row of x into `left`, of y into `right`.

    Returns the sum of squares. With `same`, x and y are the same rows and each pair counts once. Sums of y
    are not computed if `right` has size 0.
    """
    total = 0.0
    sums, squares, rows = np.empty(tile), np.empty(tile), np.empty((4, tile))
    for x0 in range(0, x.shape[0], tile):
        size = min(tile, x.shape[0] - x0)
        lanes = _lanes(x[x0 : x0 + size])
        for y0 in range(x0 if same else 0, y.shape[0], tile):
            sums[:] = 0.0
            squares[:] = 0.0
            y1 = min(y0 + tile, y.shape[0])
            diagonal = same and y0 == x0
            _tile(k, lanes, first, x0, size, y, y0, y1, diagonal, of_x, of_y, sums, squares, rows, right)
            for i in range(size):
                left[x0 + i] += sums[i]
            total += _halve(squares, size)
    return total


@entries_for(name for name in FILLS if name != "function")
@cache
def pair_sums(name: str) -> Any:
    """`_pair_sums` of a name of `FILLS`; kept on disk, except for users' functions."""
    template, functions = FILLS[name]
    fill = anew(standing_for(template, name, **functions))
    lanes = _as_rows if template is _fill_rows else _as_columns
    tile = anew(standing_for(_tile, name, _fill=fill))  # not kept by itself: it is part of its callers
    made = standing_for(_pair_sums, name, _tile=tile, _lanes=lanes)
    if name == "function":
        return anew(made)
    rows = "f8[]" if template is _fill_rows else "f8[,]"
    numbers = " ".join(["f8"] * N_PARAMETERS[name])
    takes = (f"({numbers}) {rows} {rows} i8 b1 {w} {w} i8 f8[] f8[]" for w in ("none", "f8[]"))
    return entry(*takes, error_model="numpy")(made)
