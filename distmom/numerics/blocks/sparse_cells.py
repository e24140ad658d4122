"""Running moments of the non-empty ones of very many cells, such as (group, block).

Same bits as `Cells` and the merges of its dense states: a merge with an empty block changes nothing.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from distmom.numerics.arrays import Bools, Floats, Ints, read_only
from distmom.numerics.blocks.block_state import BlockState
from distmom.numerics.blocks.cells import Cells
from distmom.numerics.blocks.moments import Moments
from distmom.numerics.ranks.order import regrouped, run_starts, stable_order
from distmom.numerics.twins import compiled_twin

_kernels = compiled_twin(__name__)

ROWS_TOGETHER = 1 << 18
"""This many rows wait before they are sorted by cell."""

GROUPS_TOGETHER = 1 << 12
"""Blocks of this many groups are collected at a time: some groups may have many."""


class CellTable(NamedTuple):
    """Moments of the non-empty cells: their numbers ascend; arrays of one axis."""

    ids: Ints
    moments: BlockState

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays."""
        return self.ids.nbytes + self.moments.nbytes

    def at(self, index: Any) -> CellTable:
        """Some of the cells."""
        return CellTable(self.ids[index], self.moments.at(index))

    def room(self, n: int) -> CellTable:
        """Room for `n` cells of the same kind; the system gives memory only to those that are filled."""
        return CellTable(np.empty(n, np.int64), self.moments.unfilled(n))

    def _ready(self, kernel: str, n: int, *, compiled: bool) -> bool:
        """Whether there is a kernel for these cells, and it is ready."""
        return compiled and isinstance(self.moments, Moments) and bool(_kernels.ready(kernel, n))

    def renumbered(self, where: Ints, width: int, *, compiled: bool = False) -> CellTable:
        """The same cells where group g, of `width` cells, is number ``where[g]``; -1: it is left out."""
        if np.array_equal(where, np.arange(where.size)):
            return self
        if self._ready("renumber", self.ids.size, compiled=compiled):
            out, places = self.room(self.ids.size), np.zeros(int(where.max(initial=-1)) + 2, np.int64)
            moved = _kernels.renumber(*_flat(self), where, width, places, *_flat(out))
            return out.at(slice(moved))
        groups, places = np.divmod(self.ids, width)
        index, groups = regrouped(groups, where)
        return CellTable(groups * width + places[index], self.moments.at(index))

    def groups(self, start: int, stop: int, width: int) -> CellTable:
        """The cells of consecutive groups, renumbered from 0."""
        first, last = np.searchsorted(self.ids, [start * width, stop * width])
        part = slice(int(first), int(last))
        return CellTable(self.ids[part] - start * width, self.moments.each(lambda a: a[part].copy()))

    def merge(self, other: CellTable, *, compiled: bool = False) -> CellTable:
        """The union of two disjoint sets of rows, cell by cell; these come first."""
        n = self.ids.size + other.ids.size
        if self._ready("merge_tables", n, compiled=compiled):
            room = self.room(n)
            return room.at(slice(_kernels.merge_tables(*_flat(self), *_flat(other), *_flat(room))))
        ids, mine, others = united(self.ids, other.ids)
        out = self.moments.unfilled(ids.size)
        for target, left, right in zip(out, self.moments, other.moments, strict=True):
            target[mine], target[others] = left, right
        both = np.zeros(ids.size, np.bool_)
        both[mine] = True
        here = both[others]
        if here.any():
            cells = others[here]
            at = np.empty(ids.size, np.int64)
            at[mine] = np.arange(mine.size)
            together = self.moments.at(at[cells]).merge(other.moments.at(here), compiled=compiled)
            for target, merged in zip(out, together, strict=True):
                target[cells] = merged
        return CellTable(ids, out)

    def dense(self, n_groups: int, width: int) -> BlockState:
        """All cells, shape (n_groups, width); those without rows are 0."""
        out = self.moments.empty(n_groups * width)
        for target, values in zip(out, self.moments, strict=True):
            target[self.ids] = values
        return out.each(lambda a: a.reshape(n_groups, width))


def _flat(table: CellTable) -> tuple[Ints, tuple[Any, ...]]:
    """A table as kernels take it."""
    return table.ids, tuple(table.moments)


def united(left: Any, right: Any) -> tuple[Any, Ints, Ints]:
    """Distinct numbers of two ascending arrays, ascending, and the places of both among them."""
    both = np.concatenate([left, right])
    order = np.argsort(both, kind="stable")  # of two runs: linear
    ordered = both[order]
    first = np.ones(both.size, np.bool_)
    first[1:] = ordered[1:] != ordered[:-1]
    places = np.empty(both.size, np.int64)
    places[order] = np.cumsum(first) - 1
    return ordered[first], places[: left.size], places[left.size :]


class SparseCells(Cells):
    """As `Cells`, but only non-empty cells are stored.

    Parameters
    ----------
    left_out : (int, int)
        Rows of cells from the first number to below the second are not wanted.
    """

    filled_in_place = False

    def __init__(self, left_out: tuple[int, int], *, weighted: bool = False, compiled: bool = False) -> None:
        super().__init__(weighted=weighted, compiled=compiled)
        self._left_out = left_out
        self._ids = np.empty(0, np.int64)
        self._waiting: list[tuple[Floats, Ints, Floats | None]] = []
        self._n_waiting = 0

    @property
    def nbytes(self) -> int:
        """Bytes of the cells."""
        return self._ids.nbytes + self._cells.nbytes

    def grow(self, n_cells: int) -> None:
        """No effect: memory is allocated as rows arrive."""

    def add(self, x: Floats, gone: Bools | None, cells: Ints, w: Floats | None = None) -> None:
        """Add each value to its cell."""
        low, high = self._left_out
        wanted = (cells < low) | (cells >= high)
        if gone is not None:
            wanted &= ~gone
        rows = np.flatnonzero(wanted)
        self._waiting.append((x[rows], cells[rows], None if w is None else w[rows]))
        self._n_waiting += rows.size
        if self._n_waiting >= ROWS_TOGETHER:
            self._settle()

    def _settle(self) -> None:
        """Add the waiting rows, in their order."""
        if not self._n_waiting:
            return
        x, cells = (np.concatenate([part[i] for part in self._waiting]) for i in (0, 1))
        weights = [part[2] for part in self._waiting if part[2] is not None]
        self._waiting, self._n_waiting = [], 0
        order = stable_order(cells, compiled=self._compiled)
        if self._compiled and not weights and _kernels.ready("settle_rows", cells.size):
            n = self._ids.size + cells.size
            ids, table = np.empty(n, np.int64), np.empty((n, self._cells.shape[1]))
            n = _kernels.settle_rows(self._ids, self._cells, order, cells, read_only(x), ids, table)
            self._ids, self._cells = ids[:n], table[:n]
            return
        cells = cells[order]
        runs = run_starts(cells)
        ids, mine, fresh = united(self._ids, cells[runs[:-1]])
        table = np.zeros((ids.size, self._cells.shape[1]))
        table[mine] = self._cells
        self._ids, self._cells = ids, table
        places = np.repeat(fresh, np.diff(runs))
        super().add(x[order], None, places, np.concatenate(weights)[order] if weights else None)

    def drop(self, kept: Bools, width: int) -> None:
        """Drop the cells of the groups that are not kept."""
        self._settle()
        some = kept[self._ids // width]
        self._ids, self._cells = self._ids[some], self._cells[some]

    def take(self, n_blocks: int, n_once: int) -> CellTable:
        """The cells, with `n_blocks` per group; afterwards they are empty.

        Every row is once in the first `n_once` blocks of its group; if `n_once` is not 0, each group has one
        more cell, for the total of these blocks.
        """
        self._settle()
        kernel = self._kind is Moments and self._compiled and _kernels.ready("with_totals", self._ids.size)
        if n_once and kernel and self._ids.size:
            n_groups = int(self._ids[-1]) // n_blocks + 1
            n = self._ids.size + min(self._ids.size, n_groups)
            room = CellTable(np.empty(n, np.int64), Moments.unfilled(n))
            n = _kernels.with_totals(self._ids, self._cells, n_blocks, n_once, *_flat(room))
            self._ids, self._cells = self._ids[:0], self._cells[:0]
            return room.at(slice(n))
        count, *rest = self._cells.T
        found = CellTable(self._ids, self._kind(count.astype(np.int64), *(a.copy() for a in rest)))
        self._ids, self._cells = self._ids[:0], self._cells[:0]
        if not n_once:
            return found
        groups, blocks = np.divmod(found.ids, n_blocks)
        found = found._replace(ids=groups * (n_blocks + 1) + blocks)
        once = blocks < n_once
        wholes, of_groups = _totals(found.moments.at(once), groups[once], compiled=self._compiled)
        ids, mine, others = united(found.ids, of_groups * (n_blocks + 1) + n_blocks)
        out = found.moments.unfilled(ids.size)
        for target, block, whole in zip(out, found.moments, wholes, strict=True):
            target[mine], target[others] = block, whole
        return CellTable(ids, out)


def _totals(blocks: BlockState, groups: Ints, *, compiled: bool) -> tuple[BlockState, Ints]:
    """The total of all blocks of each group, and the groups, ascending."""
    runs = run_starts(groups)
    starts, lengths = runs[:-1], np.diff(runs)
    ranks = np.arange(groups.size) - np.repeat(starts, lengths)
    out = blocks.unfilled(starts.size)
    for first in range(0, starts.size, GROUPS_TOGETHER):
        stop = min(starts.size, first + GROUPS_TOGETHER)
        rows = slice(int(runs[first]), int(runs[stop]))
        width = int(lengths[first:stop].max())
        lines = np.repeat(np.arange(stop - first), lengths[first:stop])
        some = blocks.empty(stop - first, width)
        for target, values in zip(some, blocks, strict=True):
            target[lines, ranks[rows]] = values[rows]
        for target, values in zip(out, some.total(compiled=compiled), strict=True):
            target[first:stop] = values
    return out, groups[starts]
