"""Compiled tiles of pairs; the NumPy twin with the same bits, and the order of all sums, are in ``tiles.py``.

`pair_sums` is compiled for each type of its first argument: parameters of a kernel (`tile_types`), whose type
picks the function below that is inlined, or a compiled function of a user. Numba's cache knows the former by
name; a function of a user is compiled anew in each process, hence `uncached_pair_sums`.
"""

# mypy: allow-untyped-defs, allow-untyped-calls, disable-error-code="misc"

from __future__ import annotations

import math

import numpy as np
from numba import types
from numba.extending import overload

from distmom.numerics._jit import anew, inline, njit, standing_for
from distmom.numerics.kernels.exponential import exp_of_negative
from distmom.numerics.losses import table
from distmom.numerics.losses.table_compiled import compiled_value
from distmom.numerics.pairs import tile_types

_hinge = compiled_value(table.LOSSES["hinge"])


def _absolute_difference(k, a, b):
    return abs(a - b)


def _margin_loss(z, t):
    raise NotImplementedError


@inline
def _margin(k, y, s, other_y, other_s):
    """What the loss is taken of, -(s - s') g, and whether the outcomes are equal."""
    order = (1.0 if y > other_y else 0.0) - (1.0 if y < other_y else 0.0)
    weight = y - other_y if k.magnitude > 0.5 else order
    return -((s - other_s) * weight), order == 0.0


def _ranking(k, y, s, other_y, other_s):
    z, tied = _margin(k, y, s, other_y, other_s)
    loss = _margin_loss(z, 0.0)
    return k.tied if tied else loss


def _square(k, d):
    return d * d


def _absolute(k, d):
    return abs(d)


def _root(k, total, a, b):
    return math.sqrt(total)


def _fading(k, total, a, b):
    return exp_of_negative(-(total * k.rate))


def _within_cells(k, total, a, b):
    distance = total if k.squared > 0.5 else math.sqrt(total)
    return distance if a == b else 0.0


def _metric_hinge(k, total, a, b):
    return _hinge((1.0 if a == b else -1.0) * (total - k.threshold), 0.0)


OF_ONE_COLUMN = {tile_types.AbsoluteDifference: _absolute_difference}
"""Functions of two numbers."""

OF_TWO_COLUMNS = {
    kind: standing_for(_ranking, name, _margin_loss=compiled_value(table.LOSSES[name]))
    for name, kind in tile_types.RANKINGS.items()
}
"""Functions of the two columns of two rows."""

OF_COLUMN_SUMS = {
    tile_types.Euclidean: (_square, _root),
    tile_types.SquaredExponential: (_square, _fading),
    tile_types.Laplacian: (_absolute, _fading),
    tile_types.WithinCells: (_square, _within_cells),
    tile_types.MetricHinge: (_square, _metric_hinge),
}
"""A term for each column's difference, and a function of their sum and of the first columns (labels)."""


def _of_rows(k, a, b):
    raise NotImplementedError


def _of_two(k, y, s, other_y, other_s):
    raise NotImplementedError


def _term(k, d):
    raise NotImplementedError


def _finish(k, total, a, b):
    raise NotImplementedError


def _lanes(k, rows):
    raise NotImplementedError


def _fill(k, lanes, first, y, j, size, out):
    raise NotImplementedError


@overload(_of_rows)
def _pick_of_rows(k, a, b):
    if isinstance(k, types.Dispatcher):
        return lambda k, a, b: k(a, b)
    return OF_ONE_COLUMN[k.instance_class]


@overload(_of_two, inline="always")
def _pick_of_two(k, y, s, other_y, other_s):
    return OF_TWO_COLUMNS[k.instance_class]


@overload(_term)
def _pick_term(k, d):
    return OF_COLUMN_SUMS[k.instance_class][0]


@overload(_finish, inline="always")
def _pick_finish(k, total, a, b):
    return OF_COLUMN_SUMS[k.instance_class][1]


def _is_of(k, functions):
    return not isinstance(k, types.Dispatcher) and k.instance_class in functions


@overload(_lanes)
def _pick_lanes(k, rows):
    """Rows as lanes: column by column, or as they are for functions of single rows."""
    if _is_of(k, OF_COLUMN_SUMS) or _is_of(k, OF_TWO_COLUMNS):
        return lambda k, rows: rows.T.copy()
    return lambda k, rows: rows


@overload(_fill)
def _pick_fill(k, lanes, first, y, j, size, out):
    """Kernel of each lane with row j of y, into `out`; `first` is the first column that is no label."""

    def from_columns(k, lanes, first, y, j, size, out):
        for i in range(size):
            out[i] = 0.0
        for c in range(first, lanes.shape[0]):
            column, own = lanes[c], y[j, c]
            for i in range(size):
                out[i] += _term(k, column[i] - own)
        labels, label = lanes[0], y[j, 0]
        for i in range(size):
            out[i] = _finish(k, out[i], labels[i], label)

    def from_two_columns(k, lanes, first, y, j, size, out):
        one, two, own_one, own_two = lanes[0], lanes[1], y[j, 0], y[j, 1]
        for i in range(size):
            out[i] = _of_two(k, one[i], two[i], own_one, own_two)

    def from_rows(k, lanes, first, y, j, size, out):
        row = y[j]
        for i in range(size):
            out[i] = _of_rows(k, lanes[i], row)

    if _is_of(k, OF_COLUMN_SUMS):
        return from_columns
    return from_two_columns if _is_of(k, OF_TWO_COLUMNS) else from_rows


@anew
def _halve(values, size):
    """Sum by adding the upper half to the lower one until one value is left; `values` are lost."""
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


@anew
def _tile(k, lanes, first, x0, size, y, y0, y1, same, of_x, of_y, sums, squares, rows, right):
    """Add the pairs of a strip of x (rows x0 ... x0 + size - 1) with the rows y0 ... y1 - 1 of y.

    Not kept on disk of its own: it would leave a useless file for each function of a user.
    """
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


def pair_sums(k, x, y, first, same, of_x, of_y, tile, left, right):
    """Sums of a kernel over pairs of rows of x and y: for each row of x into `left`, of y into `right`.

    Returns the sum of squares. With `same`, x and y are the same rows and each pair counts once. Sums of y
    are not taken where `right` has size 0.
    """
    total = 0.0
    sums, squares, rows = np.empty(tile), np.empty(tile), np.empty((4, tile))
    for x0 in range(0, x.shape[0], tile):
        size = min(tile, x.shape[0] - x0)
        lanes = _lanes(k, x[x0 : x0 + size])
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


uncached_pair_sums = anew(pair_sums)
pair_sums = njit(pair_sums, error_model="numpy")
