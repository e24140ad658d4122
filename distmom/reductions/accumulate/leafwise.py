"""Accumulating leaf by leaf: for rows without groups, and for layouts that need whole leaves."""

from __future__ import annotations

from math import isfinite
from typing import TYPE_CHECKING, Any

from distmom.numerics.arrays import NOTHING
from distmom.numerics.blocks.block_state import BlockState
from distmom.numerics.blocks.leaf import LEAF_ROWS, Weights
from distmom.numerics.blocks.moments import Moments
from distmom.numerics.samples.pool_sampler import LastDraw, PoolSampler
from distmom.numerics.samples.sample import LeafSampler
from distmom.numerics.samples.stretches import StretchSums
from distmom.reductions.accumulate.files import MeansKeeper
from distmom.reductions.accumulate.leaves import LeafCutter, Mask, Rows
from distmom.reductions.accumulate.small_files import SmallFile, SmallFiles
from distmom.reductions.layout import LeafRows, Place
from distmom.reductions.state import Key, MeanState

if TYPE_CHECKING:
    from distmom.reductions.block_means import BlockMeans
    from distmom.reductions.file_facts import FileWatcher


class LeafwiseMeans(MeansKeeper):
    """The `Accumulator` for rows taken leaf by leaf; a `watcher` receives the facts of each file."""

    def __init__(
        self, spec: BlockMeans, n_files: int, window: Any, watcher: FileWatcher | None = None
    ) -> None:
        super().__init__(spec, n_files, window)
        self._watcher = watcher
        self._samplers = (
            [LeafSampler(spec.sample_size, compiled=spec.compiled) for _ in spec.columns]
            if spec.sample_size
            else []
        )
        sizes, pooled = (spec.pool_size, spec.pool_quota), spec.columns if spec.pool_size else ()
        last = LastDraw()
        self._pools: list[PoolSampler] = [
            PoolSampler(*sizes, bound=spec.pool_bound, compiled=spec.compiled, last=last) for _ in pooled
        ]
        if spec.stretch_rows:
            self._stretches = [StretchSums(spec.stretch_rows) for _ in spec.columns]
        self._cutter = LeafCutter()
        self._n_groups = 1
        self._strange = [False for _ in spec.sets]
        self._small = SmallFiles(spec, n_files)
        self._cut = False  # whether a leaf of this file has been taken already

    def start_file(self, number: int, path: str) -> None:  # noqa: D102
        super().start_file(number, path)
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
        whole = self._tree.end_file(self._number, self._key)
        if self._watcher is not None:
            self._watcher.end_file(self._number, self._group_counts.counts[:, 0], whole)

    def _settle(self) -> None:
        """Process the small files together."""
        together = self._small.settle(self._end)
        if together is not None:
            self._group_counts.rows(together.rows, 1)
            rows = self._group_counts.weighed(together.rows, "")
            for number, columns in enumerate(self._spec.sets):
                self._group_counts.missing(rows, number)
                for c in columns if self._samplers else ():
                    self._samplers[c].add(*together.sample(c))
                for c in columns:
                    for kept in (self._pools, self._stretches):
                        if kept:
                            kept[c].add_files(*together.used(c))
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
        sets = range(len(self._spec.sets))
        first, *others = [b for number in sets for b in self._enter(leaf, number, place)]
        self._tree.push_leaf(first.stacked(*others))

    def _enter(self, leaf: Rows, number: int, place: Place) -> list[BlockState]:
        """Moments of the columns of a set; searched for NaN and infinity only if the sums show some.

        So the values of a clean leaf need no check. After a leaf that was not clean, the next one is searched
        first, which avoids summing it twice.
        """
        gone, found = self._group_counts.missing(leaf, number), None
        if not self._strange[number]:
            mine = self._mine(leaf, number, gone, place)
            found = self._blocks(number, mine, False)
        if found is None:
            searched = self._group_counts.strange(leaf, number, gone, self._path)
            self._strange[number] = searched is not gone
            mine = self._mine(leaf, number, searched, place)
            found = self._blocks(number, mine, True) or []
        for c, rows in zip(self._spec.sets[number], mine, strict=True) if self._pools else ():
            weights = () if rows.weights is None else (rows.weights,)
            n_leaf, n_rows = place.first_row // LEAF_ROWS, rows.x.size + rows.rest.size
            self._pools[c].offer(self._key, n_leaf, n_rows, rows.gone, (rows.x, rows.rest), *weights)
        for c, rows, blocks in (
            zip(self._spec.sets[number], mine, found, strict=True) if self._stretches else ()
        ):
            weights = () if rows.weights is None else (rows.weights,)
            whole = float(blocks.mass[0, -1]), float(blocks.mean[0, -1])
            self._stretches[c].offer(
                self._key, place.first_row, rows.gone, whole, (rows.x, rows.rest), *weights
            )
        if self._watcher is not None:
            for c, rows in zip(self._spec.sets[number], mine, strict=True):
                self._watcher.leaf(c, rows)
        return found

    def _blocks(self, number: int, columns: list[LeafRows], anything: bool) -> list[BlockState] | None:
        """Sample each column; return its moments, or None if any is not finite and not `anything`."""
        blocks = []
        for rows in columns:
            blocks.append(self._spec.layout.leaf(rows, self._window, compiled=self._spec.compiled))
            if rows.weights is not None and isinstance(blocks[-1], Moments):
                raise NotImplementedError("blocks of this kind have no weights")
            if not (anything or all(map(isfinite, blocks[-1].mean[:, -1].tolist()))):
                return None
        if self._samplers:
            leaf = columns[0].place.first_row // LEAF_ROWS
            for c, rows in zip(self._spec.sets[number], columns, strict=True):
                self._samplers[c].offer(self._key, leaf, rows.x, rows.gone, rows.rest)
        return blocks

    def _mine(self, leaf: Rows, number: int, gone: Mask, place: Place) -> list[LeafRows]:
        columns = self._spec.sets[number]
        rest = [leaf.rest[c] if leaf.rest else NOTHING for c in columns]
        weights = None
        if self._spec.weights is not None:
            weights = Weights(leaf.values[-1], leaf.rest[-1] if leaf.rest else NOTHING)
        return [
            LeafRows(leaf.values[c], more, gone, leaf.codes, self._n_groups, place, weights, leaf.known)
            for c, more in zip(columns, rest, strict=True)
        ]

    def result(self, keys: list[Key]) -> MeanState | None:  # noqa: D102
        self._settle()
        return super().result(keys)
