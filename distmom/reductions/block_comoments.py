"""Block means and co-moments of the same blocks: covariances in one pass."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from distmom.numerics.arrays import Ints, Record
from distmom.numerics.blocks.leaf import Draws
from distmom.numerics.linalg.comoments import Comoments, leaf_comoments
from distmom.numerics.linalg.run_products import RunColumns, runs_ready
from distmom.reductions import Accumulator
from distmom.reductions.accumulate.leaves import Rows, shared_leaves
from distmom.reductions.block_means import BlockMeans
from distmom.reductions.layout import Layout, Place
from distmom.reductions.layouts import row_labels
from distmom.reductions.parts import PartSums, Sums
from distmom.reductions.rows.keep_rows import missing_values
from distmom.reductions.state import Key, MeanState


@dataclass(frozen=True)
class ComomentState(Record):
    """The result of a pass: the state of the means, and co-moments of shape (groups, blocks)."""

    means: MeanState
    comoments: Comoments


def _of_means(name: str) -> Any:
    """Read the attribute of this name from the reduction of the means."""
    return property(lambda spec: getattr(spec.means, name))


@dataclass(frozen=True)
class BlockComoments:
    """The reduction that accompanies `means`, with the same rows, blocks and groups."""

    means: BlockMeans

    @property
    def n_blocks(self) -> int:
        """Blocks of each group: row blocks or, if there are none, the cells of files."""
        return self.means.layout.n_blocks or self.means.n_cells

    seed, compiled, grouped, leafwise = map(_of_means, ("seed", "compiled", "grouped", "leafwise"))

    def begin(self, n_files: int, window: Any = None) -> ComomentKeeper:
        """An accumulator for a unit of `n_files` files."""
        return ComomentKeeper(self, n_files, window)

    def merge(self, left: ComomentState, right: ComomentState) -> ComomentState:
        """The state of both; `left` has the rows that come first in the lake."""
        means = self.means.merge(left.means, right.means)
        one, other = (_spread(state, means.keys) for state in (left, right))
        return ComomentState(means, one.merge(other))

    def more_bytes(self, n_groups: int = 1) -> int:
        """Bytes of the state of `n_groups` groups, besides the block means."""
        c = len(self.means.columns)
        return 8 * n_groups * self.n_blocks * (1 + c + c * c)


def _spread(state: ComomentState, keys: tuple[Key, ...]) -> Comoments:
    if state.means.keys == keys:
        return state.comoments
    place = {key: i for i, key in enumerate(keys)}
    return state.comoments.spread(len(keys), np.array([place[key] for key in state.means.keys], np.int64))


class _Leaf(Sums[Comoments]):
    """The co-moments of a whole leaf."""

    def __init__(self, take: Callable[[Rows], Comoments]) -> None:
        self._take = take

    def add(self, rows: Rows, key: np.uint64, path: str) -> None:
        self._found = self._take(rows)

    def state(self) -> Comoments:
        return self._found


class ComomentKeeper(PartSums[Comoments]):
    """The `Accumulator` of `BlockComoments`: passes rows on to that of the means, and takes whole leaves."""

    def __init__(self, spec: BlockComoments, n_files: int, window: Any) -> None:
        super().__init__(lambda: _Leaf(self.leaf), _merged, n_files, spec.seed, whole=True)
        self._spec, self._window = spec, window
        self._means: Accumulator = spec.means.begin(n_files, window)
        self._n_groups = 1

    def start_file(self, number: int, path: str) -> None:  # noqa: D102
        self._means.start_file(number, path)
        super().start_file(number, path)

    def add(self, rows: Rows, n_groups: int) -> None:  # noqa: D102
        self._n_groups = n_groups
        if self._cutter is None or not self._spec.leafwise:
            self._means.add(rows, n_groups)
            super().add(rows, n_groups)
            return
        for leaf in shared_leaves(self._cutter.add(rows)):
            self._both(leaf)

    def _both(self, leaf: Rows) -> None:
        """A whole leaf for the means and for the co-moments, which have moments in common."""
        self._means.add(leaf, self._n_groups)
        self._take(leaf)

    def leaf(self, rows: Rows) -> Comoments:
        """Co-moments of the blocks of a leaf, shape (groups, blocks)."""
        parts = [self._partition(rows, layout) for layout in self._spec.means.layout.partitions]
        if len(parts) == 1:
            return parts[0]
        return Comoments(*(np.concatenate(arrays, axis=1) for arrays in zip(*parts, strict=True)))

    def _partition(self, leaf: Rows, layout: Layout) -> Comoments:
        """Co-moments of the blocks of one partition, shape (groups, blocks)."""
        means = self._spec.means
        n_blocks = layout.n_blocks or means.n_cells
        place = Place(self._key, leaf.first_row, self._number, leaf.units)
        draws = layout.runs(place) if means.compiled and leaf.codes is None else None
        if draws is not None and runs_ready(leaf.n_rows, len(leaf.values), draws):
            return self._of_runs(leaf, draws).reshape(1, n_blocks)
        compiled = means.compiled and draws is None
        cells = row_labels(layout, means.n_cells, place, leaf.n_rows, self._window)
        if leaf.codes is not None:
            cells = leaf.codes * n_blocks + cells
        gone = missing_values(leaf, means.nan)
        n_cells = self._n_groups * n_blocks
        found = leaf_comoments(leaf.values, gone, cells, n_cells, rest=leaf.rest, compiled=compiled)
        return found.reshape(self._n_groups, n_blocks)

    def _of_runs(self, leaf: Rows, draws: Draws) -> Comoments:
        """The same for blocks that get a row of each run; NaN is searched for only if the means show some."""
        columns, nan = RunColumns(leaf.values, leaf.rest, draws, leaf.known), self._spec.means.nan
        gone = missing_values(leaf, "keep")
        count, mean = columns.means(gone)
        if nan == "omit" and not np.isfinite(mean).all():
            gone = missing_values(leaf, nan)
            count, mean = columns.means(gone)
        return columns.comoments(gone, count, mean)

    def end_file(self) -> None:  # noqa: D102
        if self._cutter is not None and self._spec.leafwise:
            for leaf in shared_leaves(self._cutter.flush()):
                self._both(leaf)
        super().end_file()
        self._means.end_file()

    def result(self, keys: list[Key]) -> ComomentState | None:  # noqa: D102
        means = self._means.result(keys)
        if means is None:
            return None
        c = len(self._spec.means.columns)
        whole = self._files.root or _nothing(self._n_groups, self._spec.n_blocks, c)
        order: Ints = np.array(sorted(range(len(keys)), key=keys.__getitem__), np.int64)
        return ComomentState(means, _widened(whole, len(keys)).at(order))


def _nothing(n_groups: int, n_blocks: int, c: int) -> Comoments:
    shape = (n_groups, n_blocks)
    return Comoments(np.zeros(shape, np.int64), np.zeros((*shape, c)), np.zeros((*shape, c, c)))


def _merged(left: Comoments, right: Comoments) -> Comoments:
    """Groups are numbered as they are met: later leaves have more of them."""
    n_groups = max(left.rows.shape[0], right.rows.shape[0])
    return _widened(left, n_groups).merge(_widened(right, n_groups))


def _widened(state: Comoments, n_groups: int) -> Comoments:
    have = state.rows.shape[0]
    return state if have == n_groups else state.spread(n_groups, np.arange(have))
