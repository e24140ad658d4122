"""Keeping the rows of some blocks, or of several sets of blocks: for statistics of whole blocks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from distmom.errors import DataError
from distmom.numerics.arrays import Bools, Floats, Ints
from distmom.numerics.blocks.weighted_moments import plain_rows
from distmom.numerics.pairs.regroup import NOT_OURS, CellRows
from distmom.reductions import Accumulator
from distmom.reductions.accumulate.leaves import KeyedFiles, Mask, Rows, all_of, any_of, missing_rows
from distmom.reductions.block_means import NanPolicy
from distmom.reductions.layout import Layout, Place
from distmom.reductions.layouts import row_labels
from distmom.reductions.state import Key


@dataclass(frozen=True)
class BlockRange:
    """Which blocks a unit of work keeps; its `window`.

    Attributes
    ----------
    first_group : int
        The first group with blocks here.
    cells : ndarray of int32, shape (n_groups, n_fine)
        For the fine blocks of these groups, the number of the block among those kept, or -1.
    sizes : ndarray of int64, shape (n_blocks,)
        Rows of each block kept.
    first_rows : ndarray of int64, optional
        For stored blocks: the number, in the lake, of the first row of each file.
    first_cell : int
        Number of the first kept block, among all blocks.
    """

    first_group: int
    cells: NDArray[np.int32]
    sizes: Ints
    first_rows: Ints | None = None
    first_cell: int = 0


class UsedHere:
    """A reduction whose rows stay within their unit of work."""

    def merge(self, left: Any, right: Any) -> Any:
        """Not defined."""
        raise NotImplementedError("kept rows are used where they are")


@dataclass(frozen=True)
class KeepRows(UsedHere):
    """The reduction that keeps the rows of a `BlockRange`, in the order of files and rows.

    A row enters with all its values or, if one is missing, not at all. Group codes must be the numbers of the
    groups for which the ranges were made.

    Attributes
    ----------
    columns : tuple of str
    layout : Layout
    n_cells : int
        Cells of whole files, if these are the blocks.
    seed : int
    nan : {"omit", "raise", "keep"}
        Rows with NaN are left out only under "omit".
    compiled : bool
    weighted : bool
        The last column has the weights: rows without a positive weight are left out.
    """

    columns: tuple[str, ...]
    layout: Layout
    n_cells: int
    seed: int
    nan: NanPolicy = "omit"
    compiled: bool = False
    weighted: bool = False

    def begin(self, n_files: int, window: Any = None) -> RowKeeper:
        """An accumulator for the range `window`."""
        return RowKeeper(self, window, self.cells(window.sizes, window.first_cell))

    def cells(self, sizes: Ints, first: int) -> CellRows:
        """Room for blocks of these sizes, numbered from `first`."""
        return CellRows(sizes, len(self.columns), compiled=self.compiled, first_cell=first)


class RowPlaces(Protocol):
    """Destination of rows, such as `CellRows`."""

    def add(self, columns: Sequence[Floats], gone: Bools | None, cells: Ints) -> None:
        """Take rows; see `CellRows.add`."""

    @property
    def whole(self) -> bool:
        """Whether all counted rows have arrived, as far as is known here."""
        ...


class RowKeeper(KeyedFiles, Accumulator):
    """The `Accumulator` of `KeepRows`; rows go to `cells` by the numbers of their blocks."""

    def __init__(self, spec: KeepRows, window: BlockRange, cells: RowPlaces) -> None:
        super().__init__(spec.seed)
        self._spec = spec
        self._range = window
        self._cells = cells

    def add(self, rows: Rows, n_groups: int) -> None:  # noqa: D102
        self.put(rows, self.labels(rows))

    def labels(self, rows: Rows) -> Ints:
        """Fine blocks of the rows."""
        spec = self._spec
        place = Place(self._key, rows.first_row, self._number, rows.units)
        return row_labels(spec.layout, spec.n_cells, place, rows.n_rows, self._range.first_rows)

    def put(self, rows: Rows, labels: Ints) -> None:
        """Take rows with known fine blocks."""
        gone = missing_values(rows, self._spec.nan)
        if self._spec.weighted:
            plain = plain_rows(rows.values[-1])
            gone = gone if plain is None else any_of(gone, ~plain)
        try:
            self._cells.add(rows.values, gone, self._cells_of(labels, rows.codes))
        except ValueError as error:
            raise rows_changed(self._path) from error

    def _cells_of(self, labels: Ints, codes: Ints | None) -> Ints:
        table = self._range.cells
        if codes is None:
            mine: Ints = table[0].astype(np.int64)
            return mine[labels]
        groups = codes - self._range.first_group
        ours = (groups >= 0) & (groups < table.shape[0])
        cells: Ints = table[np.where(ours, groups, 0), labels].astype(np.int64)
        return np.where(ours, cells, NOT_OURS)

    def result(self, keys: list[Key]) -> Any:
        """The rows.

        Raises
        ------
        DataError
            If there are fewer rows than were counted.
        """
        if not self._cells.whole:
            raise rows_changed("the data")
        return self._cells


def missing_values(rows: Rows, nan: NanPolicy) -> Mask:
    """Rows to leave out: filtered out, null in a column, or NaN if NaN is omitted."""
    gone, _ = missing_rows(all_of(list(rows.valid)), rows.keep)
    if nan == "omit":
        for pieces in zip(*(part for part in (rows.values, rows.rest) if part), strict=True):
            strange = [np.isnan(x) for x in pieces]
            if any(one.any() for one in strange):
                gone = any_of(gone, np.concatenate(strange))
    return gone


def rows_changed(path: str) -> DataError:
    """The error for rows that differ from those of the first pass."""
    return DataError(
        f"{path or 'the data'}: other rows than when they were counted; data must not change while it is read"
    )


@dataclass(frozen=True)
class KeepEach(UsedHere):
    """Several `KeepRows` on rows that are read once; the window of a unit has a `BlockRange` for each.

    Attributes
    ----------
    parts : tuple of KeepRows
    places : tuple of tuple of int
        Places of each part's columns among the columns read.
    """

    parts: tuple[KeepRows, ...]
    places: tuple[tuple[int, ...], ...]

    def begin(self, n_files: int, window: Any = None) -> EachKeeper:
        """An accumulator for the ranges of `window`."""
        return EachKeeper(
            self, [one.begin(n_files, mine) for one, mine in zip(self.parts, window, strict=True)]
        )


class EachKeeper(Accumulator):
    """The `Accumulator` of `KeepEach`."""

    def __init__(self, spec: KeepEach, keepers: Sequence[RowKeeper]) -> None:
        self._spec = spec
        self._keepers = keepers

    def start_file(self, number: int, path: str) -> None:  # noqa: D102
        for keeper in self._keepers:
            keeper.start_file(number, path)

    def add(self, rows: Rows, n_groups: int) -> None:  # noqa: D102
        known: dict[Any, Ints] = {}  # columns of one partition share their labels
        for part, places, keeper in zip(self._spec.parts, self._spec.places, self._keepers, strict=True):
            partition = part.seed, part.layout, part.n_cells
            if partition not in known:
                known[partition] = keeper.labels(rows)
            keeper.put(_columns(rows, places), known[partition])

    def result(self, keys: list[Key]) -> tuple[Any, ...]:
        """The rows of each part, or their destination."""
        return tuple(keeper.result(keys) for keeper in self._keepers)


def _columns(rows: Rows, places: tuple[int, ...]) -> Rows:
    if places == tuple(range(len(rows.values))):
        return rows
    values = tuple(rows.values[place] for place in places)
    return replace(rows, values=values, valid=tuple(rows.valid[place] for place in places))
