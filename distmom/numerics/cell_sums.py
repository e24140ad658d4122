"""Sums of values, and of distances of paired values, in cells: rows are added in their order.

So the cuts of a leaf into pieces do not change a bit.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Cells = NDArray[np.int32]


def add_to_cells(values: Floats, cells: Cells, sums: Floats, *, compiled: bool = False) -> None:
    """Add each value to the sum of its cell, in the order of the rows."""
    if compiled:
        from distmom.numerics.cell_sums_compiled import add_values

        add_values(values, cells, sums)
        return
    with np.errstate(over="ignore", invalid="ignore"):
        np.add.at(sums, cells, values)


def add_distances(
    a: Floats, b: Floats, cells: Cells, sums: Floats, *, squared: bool = False, compiled: bool = False
) -> None:
    """Add |a - b| of each row, or its square, to the sum of its cell.

    Where neither is finite the distance is 0, where one of them is not it is infinite.
    """
    if compiled:
        from distmom.numerics.cell_sums_compiled import add_gaps

        add_gaps(a, b, cells, sums, squared)
        return
    with np.errstate(over="ignore", invalid="ignore"):
        gap = np.abs(a - b)
        odd = ~np.isfinite(a) | ~np.isfinite(b)
        gap[odd] = np.where(np.isfinite(a[odd]) | np.isfinite(b[odd]), np.inf, 0.0)
        np.add.at(sums, cells, gap * gap if squared else gap)
