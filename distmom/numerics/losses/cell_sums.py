"""Sums of values, and of distances of paired values, in cells: rows are added in their order.

So dividing a leaf into pieces does not change a bit.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from distmom.numerics.arrays import Floats, Ints, read_only
from distmom.numerics.losses.table import LossFunction
from distmom.numerics.twins import compiled_twin

_kernels = compiled_twin(__name__)

Cells = NDArray[np.int32]

ABREAST = 4
"""Candidates whose losses are added side by side."""


def add_to_cells(values: Floats, cells: Cells, sums: Floats, *, compiled: bool = False) -> None:
    """Add each value to the sum of its cell, in the order of the rows."""
    if compiled:
        _kernels.add_values(read_only(values), cells, sums)
        return
    with np.errstate(over="ignore", invalid="ignore"):
        np.add.at(sums, cells, values)


def add_distances(
    measured: Floats, pairs: NDArray[np.int32], cells: Cells, sums: Floats, *, compiled: bool = False
) -> None:
    """Add |a - b| of each pair and row to the sum of the pair and the row's cell.

    If neither is finite the distance is 0; if one of them is not, it is infinite. It is fastest if rows of a
    cell are neighbours.

    Parameters
    ----------
    measured : ndarray of float64, shape (m, n)
    pairs : ndarray of int32, shape (p, 2)
        Rows of `measured`.
    cells : ndarray of int32, shape (n,)
    sums : ndarray of float64, shape (p, n_cells)
    """
    if compiled:
        _kernels.add_gaps(read_only(measured), pairs, cells, sums)
        return
    finite = np.isfinite(measured)
    for place, (f, g) in enumerate(pairs.tolist()):
        with np.errstate(over="ignore", invalid="ignore"):
            gap = np.abs(measured[f] - measured[g])
            if not (finite[f].all() and finite[g].all()):
                odd = ~(finite[f] & finite[g])
                gap[odd] = np.where(finite[f][odd] | finite[g][odd], np.inf, 0.0)
            np.add.at(sums[place], cells, gap)


def row_losses(
    truth: Floats,
    predicted: Floats,
    loss: Callable[[Floats, Floats], Floats],
    named: tuple[LossFunction, float] | None = None,
) -> Floats:
    """The loss of each row, infinite if it is not finite; by the compiled kernel of a `named` loss."""
    if named is not None:
        (chosen, parameter), losses = named, np.empty(truth.size)
        predicted = read_only(np.ascontiguousarray(predicted))
        _kernels.row_losses(chosen)(read_only(truth), predicted, parameter, losses)
        return losses
    with np.errstate(over="ignore", invalid="ignore"):
        losses = loss(truth, predicted)
        finite = bool(np.isfinite(losses.sum()))  # an overflow only takes the slower path
    return np.ascontiguousarray(losses if finite else np.where(np.isfinite(losses), losses, np.inf))


def padded(n_candidates: int) -> int:
    """Columns of the sums of so many candidates: a multiple of `ABREAST`."""
    return -(-n_candidates // ABREAST) * ABREAST


def add_losses(
    truth: Floats,
    predicted: Sequence[Floats],
    cells: Cells,
    first: int,
    sums: Floats,
    loss: Callable[[Floats, Floats], Floats],
    named: tuple[LossFunction, float] | None = None,
) -> None:
    """Add the losses of up to `ABREAST` candidates in each row to the sums of its cell.

    Parameters
    ----------
    truth : ndarray of float64, shape (n,)
    predicted : sequence of ndarray of float64, shape (n,)
    cells : ndarray of int32, shape (n,)
    first : int
        The first candidate's column of the sums; a multiple of `ABREAST`.
    sums : ndarray of float64, shape (n_cells, padded(m))
        Columns of no candidate are undefined.
    loss : callable
    named : (LossFunction, parameter), optional
        The same loss, for the compiled kernel.
    """
    if named is None:
        for c, one in enumerate(predicted, first):
            _add_to_column(loss(truth, one), cells, sums, c)
        return
    chosen, parameter = named
    add = _kernels.add_losses(chosen)
    add(read_only(truth), _abreast(predicted), cells, parameter, np.uint64(first), sums)


def add_measures(
    truth: Floats,
    predicted: Sequence[Floats],
    cells: Cells,
    rows: Ints,
    first: int,
    sums: Floats,
    reach: Floats,
    measure: Callable[[Floats, Floats], Floats],
    named: tuple[LossFunction, float] | None = None,
    *,
    root: bool = False,
) -> None:
    """Add the values that distances compare, in some rows, to the sums of their cells; as `add_losses`.

    `cells` are those of the `rows`. `reach`, of shape (padded(m),), becomes at least the largest size of a
    value, and infinite for NaN. With a `named` loss the value is the root of this loss, or the prediction.
    """
    if named is None:
        for c, one in enumerate(predicted, first):
            values = measure(truth[rows], one[rows])
            _add_to_column(values, cells, sums, c)
            most = float(np.abs(values).max(initial=reach[c]))
            reach[c] = most if math.isfinite(most) else math.inf
        return
    chosen, parameter = named
    add = _kernels.add_measures(chosen)
    at = np.uint64(first)
    add(read_only(truth), _abreast(predicted), cells, rows, parameter, root, at, sums, reach)


def _add_to_column(values: Floats, cells: Cells, sums: Floats, c: int) -> None:
    column = sums[:, c].copy()
    add_to_cells(values, cells, column)
    sums[:, c] = column


def _abreast(predicted: Sequence[Floats]) -> tuple[Floats, ...]:
    """As many as a kernel takes; the last one again where there are fewer."""
    found = tuple(map(read_only, predicted))
    return found + found[-1:] * (ABREAST - len(found))
