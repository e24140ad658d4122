"""Accumulating leaf by leaf: rows without groups."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from distmom.numerics.labels import file_key
from distmom.numerics.leaf import NO_REST
from distmom.numerics.leaf_stack import LeafStack
from distmom.numerics.moments import stacked
from distmom.reductions.files import Census, FileTree
from distmom.reductions.layouts import LeafRows, Place
from distmom.reductions.leaves import LeafCutter, Rows
from distmom.reductions.small_files import SmallFile, SmallFiles
from distmom.reductions.state import Key, MeanState

if TYPE_CHECKING:
    from distmom.reductions.block_means import BlockMeans


class LeafwiseMeans:
    """The `Accumulator` for rows without groups."""

    def __init__(self, spec: BlockMeans, n_files: int, window: Any) -> None:
        self._spec = spec
        self._window = window
        self._tree = FileTree(spec, n_files)
        self._census = Census(spec)
        n_cells = spec.layout.n_blocks + 1
        self._stacks = [LeafStack(n_cells, spec.sample_size, compiled=spec.compiled) for _ in spec.columns]
        self._cutter = LeafCutter()
        self._small = SmallFiles(spec, n_files)
        self._cut = False  # whether a leaf of this file has been taken already
        self._number, self._path, self._key = 0, "", np.uint64(0)
        self._strange = [False for _ in spec.columns]

    def start_file(self, number: int, path: str) -> None:  # noqa: D102
        self._number, self._path, self._key = number, path, file_key(self._spec.seed, path)
        self._cut = False

    def add(self, rows: Rows, n_groups: int) -> None:  # noqa: D102
        for leaf in self._cutter.add(rows):
            self._take(leaf)

    def end_file(self) -> None:  # noqa: D102
        last = next(iter(self._cutter.flush()), None)
        if not self._cut and self._small.takes(last):
            self._small.add(SmallFile(self._number, self._path, self._key, last))
            return
        if last is not None:
            self._take(last)
        self._close()

    def _close(self) -> None:
        """Put the leaves of the file into the tree over the files."""
        leaves = [stack.close() for stack in self._stacks]
        some = [moments for moments in leaves if moments is not None]
        if some:
            self._tree.push_leaf(stacked(some))
        self._tree.end_file(self._number, self._key)

    def _take_alone(self, file: SmallFile) -> None:
        """A small file by itself, as if it were a large one."""
        self._number, self._path, self._key = file.number, file.path, file.key
        if file.rows is not None:
            self._take(file.rows)
        self._close()

    def _settle(self) -> None:
        """Take all small files together."""
        together = self._small.settle(self._take_alone)
        if together is not None:
            self._census.rows(together.rows, 1)
            for c, stack in enumerate(self._stacks):
                self._census.missing(together.rows, c)
                if stack.sampler is not None:
                    stack.sampler.add(*together.sample_keys(c))
        for level, index, start, stop in self._small.nodes():
            node = None if together is None else together.node(level, start, stop)
            self._tree.push_files(level, index, None if node is None else node.at((slice(None), None)))

    def _take(self, leaf: Rows) -> None:
        self._cut = True
        self._census.rows(leaf, 1)
        place = Place(self._key, leaf.first_row, self._number)
        for c, stack in enumerate(self._stacks):
            self._column(leaf, c, place, stack)

    def _column(self, leaf: Rows, c: int, place: Place, stack: LeafStack) -> None:
        """Add one column; its values are searched for NaN and infinity only if the sums tell of some.

        A clean leaf needs no look at its values then. After a leaf that was not clean the next one is
        searched first, which saves doing it twice.
        """
        push, window = self._spec.layout.push, self._window
        x, rest = leaf.values[c], leaf.rest[c] if leaf.rest else NO_REST
        gone = self._census.missing(leaf, c)
        mine = LeafRows(x, rest, gone, None, 1, place)
        if not self._strange[c] and push(stack, mine, window, anything=False):
            return
        searched = self._census.strange(leaf, c, gone, self._path)
        self._strange[c] = searched is not gone
        push(stack, LeafRows(x, rest, searched, None, 1, place), window, anything=True)

    def result(self, keys: list[Key]) -> MeanState | None:  # noqa: D102
        self._settle()
        moments = self._tree.result(len(keys))
        if moments is None:
            return None
        samples = tuple(s.sampler.result() for s in self._stacks if s.sampler is not None)
        return MeanState(tuple(keys), self._census.n_rows, self._census.counts, moments, samples)
