"""Accumulating leaf by leaf: rows without groups, and layouts that need whole leaves."""

from __future__ import annotations

from math import isfinite
from typing import TYPE_CHECKING, Any

import numpy as np

from distmom.numerics.arrays import NOTHING
from distmom.numerics.blocks.block_state import BlockState
from distmom.numerics.blocks.labels import file_key
from distmom.numerics.blocks.leaf import LEAF_ROWS, Weights
from distmom.numerics.blocks.leaf_stack import LeafStack
from distmom.numerics.blocks.moments import Moments
from distmom.numerics.samples.sample import LeafSampler
from distmom.reductions.accumulate.files import FileTree, GroupCounts, UnitCounter
from distmom.reductions.accumulate.leaves import LeafCutter, Mask, Rows
from distmom.reductions.accumulate.small_files import SmallFile, SmallFiles
from distmom.reductions.layout import LeafRows, Place
from distmom.reductions.state import Key, MeanState, in_key_order

if TYPE_CHECKING:
    from distmom.reductions.block_means import BlockMeans
    from distmom.reductions.file_facts import FileWatcher


class LeafwiseMeans:
    """The `Accumulator` for rows that are taken leaf by leaf; a `watcher` is told what each file holds."""

    def __init__(
        self, spec: BlockMeans, n_files: int, window: Any, watcher: FileWatcher | None = None
    ) -> None:
        self._spec = spec
        self._watcher = watcher
        self._window = window
        self._tree = FileTree(spec, n_files)
        self._group_counts = GroupCounts(spec)
        self._samplers = (
            [LeafSampler(spec.sample_size, compiled=spec.compiled) for _ in spec.columns]
            if spec.sample_size
            else []
        )
        self._stacks = [LeafStack(spec.layout.n_blocks + 1, sampler) for sampler in self._to_stack()]
        self._cutter = LeafCutter()
        self._number, self._path, self._key = 0, "", np.uint64(0)
        self._n_groups = 1
        self._strange = [False for _ in spec.sets]
        self._units = UnitCounter(spec) if spec.count_units else None
        self._small = SmallFiles(spec, n_files)
        self._cut = False  # whether a leaf of this file has been taken already

    def _to_stack(self) -> list[LeafSampler] | list[None]:
        """The samplers (or none) of columns that take the short way from leaf to leaf."""
        spec = self._spec
        plain = spec.compiled and not spec.grouped and not spec.joint and spec.weights is None
        if not (plain and spec.layout.has_stack):
            return []
        return self._samplers or [None for _ in spec.columns]

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
        leaves = [moments for stack in self._stacks if (moments := stack.close()) is not None]
        if leaves:
            self._tree.push_leaf(leaves[0].stacked(*leaves[1:]))
        whole = self._tree.end_file(self._number, self._key)
        if self._watcher is not None:
            self._watcher.end_file(self._number, self._group_counts.counts[:, 0], whole)

    def _settle(self) -> None:
        """Take the small files together."""
        together = self._small.settle(self._end)
        if together is not None:
            self._group_counts.rows(together.rows, 1)
            rows = self._group_counts.weighed(together.rows, "")
            for number, columns in enumerate(self._spec.sets):
                self._group_counts.missing(rows, number)
                for c in columns if self._samplers else ():
                    self._samplers[c].add(*together.sample(c))
            if self._watcher is not None:
                self._watcher.together(together)
            if self._units is not None:
                for file in together.files:
                    if file.rows is not None:
                        self._units.add(file.rows, None, file.key, 1)
        for level, index, start, stop in self._small.nodes():
            node = None if together is None else together.node(level, start, stop)
            self._tree.push_files(level, index, None if node is None else node.at((slice(None), None)))

    def _take(self, leaf: Rows) -> None:
        self._cut = True
        self._group_counts.rows(leaf, self._n_groups)
        if self._units is not None:
            self._units.add(leaf, leaf.codes, self._key, self._n_groups)
        leaf = self._group_counts.weighed(leaf, self._path)
        place = Place(self._key, leaf.first_row, self._number)
        if self._stacks:
            for c, stack in enumerate(self._stacks):
                self._push(leaf, c, place, stack)
            return
        first, *others = [b for number in range(len(self._spec.sets)) for b in self._set(leaf, number, place)]
        self._tree.push_leaf(first.stacked(*others))

    def _push(self, leaf: Rows, c: int, place: Place, stack: LeafStack) -> None:
        """`_set` for a column of its own, by the short way."""
        layout, window = self._spec.layout, self._window
        gone = self._group_counts.missing(leaf, c)
        if not self._strange[c]:
            [mine] = self._mine(leaf, c, gone, place)
            if layout.push(stack, mine, window, anything=False):
                self._watch(c, mine)
                return
        searched = self._group_counts.strange(leaf, c, gone, self._path)
        self._strange[c] = searched is not gone
        [mine] = self._mine(leaf, c, searched, place)
        layout.push(stack, mine, window, anything=True)
        self._watch(c, mine)

    def _watch(self, c: int, mine: LeafRows) -> None:
        if self._watcher is not None:
            self._watcher.leaf(c, mine)

    def _set(self, leaf: Rows, number: int, place: Place) -> list[BlockState]:
        """Moments of the columns of a set; values are searched for NaN and infinity if the sums tell of some.

        A clean leaf needs no look at its values then. After a leaf that was not clean the next one is
        searched first, which saves doing it twice.
        """
        gone = self._group_counts.missing(leaf, number)
        if not self._strange[number]:
            mine = self._mine(leaf, number, gone, place)
            blocks = self._clean(mine)
            if blocks is not None:
                self._offer(number, mine)
                return blocks
        searched = self._group_counts.strange(leaf, number, gone, self._path)
        self._strange[number] = searched is not gone
        mine = self._mine(leaf, number, searched, place)
        self._offer(number, mine)
        return [self._moments(rows) for rows in mine]

    def _mine(self, leaf: Rows, number: int, gone: Mask, place: Place) -> list[LeafRows]:
        columns = self._spec.sets[number]
        rest = [leaf.rest[c] if leaf.rest else NOTHING for c in columns]
        weights = None
        if self._spec.weights is not None:
            weights = Weights(leaf.values[-1], leaf.rest[-1] if leaf.rest else NOTHING)
        return [
            LeafRows(leaf.values[c], more, gone, leaf.codes, self._n_groups, place, weights)
            for c, more in zip(columns, rest, strict=True)
        ]

    def _clean(self, columns: list[LeafRows]) -> list[BlockState] | None:
        """Moments of each, or None as soon as one is not finite."""
        blocks = []
        for rows in columns:
            blocks.append(self._moments(rows))
            if not all(map(isfinite, blocks[-1].mean[:, -1].tolist())):
                return None
        return blocks

    def _moments(self, rows: LeafRows) -> BlockState:
        blocks = self._spec.layout.leaf(rows, self._window, compiled=self._spec.compiled)
        if rows.weights is not None and isinstance(blocks, Moments):
            raise NotImplementedError("blocks of this kind have no weights")
        return blocks

    def _offer(self, number: int, columns: list[LeafRows]) -> None:
        if self._samplers:
            number_of_leaf = columns[0].place.first_row // LEAF_ROWS
            for c, rows in zip(self._spec.sets[number], columns, strict=True):
                self._samplers[c].offer(self._key, number_of_leaf, rows.x, rows.gone, rows.rest)
        for c, rows in zip(self._spec.sets[number], columns, strict=True):
            self._watch(c, rows)

    def result(self, keys: list[Key]) -> MeanState | None:  # noqa: D102
        self._settle()
        moments = self._tree.result(len(keys))
        if moments is None:
            return None
        samples = tuple(s.result() for s in self._samplers)
        units = None if self._units is None else self._units.result()
        totals = self._group_counts
        state = MeanState(tuple(keys), totals.n_rows, totals.counts, moments, samples, units)
        return in_key_order(state)
