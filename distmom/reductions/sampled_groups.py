"""Accumulating leaf by leaf with groups: independent samples, which are drawn from whole leaves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from distmom.numerics.labels import file_key
from distmom.numerics.leaf import NO_REST
from distmom.numerics.moments import Moments, stacked
from distmom.reductions.files import Census, FileTree
from distmom.reductions.layouts import LeafRows, Place, SworBlocks
from distmom.reductions.leaves import LeafCutter, Rows
from distmom.reductions.state import Key, MeanState, in_key_order

if TYPE_CHECKING:
    from distmom.reductions.block_means import BlockMeans


class SampledGroups:
    """The `Accumulator` for grouped rows of which independent samples are drawn."""

    def __init__(self, spec: BlockMeans, n_files: int, window: Any) -> None:
        self._spec = spec
        self._window = window
        self._tree = FileTree(spec, n_files)
        self._census = Census(spec)
        self._cutter = LeafCutter()
        self._number, self._path, self._key = 0, "", np.uint64(0)
        self._n_groups = 0

    def start_file(self, number: int, path: str) -> None:  # noqa: D102
        self._number, self._path, self._key = number, path, file_key(self._spec.seed, path)

    def add(self, rows: Rows, n_groups: int) -> None:  # noqa: D102
        self._n_groups = n_groups
        for leaf in self._cutter.add(rows):
            self._take(leaf)

    def end_file(self) -> None:  # noqa: D102
        for leaf in self._cutter.flush():
            self._take(leaf)
        self._tree.end_file(self._number, self._key)

    def _take(self, leaf: Rows) -> None:
        self._census.rows(leaf, self._n_groups)
        place = Place(self._key, leaf.first_row, self._number)
        self._tree.push_leaf(stacked([self._column(leaf, c, place) for c in range(len(leaf.values))]))

    def _column(self, leaf: Rows, c: int, place: Place) -> Moments:
        layout = self._spec.layout
        assert isinstance(layout, SworBlocks)
        gone = self._census.strange(leaf, c, self._census.missing(leaf, c), self._path)
        mine = LeafRows(leaf.column(c), NO_REST, gone, leaf.codes, self._n_groups, place)
        return layout.leaf(mine, self._window, compiled=self._spec.compiled)

    def result(self, keys: list[Key]) -> MeanState | None:  # noqa: D102
        moments = self._tree.result(len(keys))
        if moments is None:
            return None
        return in_key_order(MeanState(tuple(keys), self._census.n_rows, self._census.counts, moments, ()))
