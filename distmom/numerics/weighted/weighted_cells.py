"""Running weighted moments of many cells; see ``cells.py`` for cells, ``weighted.py`` for the moments.

Two running means for each cell, one with the masses w and one with the masses w^2 (West 1979).
"""

from __future__ import annotations

import numpy as np

from distmom.numerics.arrays import Bools, Floats, Ints
from distmom.numerics.blocks.block_state import BlockState
from distmom.numerics.blocks.cells import Cells, block_cells, rows_by_rank
from distmom.numerics.blocks.labels import LabelTable
from distmom.numerics.blocks.leaf import read_only
from distmom.numerics.twins import compiled_twin
from distmom.numerics.weighted.weighted_moments import WeightedMoments

_kernels = compiled_twin(__name__)

WEIGHTED_CELL_BYTES = 48


class WeightedCells(Cells):
    """Weighted moments of a growing number of cells.

    Its table has, for each cell, rows, weight, mean, weight2, mean2 and m2, as `WeightedMoments` has them.
    """

    width = WEIGHTED_CELL_BYTES // 8

    def add(self, x: Floats, gone: Bools | None, cells: Ints, w: Floats | None = None) -> None:
        """Add each value to its cell, with its positive weight; see `Cells.add`.

        With all weights equal to one power of two the bits are those of `Cells`.
        """
        assert w is not None
        if self._compiled:
            none = gone if gone is not None else np.empty(0, np.bool_)
            _kernels.add_weighted_rows(read_only(x), read_only(w), none, cells, self._cells)
            return
        if gone is not None:
            x, w, cells = x[~gone], w[~gone], cells[~gone]
        if x.size:
            _add_moments(x, w, cells, self._cells)

    def add_blocks(
        self,
        x: Floats,
        gone: Bools | None,
        codes: Ints,
        first_row: int,
        key: np.uint64,
        table: LabelTable,
        width: int,
        w: Floats | None = None,
    ) -> None:
        """Add consecutive rows of a file to random blocks of their groups: the cells are `block_cells`."""
        self.add(x, gone, block_cells(codes, first_row, key, table, width, compiled=self._compiled), w)

    def unload(self, n_groups: int, n_blocks: int, n_once: int) -> BlockState:
        """Moments of the first cells, and all cells anew; see `Cells.unload`."""
        return self._unload(n_groups, n_blocks, n_once)

    def moments(self, n_cells: int) -> WeightedMoments:
        """Moments of the first `n_cells` cells (views, but for the rows)."""
        rows, *rest = self._cells[:n_cells].T
        return WeightedMoments(rows.astype(np.int64), *rest)


def new_cells(*, weighted: bool, compiled: bool) -> Cells:
    """Cells for rows with or without weights."""
    return (WeightedCells if weighted else Cells)(compiled=compiled)


def _add_moments(x: Floats, w: Floats, cells: Ints, table: Floats) -> None:
    """NumPy twin of `weighted_cells_compiled.add_weighted_rows`."""
    order, touched, ranks = rows_by_rank(cells)
    x, w = x[order], w[order]
    state = table[touched].T.copy()
    with np.errstate(invalid="ignore", over="ignore"):
        for rows in ranks:
            values, weights = x[rows], w[rows]
            count, weight, mean, weight2, mean2, m2 = state[:, : rows.size]
            count += 1.0
            _step(values, weights, weight, mean, None)
            _step(values, weights * weights, weight2, mean2, m2)
    table[touched] = state.T


def _step(x: Floats, mass: Floats, total: Floats, mean: Floats, m2: Floats | None) -> None:
    """One value for each cell, in place."""
    before = total.copy()
    total += mass
    delta = x - mean
    moved = mean + mass * delta / total
    if m2 is not None:
        m2 += mass * delta * (x - moved)
    strange = ~np.isfinite(delta)
    if strange.any():
        both = np.isfinite(mean) & np.isfinite(x)  # the difference alone overflowed
        weighted = mean * (before / total) + x / total * mass
        odd = np.where(both, weighted, np.where(before == 0.0, x, mean + x))
        moved = np.where(strange, odd, moved)
        if m2 is not None:
            m2[:] = np.where(strange, np.where(both, np.inf, np.nan), m2)
    mean[:] = moved
