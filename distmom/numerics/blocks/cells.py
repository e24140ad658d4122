"""Running moments of many cells, such as (group, block).

With a mean of its own for every cell there is nothing to subtract from sums, so groups of very different
sizes and levels keep all digits (Welford 1962). What belongs to a cell lies together in memory: with a
hundred thousand cells the time goes into fetching them.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from distmom.numerics.arrays import Bools, Floats, Ints
from distmom.numerics.blocks.block_state import BlockState
from distmom.numerics.blocks.labels import LabelTable, chunk_labels
from distmom.numerics.blocks.leaf import with_total
from distmom.numerics.blocks.moments import Moments
from distmom.numerics.ranks.order import run_starts
from distmom.numerics.twins import compiled_twin

_kernels = compiled_twin(__name__)

COUNT, MEAN, M2 = range(3)
CELL_BYTES = 24


class Cells:
    """Moments of a growing number of cells."""

    width = CELL_BYTES // 8

    def __init__(self, *, compiled: bool = False) -> None:
        self._compiled = compiled
        self._cells = np.empty((0, self.width))

    def grow(self, n_cells: int) -> None:
        """Make room for `n_cells` cells; by doubling, so that growth stays linear."""
        have = len(self._cells)
        if n_cells > have:
            more = max(n_cells, 2 * have) - have
            self._cells = np.concatenate([self._cells, np.zeros((more, self.width))])

    def add(self, x: Floats, gone: Bools | None, cells: Ints, w: Floats | None = None) -> None:
        """Add each value to its cell.

        Parameters
        ----------
        x : ndarray of float64, shape (n,)
            Values; anything where `gone`.
        gone : ndarray of bool, shape (n,), or None
            Rows that do not count.
        cells : ndarray of int64, shape (n,)
            Number of the cell of each row, below that of the last `grow`; anything where `gone`.
        w : None
            Only `weighted_cells.WeightedCells` take weights.

        Notes
        -----
        Rows are added in their order, so the bits do not depend on how they come in batches. An infinite or
        NaN value makes the mean what plain addition gives and the second moment NaN.
        """
        if self._compiled:
            none = gone if gone is not None else np.empty(0, np.bool_)
            _kernels.add_rows(x, none, cells, self._cells)
            return
        if gone is not None:
            x, cells = x[~gone], cells[~gone]
        if x.size:
            _add_moments(x, cells, self._cells)

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
        if self._compiled:
            none = gone if gone is not None else np.empty(0, np.bool_)
            n_blocks, magic = table.n_blocks // width, -(-(1 << _kernels.MAGIC_BITS) // width)
            _kernels.add_blocks(x, none, codes, first_row, key, table.forward, n_blocks, magic, self._cells)
            return
        self.add(x, gone, block_cells(codes, first_row, key, table, width))

    def moments(self, n_cells: int) -> BlockState:
        """Moments of the first `n_cells` cells (views of the means)."""
        part = self._cells[:n_cells]
        return Moments(part[:, COUNT].astype(np.int64), part[:, MEAN], part[:, M2])

    def unload(self, n_groups: int, n_blocks: int, n_once: int) -> BlockState:
        """Moments of the first cells, shape (n_groups, n_blocks); all cells start anew.

        Every row is once in the first `n_once` blocks of its group; if there are such, each group has one
        more place, for these together.
        """
        if self._compiled:
            shape = (n_groups, n_blocks + (n_once > 0))
            out = Moments(np.empty(shape, np.int64), np.empty(shape), np.empty(shape))
            _kernels.unload(self._cells, n_blocks, n_once, *out)
            return out
        return self._unload(n_groups, n_blocks, n_once)

    def _unload(self, n_groups: int, n_blocks: int, n_once: int) -> BlockState:
        blocks = self.moments(n_groups * n_blocks).each(lambda a: a.reshape(n_groups, n_blocks).copy())
        self._cells[:] = 0.0
        return with_total(blocks, n_once=n_once, compiled=self._compiled) if n_once else blocks


def block_cells(
    codes: Ints,
    first_row: int,
    key: np.uint64,
    table: LabelTable,
    width: int,
    chunk_rows: int = 1,
    *,
    compiled: bool = False,
) -> Ints:
    """Cells of consecutive rows: their group's code times the number of blocks, plus their block.

    `width` neighbouring labels of the table make one block; `chunk_rows` consecutive rows have one label.
    """
    n_blocks = table.n_blocks // width
    if compiled:
        out = np.empty(codes.size, np.int64)
        _kernels.chunk_cells(codes, first_row, chunk_rows, key, table.forward, width, n_blocks, out)
        return out
    return codes * n_blocks + chunk_labels(first_row, codes.size, chunk_rows, key, table) // width


def _add_moments(x: Floats, cells: Ints, table: Floats) -> None:
    """NumPy twin: rows sorted by cell; then all cells' first rows at once, all second ones, and so on."""
    order, touched, ranks = rows_by_rank(cells)
    x = x[order]
    count, mean, m2 = (table[touched, i] for i in (COUNT, MEAN, M2))
    with np.errstate(invalid="ignore", over="ignore"):
        for rows in ranks:
            live = slice(rows.size)
            _step(x[rows], count[live], mean[live], m2[live])
    table[touched, COUNT], table[touched, MEAN], table[touched, M2] = count, mean, m2


def rows_by_rank(
    cells: Ints,
) -> tuple[Ints, Ints, Iterator[Ints]]:
    """An order of the rows by cell; the cells met, those of most rows first; and the rows to add together.

    The latter are places in that order: the first row of each cell, then the second one of those that have
    two, and so on, always in the order of the cells.
    """
    order = np.argsort(cells, kind="stable")
    cells = cells[order]
    runs = run_starts(cells)
    starts, lengths = runs[:-1], np.diff(runs)
    longest_first = np.argsort(-lengths, kind="stable")
    starts, lengths, touched = (a[longest_first] for a in (starts, lengths, cells[starts]))
    live = (int(np.searchsorted(-lengths, -rank, side="left")) for rank in range(int(lengths[0])))
    return order, touched, (starts[:n] + rank for rank, n in enumerate(live))


def _step(x: Floats, count: Floats, mean: Floats, m2: Floats) -> None:
    """One value for each cell."""
    count += 1.0
    delta = x - mean
    moved = mean + delta / count
    m2 += delta * (x - moved)
    strange = ~np.isfinite(delta)
    if strange.any():
        both = np.isfinite(mean) & np.isfinite(x)  # the difference alone overflowed
        weighted = mean * ((count - 1.0) / count) + x / count
        odd = np.where(both, weighted, np.where(count == 1.0, x, mean + x))
        m2[:] = np.where(strange, np.where(both, np.inf, np.nan), m2)
        moved = np.where(strange, odd, moved)
    mean[:] = moved
