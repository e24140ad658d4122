"""Running moments of many cells, such as (group, block): one value at a time, in the order of the rows.

With a shift of its own for every cell there is nothing to subtract from sums, so groups of very different
sizes and levels keep all digits (Welford 1962).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from distmom.numerics.moments import Moments

Floats = NDArray[np.float64]


def add_cells(
    x: Floats,
    gone: NDArray[np.bool_] | None,
    cells: NDArray[np.int64],
    moments: Moments,
    *,
    compiled: bool = False,
) -> None:
    """Add each value to the moments of its cell, in place.

    Parameters
    ----------
    x : ndarray of float64, shape (n,)
        Values; anything where `gone`.
    gone : ndarray of bool, shape (n,), or None
        Rows that do not count.
    cells : ndarray of int64, shape (n,)
        Number of the cell of each row; anything where `gone`.
    moments : Moments
        Flat arrays over the cells, changed in place. An infinite or NaN value makes the mean what plain
        addition gives and the second moment NaN.
    compiled : bool
        Use the compiled twin (same bits).
    """
    if compiled:
        from distmom.numerics.cells_compiled import welford

        none = gone if gone is not None else np.empty(0, np.bool_)
        welford(x, none, cells, moments.count, moments.mean, moments.m2)
        return
    if gone is not None:
        x, cells = x[~gone], cells[~gone]
    if x.size == 0:
        return
    # rows sorted by cell; then the first row of every cell, the second of every cell, … each at once
    order = np.argsort(cells, kind="stable")
    x, cells = x[order], cells[order]
    starts = np.flatnonzero(np.concatenate([[True], cells[1:] != cells[:-1]]))
    lengths = np.diff(np.concatenate([starts, [x.size]]))
    longest_first = np.argsort(-lengths, kind="stable")
    starts, lengths, touched = (a[longest_first] for a in (starts, lengths, cells[starts]))
    count, mean, m2 = moments.at(touched)
    with np.errstate(invalid="ignore", over="ignore"):
        for rank in range(int(lengths[0])):
            live = int(np.searchsorted(-lengths, -rank, side="left"))  # cells with more than `rank` rows
            _step(x[starts[:live] + rank], count[:live], mean[:live], m2[:live])
    moments.count[touched], moments.mean[touched], moments.m2[touched] = count, mean, m2


def _step(x: Floats, count: NDArray[np.int64], mean: Floats, m2: Floats) -> None:
    """One value for each cell."""
    count += 1
    delta = x - mean
    moved = mean + delta / count.astype(np.float64)
    m2 += delta * (x - moved)
    strange = ~np.isfinite(delta)
    if strange.any():
        n = count.astype(np.float64)
        both = np.isfinite(mean) & np.isfinite(x)  # the difference alone overflowed
        weighted = mean * ((n - 1.0) / n) + x / n
        odd = np.where(both, weighted, np.where(count == 1, x, mean + x))
        m2[:] = np.where(strange, np.where(both, np.inf, np.nan), m2)
        moved = np.where(strange, odd, moved)
    mean[:] = moved
