"""Accumulating leaf by leaf: rows without groups, and layouts that need whole leaves."""

from __future__ import annotations

from math import isfinite
from typing import TYPE_CHECKING, Any

import numpy as np

from distmom.numerics.labels import file_key
from distmom.numerics.leaf import LEAF_ROWS, NO_REST
from distmom.numerics.leaf_stack import LeafStack
from distmom.numerics.moments import Moments, stacked
from distmom.reductions.files import Census, FileTree
from distmom.reductions.layouts import LeafRows, Place, push_leaf
from distmom.reductions.leaves import LeafCutter, Mask, Rows
from distmom.reductions.small_files import SmallFile, SmallFiles
from distmom.reductions.state import Key, MeanState, in_key_order
from distmom.reductions.units import UnitCounter

if TYPE_CHECKING:
    from distmom.reductions.block_means import BlockMeans


class LeafwiseMeans:
    """The `Accumulator` for rows that are taken leaf by leaf."""

    def __init__(self, spec: BlockMeans, n_files: int, window: Any) -> None:
        self._spec = spec
        self._window = window
        self._tree = FileTree(spec, n_files)
        self._census = Census(spec)
        n_cells = spec.layout.n_blocks + 1
        self._stacks = (  # with groups, which become more from leaf to leaf, the tree merges leaves
            []
            if spec.grouped
            else [LeafStack(n_cells, spec.sample_size, compiled=spec.compiled) for _ in spec.columns]
        )
        self._cutter = LeafCutter()
        self._number, self._path, self._key = 0, "", np.uint64(0)
        self._n_groups = 1
        self._strange = [False for _ in spec.sets]
        self._units = UnitCounter(spec) if spec.count_units else None
        self._small = SmallFiles(spec, n_files)
        self._cut = False  # whether a leaf of this file has been taken already

    def start_file(self, number: int, path: str) -> None:  # noqa: D102
        self._number, self._path, self._key = number, path, file_key(self._spec.seed, path)
        self._cut = False

    def add(self, rows: Rows, n_groups: int) -> None:  # noqa: D102
        self._n_groups = n_groups
        for leaf in self._cutter.add(rows):
            self._take(leaf)

    def end_file(self) -> None:  # noqa: D102
        leaves = self._cutter.flush()
        file = SmallFile(self._number, self._path, self._key, leaves[0] if leaves else None)
        if not self._cut and self._small.takes(file.rows):
            self._small.add(file)
        else:
            self._end(file)

    def _end(self, file: SmallFile) -> None:
        """Take a file's last leaf."""
        self._number, self._path, self._key = file.number, file.path, file.key
        if file.rows is not None:
            self._take(file.rows)
        leaves = [stack.close() for stack in self._stacks]
        some = [moments for moments in leaves if moments is not None]
        if some:
            self._tree.push_leaf(stacked(some))
        self._tree.end_file(self._number, self._key)

    def _settle(self) -> None:
        """Take the small files together."""
        together = self._small.settle(self._end)
        if together is not None:
            self._census.rows(together.rows, 1)
            for number, columns in enumerate(self._spec.sets):
                self._census.missing(together.rows, number)
                for c in columns:
                    sampler = self._stacks[c].sampler
                    if sampler is not None:
                        sampler.add(*together.sample(c))
            if self._units is not None:
                for file in together.files:
                    if file.rows is not None:
                        self._units.add(file.rows, None, file.key, 1)
        for level, index, start, stop in self._small.nodes():
            node = None if together is None else together.node(level, start, stop)
            self._tree.push_files(level, index, None if node is None else node.at((slice(None), None)))

    def _take(self, leaf: Rows) -> None:
        self._cut = True
        self._census.rows(leaf, self._n_groups)
        if self._units is not None:
            self._units.add(leaf, leaf.codes, self._key, self._n_groups)
        place = Place(self._key, leaf.first_row, self._number)
        blocks = [b for number in range(len(self._spec.sets)) for b in self._set(leaf, number, place)]
        if blocks:
            self._tree.push_leaf(stacked(blocks))

    def _set(self, leaf: Rows, number: int, place: Place) -> list[Moments]:
        """Moments of the columns of a set that no stack keeps.

        Values are searched for NaN and infinity only if the sums tell of some: a clean leaf needs no look at
        its values then. After a leaf that was not clean the next one is searched first, which saves doing it
        twice.
        """
        gone = self._census.missing(leaf, number)
        if not self._strange[number]:
            blocks = self._keep(number, self._mine(leaf, number, gone, place), anything=False)
            if blocks is not None:
                return blocks
        searched = self._census.strange(leaf, number, gone, self._path)
        self._strange[number] = searched is not gone
        return self._keep(number, self._mine(leaf, number, searched, place), anything=True) or []

    def _mine(self, leaf: Rows, number: int, gone: Mask, place: Place) -> list[LeafRows]:
        columns = self._spec.sets[number]
        rest = [leaf.rest[c] if leaf.rest else NO_REST for c in columns]
        return [
            LeafRows(leaf.values[c], more, gone, leaf.codes, self._n_groups, place)
            for c, more in zip(columns, rest, strict=True)
        ]

    def _keep(self, number: int, columns: list[LeafRows], *, anything: bool) -> list[Moments] | None:
        """Put the columns of a set on their stacks; None if a value is not finite, unless `anything` goes.

        Where there are no stacks, their moments are given back.
        """
        layout, window = self._spec.layout, self._window
        if self._stacks and len(columns) == 1:
            [rows], [c] = columns, self._spec.sets[number]
            return [] if push_leaf(layout, self._stacks[c], rows, window, anything=anything) else None
        blocks = []
        for rows in columns:
            blocks.append(layout.leaf(rows, window, compiled=self._spec.compiled))
            if not (anything or all(map(isfinite, blocks[-1].mean[:, -1].tolist()))):
                return None
        if not self._stacks:
            return blocks
        for c, rows, moments in zip(self._spec.sets[number], columns, blocks, strict=True):
            leaf = rows.place.first_row // LEAF_ROWS
            self._stacks[c].push(moments.at(0), rows.x, rows.rest, rows.gone, self._key, leaf, True)
        return []

    def result(self, keys: list[Key]) -> MeanState | None:  # noqa: D102
        self._settle()
        moments = self._tree.result(len(keys))
        if moments is None:
            return None
        samples = tuple(s.sampler.result() for s in self._stacks if s.sampler is not None)
        units = None if self._units is None else self._units.result()
        census = self._census
        state = MeanState(tuple(keys), census.n_rows, census.counts, moments, samples, units)
        return in_key_order(state)
