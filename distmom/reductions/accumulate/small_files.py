"""Accumulating small files many at a time: one by one, most time would be spent on empty blocks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from distmom.numerics.arrays import Floats, Ints, Words
from distmom.numerics.blocks.block_state import BlockState
from distmom.numerics.blocks.labels import file_cell, label_table
from distmom.numerics.blocks.leaf import LEAF_ROWS
from distmom.numerics.blocks.small_files import file_moments, first_labels, merge_over_files, row_moments
from distmom.numerics.samples.sample import row_keys
from distmom.reductions.accumulate.files import weigh
from distmom.reductions.accumulate.leaves import Rows, all_of, join, missing_rows
from distmom.reductions.layouts import RandomLayout

if TYPE_CHECKING:
    from distmom.reductions.block_means import BlockMeans


class SmallFile(NamedTuple):
    """A file of few rows; `rows` is None if it has none."""

    number: int
    path: str
    key: np.uint64
    rows: Rows | None


class ColumnRows(NamedTuple):
    """Used rows of one column of many files: place of the file, row, value, weight; moments of the files."""

    files: Ints
    rows: Ints
    x: Floats
    w: Floats | None
    whole: BlockState


def most_rows(spec: BlockMeans) -> int:
    """Files with at most this many rows are taken together; 0 if none are.

    Every row must have a block of its own, all rows of a file must fit into the sample, and a part of a large
    file must not be mistaken for a small file.
    """
    if spec.grouped or spec.cuts or not isinstance(spec.layout, RandomLayout) or spec.layout.chunk_rows > 1:
        return 0
    return min(spec.layout.n_blocks, spec.sample_size or LEAF_ROWS, LEAF_ROWS - 1)


class SmallFiles:
    """The small files of one unit, held until all have arrived."""

    def __init__(self, spec: BlockMeans, n_files: int) -> None:
        self._spec = spec
        self._n_files = n_files
        self._most = most_rows(spec)
        self._files: dict[int, SmallFile] = {}

    def takes(self, rows: Rows | None) -> bool:
        """Whether a file is small; `rows` are all its rows, or None if it has none."""
        return self._most > 0 and (rows is None or (rows.first_row == 0 and rows.n_rows <= self._most))

    def add(self, file: SmallFile) -> None:
        """Hold a file."""
        rows = file.rows
        if rows is not None and rows.rest:
            file = file._replace(rows=rows.whole())
        self._files[file.number] = file

    def settle(self, one_by_one: Callable[[SmallFile], None]) -> Together | None:
        """All held files except those with odd values or weights, which are handed back one by one."""
        together = None
        while any(file.rows is not None for file in self._files.values()):
            together = Together(self._spec, [f for f in self._files.values() if f.rows is not None])
            odd = together.odd_files()
            if not odd:
                break
            for file in odd:
                one_by_one(self._files.pop(file.number))
            together = None
        return together

    def nodes(self) -> Iterator[tuple[int, int, int, int]]:
        """The largest nodes of the tree over the unit's files for which all files are held.

        Level, index, and the range of the files' numbers.
        """
        stack = [((self._n_files - 1).bit_length(), 0)]
        held = np.zeros(self._n_files + 1, np.int64)
        held[1 + np.fromiter(self._files, np.int64, len(self._files))] = 1
        before = np.cumsum(held).tolist()
        while stack:
            level, index = stack.pop()
            start, stop = index << level, min((index + 1) << level, self._n_files)
            if start >= stop or before[stop] == before[start]:
                continue
            if before[stop] - before[start] == stop - start:
                yield level, index, start, stop
            else:
                stack += [(level - 1, 2 * index + 1), (level - 1, 2 * index)]


class Together:
    """The rows of several small files as if they were one.

    Attributes
    ----------
    files : list of SmallFile
    rows : Rows
        Of all of them.
    numbers : ndarray of int64
        Of the files in their unit.
    """

    def __init__(self, spec: BlockMeans, files: list[SmallFile]) -> None:
        self._spec = spec
        self.files = files
        pieces = [file.rows for file in files if file.rows is not None]
        self.rows = join(pieces).whole()
        sizes = np.array([piece.n_rows for piece in pieces])
        ends = np.cumsum(sizes)
        self.numbers = np.array([file.number for file in files])
        self._keys = np.array([file.key for file in files])
        self._file_of = np.repeat(np.arange(len(files)), sizes)
        self._row_of = np.arange(self.rows.n_rows) - np.repeat(ends - sizes, sizes)
        self._columns: dict[int, ColumnRows] = {}
        self._odd = np.zeros(len(files), np.bool_)
        kept = self.rows
        if spec.weights is not None:
            kept, _, odd = weigh(self.rows)
            self._odd[self._file_of[odd[self.rows.values[-1][odd] != 0.0]]] = True
        for columns in spec.sets:
            known = all_of([kept.valid[c] for c in columns])
            gone, _ = missing_rows(known, kept.keep)
            used = slice(None) if gone is None else np.flatnonzero(~gone)
            self._columns.update({c: self._column(c, used) for c in columns})

    def _column(self, c: int, used: slice | Ints) -> ColumnRows:
        x, files = self.rows.values[c][used], self._file_of[used]
        w = None if self._spec.weights is None else self.rows.values[-1][used]
        return ColumnRows(files, self._row_of[used], x, w, file_moments(x, files, len(self.files), w))

    def odd_files(self) -> list[SmallFile]:
        """Files with odd weights, or values that are non-finite or so large that differences overflow."""
        odd = self._odd.copy()
        for column in self._columns.values():
            odd |= ~(np.isfinite(column.whole.mean) & np.isfinite(column.whole.m2))
        return [self.files[i] for i in np.flatnonzero(odd)]

    def sample(self, c: int) -> tuple[Floats, Floats]:
        """Keys and values of all used rows of a column, as `leaf_sample` draws them for each file."""
        column = self._columns[c]
        return row_keys(self._keys[column.files], 0, column.rows), column.x

    def used(self, c: int) -> tuple[Words, Ints, Floats, Floats | None]:
        """For each used row of a column: the key of its file, its number there, its value and weight."""
        column = self._columns[c]
        return self._keys[column.files], column.rows, column.x, column.w

    def of_files(self, c: int) -> tuple[Ints, BlockState, Floats, Floats]:
        """For each file, in a column: nulls among the rows kept, moments, smallest and largest value."""
        column, n_files = self._columns[c], len(self.files)
        _, null = missing_rows(self.rows.valid[c], self.rows.keep)
        files = self._file_of[:0] if null is None else self._file_of[null]
        low, high = np.full(n_files, np.inf), np.full(n_files, -np.inf)
        np.minimum.at(low, column.files, column.x)
        np.maximum.at(high, column.files, column.x)
        return np.bincount(files, minlength=n_files), column.whole, low, high

    def node(self, level: int, start: int, stop: int) -> BlockState | None:
        """Moments of the files with numbers start … stop - 1, a line for each column; None without rows."""
        low, high = np.searchsorted(self.numbers, [start, stop])
        if low == high:
            return None
        columns = range(len(self._spec.columns))
        first, *others = (self._node(self._columns[c], level, low, high) for c in columns)
        return first.stacked(*others)

    def _node(self, column: ColumnRows, level: int, low: int, high: int) -> BlockState:
        spec = self._spec
        assert isinstance(spec.layout, RandomLayout)
        n_blocks = spec.layout.n_blocks
        part = slice(*np.searchsorted(column.files, [low, high]))
        files = column.files[part]
        table = label_table(spec.seed, spec.layout.n_fine)
        cells = first_labels(column.rows[part], files, self._keys, table)
        moments = row_moments(column.x[part], None if column.w is None else column.w[part])
        if spec.n_cells:  # whole files follow, those with rows
            filled = low + np.flatnonzero(column.whole.count[low:high])
            own = [n_blocks + file_cell(key, spec.n_cells) for key in self._keys[filled]]
            cells = np.concatenate([cells, np.array(own, np.int64)])
            files = np.concatenate([files, filled])
            moments = moments.joined(column.whole.at(filled))
        order = np.argsort(cells, kind="stable")  # files ascend already
        numbers = self.numbers[files[order]]
        cells, moments = merge_over_files(
            cells[order], numbers, moments.at(order), level, compiled=spec.compiled
        )
        out = moments.empty(n_blocks + spec.n_cells)
        for target, source in zip(out, moments, strict=True):
            target[cells] = source
        return out
