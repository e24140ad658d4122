"""Random disjoint parts of the rows, each cut into blocks; and sums over them, leaf by leaf."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from distmom.numerics.blocks.leaf import LEAF_ROWS
from distmom.numerics.tree import DyadicTree, StreamingTree
from distmom.reductions.accumulate.leaves import KeyedFiles, LeafCutter, Rows, stretches
from distmom.reductions.layout import Layout, Place
from distmom.reductions.layouts import FileLayout, RandomLayout, UnitLayout, row_labels
from distmom.reductions.state import Key

Cells = NDArray[np.int32]


@dataclass(frozen=True)
class Parts:
    """Which part and block each row is in: cell ``part * n_blocks + block``.

    In each run of ``n_parts * n_blocks`` rows of a file every cell gets one row, in random order: parts are
    disjoint, and of equal size up to one row per block and file. With `chunk_rows`, chunks of rows are
    assigned; with `unit` "file" or "columns", whole files, or all rows with equal values in columns.
    """

    seed: int
    n_parts: int
    n_blocks: int
    chunk_rows: int = 1
    unit: str | None = None

    @property
    def n_cells(self) -> int:
        """Cells of all parts."""
        return self.n_parts * self.n_blocks

    def cells(self, rows: Rows, key: np.uint64) -> Cells:
        """The cells of consecutive rows of the file with this key."""
        layout: Layout = RandomLayout(self.seed, self.n_cells, 1, self.chunk_rows)
        if self.unit is not None:
            layout = FileLayout() if self.unit == "file" else UnitLayout(self.n_cells)
        place = Place(key, rows.first_row, units=rows.units)
        return row_labels(layout, self.n_cells, place, rows.n_rows, None).astype(np.int32)


S = TypeVar("S")
T = TypeVar("T", covariant=True)


class Sums(Protocol[T]):
    """What `PartSums` fills: the sums of one leaf."""

    def add(self, rows: Rows, key: np.uint64, path: str) -> None:
        """Add rows of the leaf; all of it may come in two pieces."""

    def state(self) -> T:
        """The sums."""
        ...


class PartSums(KeyedFiles, Generic[S]):
    """The `Accumulator` of sums over leaves, merged in the dyadic tree; if `whole`, they get whole leaves."""

    def __init__(
        self, new: Callable[[], Sums[S]], merge: Callable[[S, S], S], n_files: int, seed: int, *, whole: bool
    ) -> None:
        super().__init__(seed)
        self._new = new
        self._sums: Sums[S] | None = None
        self._cutter = LeafCutter() if whole else None
        self._files: DyadicTree[S] = DyadicTree(max(n_files, 1), merge)
        self._leaves: StreamingTree[S] = StreamingTree(merge)

    def add(self, rows: Rows, n_groups: int) -> None:  # noqa: D102
        if self._cutter is not None:
            for leaf in self._cutter.add(rows):
                self._take(leaf)
            return
        for part, ends in stretches(rows, LEAF_ROWS):
            self._take(part, push=ends)

    def _take(self, rows: Rows, *, push: bool = True) -> None:
        if self._sums is None:
            self._sums = self._new()
        self._sums.add(rows, self._key, self._path)
        if push:
            self._push()

    def _push(self) -> None:
        if self._sums is not None:
            self._leaves.push(self._sums.state())
            self._sums = None

    def end_file(self) -> None:  # noqa: D102
        for leaf in [] if self._cutter is None else self._cutter.flush():
            self._take(leaf)
        self._push()
        self._files.push(0, self._number, self._leaves.close())

    def result(self, keys: list[Key]) -> Any:  # noqa: D102
        return self._files.root
