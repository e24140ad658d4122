"""Running moments of many cells, such as (group, block).

Each cell has a mean of its own, so no shift is subtracted from sums, and groups of very different sizes and
levels keep all digits (Welford 1962). The numbers of a cell are adjacent in memory: with a hundred thousand
cells most of the time is spent on fetching them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

import numpy as np

from distmom.memory import look_ahead
from distmom.numerics.arrays import Bools, Floats, Ints, read_only
from distmom.numerics.blocks.block_state import BlockState
from distmom.numerics.blocks.labels import LabelTable, chunk_labels
from distmom.numerics.blocks.leaf import with_total
from distmom.numerics.blocks.moments import Moments
from distmom.numerics.blocks.weighted_moments import WeightedMoments
from distmom.numerics.ranks.order import run_starts
from distmom.numerics.twins import compiled_twin

_kernels = compiled_twin(__name__)

CELL_BYTES, WEIGHTED_CELL_BYTES = 24, 48


class Cells:
    """Moments of a growing number of cells: the numbers of `Moments` or `WeightedMoments`, cell by cell.

    Cells of weighted rows have two running means, one with the masses w and one with w^2 (West 1979).
    """

    filled_in_place: ClassVar[bool] = True
    """Whether the number of a cell is its position."""

    def __init__(self, *, weighted: bool = False, compiled: bool = False) -> None:
        self._kind = WeightedMoments if weighted else Moments
        self._compiled = compiled
        self._cells = np.empty((0, (WEIGHTED_CELL_BYTES if weighted else CELL_BYTES) // 8))

    def grow(self, n_cells: int) -> None:
        """Make room for `n_cells` cells; by doubling, so that growth stays linear."""
        have = len(self._cells)
        if n_cells > have:
            more = max(n_cells, 2 * have) - have
            look_ahead((have + more) * self._cells.itemsize * self._cells.shape[1])
            grown = np.zeros((have + more, self._cells.shape[1]))  # memory that is only taken when it is used
            grown[:have] = self._cells
            self._cells = grown

    def add(self, x: Floats, gone: Bools | None, cells: Ints, w: Floats | None = None) -> None:
        """Add each value to its cell.

        Parameters
        ----------
        x : ndarray of float64, shape (n,)
            Values; arbitrary where `gone`.
        gone : ndarray of bool, shape (n,), or None
            Rows that do not count.
        cells : ndarray of int64, shape (n,)
            Number of the cell of each row, below that of the last `grow`; arbitrary where `gone`.
        w : ndarray of float64, shape (n,), optional
            Positive weights. If all of them are one power of two the bits are those without weights.

        Notes
        -----
        Rows are added in their order, so the bits do not depend on the batches. An infinite or NaN value
        makes the mean the result of ordinary addition and the second moment NaN.
        """
        if self._compiled:
            none = gone if gone is not None else np.empty(0, np.bool_)
            rows = read_only(x), None if w is None else read_only(w)
            _kernels.add_rows(*rows, none, cells, self._cells)
            return
        if gone is not None:
            x, w, cells = x[~gone], None if w is None else w[~gone], cells[~gone]
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
        if self._compiled and w is None and self.filled_in_place:
            none = gone if gone is not None else np.empty(0, np.bool_)
            n_blocks, magic = table.n_blocks // width, -(-(1 << _kernels.MAGIC_BITS) // width)
            draws = first_row, key, table.forward, n_blocks, magic
            _kernels.add_blocks(read_only(x), none, codes, *draws, self._cells)
            return
        self.add(x, gone, block_cells(codes, first_row, key, table, width), w)

    def moments(self, n_cells: int) -> BlockState:
        """Moments of the first `n_cells` cells (views of the means)."""
        count, *rest = self._cells[:n_cells].T
        return self._kind(count.astype(np.int64), *rest)

    def unload(self, n_groups: int, n_blocks: int, n_once: int) -> BlockState:
        """Moments of the first cells, shape (n_groups, n_blocks); all cells are reset.

        Every row is once in the first `n_once` blocks of its group; if `n_once` is not 0, each group has one
        more place, for the total of these blocks.
        """
        look_ahead(n_groups * n_blocks * self._cells.itemsize * self._cells.shape[1])
        if self._compiled and self._kind is Moments:
            out = Moments.unfilled(n_groups, n_blocks + (n_once > 0))
            _kernels.unload(self._cells, n_blocks, n_once, *out)
            return out
        blocks = self.moments(n_groups * n_blocks).each(lambda a: a.reshape(n_groups, n_blocks).copy())
        self._cells[:] = 0.0
        return with_total(blocks, n_once=n_once, compiled=self._compiled) if n_once else blocks


def block_cells(
    codes: Ints, first_row: int, key: np.uint64, table: LabelTable, width: int, chunk_rows: int = 1
) -> Ints:
    """Cells of consecutive rows: their group's code times the number of blocks, plus their block.

    `width` neighbouring labels of the table form one block; `chunk_rows` consecutive rows have one label.
    """
    cells = codes * (table.n_blocks // width)
    cells += chunk_labels(first_row, codes.size, chunk_rows, key, table, width)
    return cells


def _add_moments(x: Floats, w: Floats | None, cells: Ints, table: Floats) -> None:
    """NumPy twin: rows sorted by cell; then the first rows of all cells at once, the second ones, etc."""
    order, touched, ranks = rows_by_rank(cells)
    x, w = x[order], None if w is None else w[order]
    state = table[touched].T.copy()
    with np.errstate(invalid="ignore", over="ignore"):
        for rows in ranks:
            live = state[:, : rows.size]
            if w is None:
                _step(x[rows], 1.0, *live)
            else:
                live[0] += 1.0
                _step(x[rows], w[rows], live[1], live[2], None)
                _step(x[rows], w[rows] * w[rows], *live[3:])
    table[touched] = state.T


def rows_by_rank(cells: Ints) -> tuple[Ints, Ints, Iterator[Ints]]:
    """An order of the rows by cell; the cells found, those with most rows first; the rows to add together.

    The latter are positions in that order: the first row of each cell, then the second one of those that have
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


def _step(x: Floats, mass: Floats | float, total: Floats, mean: Floats, m2: Floats | None) -> None:
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
