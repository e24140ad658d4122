"""Accumulating leaf by leaf: rows without groups, and layouts that need whole leaves."""

from __future__ import annotations

from math import isfinite
from typing import TYPE_CHECKING, Any

import numpy as np

from distmom.numerics.block_state import BlockState
from distmom.numerics.labels import file_key
from distmom.numerics.leaf import LEAF_ROWS
from distmom.numerics.sample import LeafSampler
from distmom.reductions.files import Census, FileTree
from distmom.reductions.layouts import LeafRows, Place
from distmom.reductions.leaves import Floats, LeafCutter, Rows
from distmom.reductions.state import Key, MeanState, in_key_order

if TYPE_CHECKING:
    from distmom.reductions.block_means import BlockMeans


class LeafwiseMeans:
    """The `Accumulator` for rows that are taken leaf by leaf."""

    def __init__(self, spec: BlockMeans, n_files: int, window: Any) -> None:
        self._spec = spec
        self._window = window
        self._tree = FileTree(spec, n_files)
        self._census = Census(spec)
        self._samplers = (
            [LeafSampler(spec.sample_size, compiled=spec.compiled) for _ in spec.columns]
            if spec.sample_size
            else []
        )
        self._cutter = LeafCutter()
        self._number, self._path, self._key = 0, "", np.uint64(0)
        self._n_groups = 1
        self._strange = [False for _ in spec.columns]

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
        leaf, weights = self._census.weighed(leaf, self._path)
        place = Place(self._key, leaf.first_row, self._number)
        first, *others = (self._column(leaf, c, weights, place) for c in range(len(self._spec.columns)))
        self._tree.push_leaf(first.stacked(*others))

    def _column(self, leaf: Rows, c: int, weights: Floats | None, place: Place) -> BlockState:
        """Moments of one column; its values are searched for NaN and infinity only if the sums tell of some.

        A clean leaf needs no look at its values then. After a leaf that was not clean the next one is
        searched first, which saves doing it twice.
        """
        gone = self._census.missing(leaf, c)
        if not self._strange[c]:
            mine = LeafRows(leaf.values[c], gone, leaf.codes, self._n_groups, place, weights)
            blocks = self._spec.layout.leaf(mine, self._window, compiled=self._spec.compiled)
            if all(map(isfinite, blocks.mean[:, -1].tolist())):
                self._offer(c, mine)
                return blocks
        searched = self._census.strange(leaf, c, gone, self._path)
        self._strange[c] = searched is not gone
        mine = LeafRows(leaf.values[c], searched, leaf.codes, self._n_groups, place, weights)
        self._offer(c, mine)
        return self._spec.layout.leaf(mine, self._window, compiled=self._spec.compiled)

    def _offer(self, c: int, leaf: LeafRows) -> None:
        if self._samplers:
            number = leaf.place.first_row // LEAF_ROWS
            self._samplers[c].offer(self._key, number, leaf.x, leaf.gone)

    def result(self, keys: list[Key]) -> MeanState | None:  # noqa: D102
        moments = self._tree.result(len(keys))
        if moments is None:
            return None
        samples = tuple(s.result() for s in self._samplers)
        state = MeanState(tuple(keys), self._census.n_rows, self._census.counts, moments, samples)
        return in_key_order(state)
