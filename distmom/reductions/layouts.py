"""How the rows of a file are laid out in blocks: at random, as stored, or as independent samples.

A layout gives the moments of the row blocks of one leaf; the reduction merges leaves and knows nothing of
labels. All layouts are frozen and picklable; what changes from unit to unit comes with the unit, as `window`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Protocol

import numpy as np

from distmom.numerics.arrays import Bools, Floats, Ints, Words
from distmom.numerics.blocks.block_state import BlockState
from distmom.numerics.blocks.cells import Cells, block_cells
from distmom.numerics.blocks.chunks import chunk_moments
from distmom.numerics.blocks.labels import label_table, stored_edges, stored_labels
from distmom.numerics.blocks.leaf import LEAF_ROWS, Weights, leaf_moments, together
from distmom.numerics.blocks.leaf_stack import LeafStack
from distmom.numerics.blocks.moments import Moments
from distmom.numerics.blocks.stored import stored_moments
from distmom.numerics.random.keyed_hash import unit_cells
from distmom.numerics.random.philox import stream_key
from distmom.numerics.samples.sample_tree import SampleWindow
from distmom.numerics.samples.sampled_leaf import sampled_leaf_moments


@dataclass(slots=True)
class Place:
    """Where rows lie: their file's key, the first row's number in it, the file's number in its unit of work.

    And the hashes of the units that the rows belong to, where such have been asked for.
    """

    key: np.uint64
    first_row: int
    file: int = 0
    units: Words | None = None


@dataclass(slots=True)
class LeafRows:
    """One column of a leaf: values, in two arrays; rows that do not count; group codes (None: one group).

    And weights, if there are any; a row of weight 0 is among those that do not count.
    """

    x: Floats
    rest: Floats
    gone: Bools | None
    codes: Ints | None
    n_groups: int
    place: Place
    weights: Weights | None = None

    @property
    def w(self) -> Floats | None:
        """Weights in one array, where there are any."""
        return None if self.weights is None else together(*self.weights)


class Layout(Protocol):
    """A way to form row blocks."""

    @property
    def n_blocks(self) -> int:
        """Row blocks in the state."""
        ...

    @property
    def repeats(self) -> int:
        """Partitions: the row blocks are so many sets, of equal size, that each hold every row once."""
        ...

    @property
    def by_leaf(self) -> bool:
        """Whether grouped rows, too, must be taken leaf by leaf, `add_rows` being undefined."""
        ...

    @property
    def cells_per_group(self) -> int:
        """Cells that the rows of one group are collected in."""
        ...

    def leaf(self, rows: LeafRows, window: Any, *, compiled: bool) -> BlockState:
        """Moments of one leaf, shape (groups, n_blocks + 1): its row blocks, and last all its rows together.

        There is one group unless `by_leaf`.
        """
        ...

    def add_rows(self, cells: Cells, rows: LeafRows, window: Any, *, compiled: bool) -> None:
        """Add rows to their cells: the group's code times `cells_per_group`, plus the block.

        With several partitions a row is added once for each of them.
        """
        ...


@dataclass(frozen=True)
class RandomBlocks:
    """Every run of `n_fine` rows of a file gives one row to each fine block; `width` of them make a block.

    Without groups `width` is 1; with groups the state of each would be too large, so neighbouring fine blocks
    are kept together. With `chunk_rows` above 1 it is chunks of so many consecutive rows that are given.
    """

    seed: int
    n_fine: int
    width: int = 1
    chunk_rows: int = 1
    repeats = 1
    by_leaf = False

    @property
    def n_blocks(self) -> int:  # noqa: D102
        return self.n_fine // self.width

    def leaf(self, rows: LeafRows, window: Any, *, compiled: bool) -> BlockState:  # noqa: D102
        table = label_table(self.seed, self.n_fine)
        first, key = rows.place.first_row, rows.place.key
        place = rows.gone, first, key, table
        if self.chunk_rows == 1:
            return leaf_moments(rows.x, *place, rest=rows.rest, weights=rows.weights, compiled=compiled).at(
                None
            )
        x = together(rows.x, rows.rest)
        return chunk_moments(x, *place, self.chunk_rows, w=rows.w, compiled=compiled).at(None)

    @property
    def cells_per_group(self) -> int:  # noqa: D102
        return self.n_blocks

    def add_rows(self, cells: Cells, rows: LeafRows, window: Any, *, compiled: bool) -> None:  # noqa: D102
        assert rows.codes is not None
        place = rows.place.first_row, rows.place.key, label_table(self.seed, self.n_fine), self.width
        if self.chunk_rows == 1:
            cells.add_blocks(rows.x, rows.gone, rows.codes, *place, rows.w)
        else:
            chunks = block_cells(rows.codes, *place, self.chunk_rows, compiled=compiled)
            cells.add(rows.x, rows.gone, chunks, rows.w)


@dataclass(frozen=True)
class StoredBlocks:
    """Contiguous blocks of the `total_rows` rows of the lake, as they are stored.

    The window of a unit is the number, in the lake, of the first row of each of its files.
    """

    total_rows: int
    n_blocks: int
    repeats = 1
    by_leaf = False

    def leaf(self, rows: LeafRows, window: Any, *, compiled: bool) -> BlockState:  # noqa: D102
        first = int(window[rows.place.file]) + rows.place.first_row
        edges = stored_edges(self.total_rows, self.n_blocks)
        return _contiguous(rows, first, edges, compiled).at(None)

    @property
    def cells_per_group(self) -> int:  # noqa: D102
        return self.n_blocks

    def add_rows(self, cells: Cells, rows: LeafRows, window: Any, *, compiled: bool) -> None:  # noqa: D102
        assert rows.codes is not None
        first = int(window[rows.place.file]) + rows.place.first_row
        blocks = stored_labels(first, rows.x.size, self.total_rows, self.n_blocks)
        cells.add(rows.x, rows.gone, rows.codes * self.n_blocks + blocks, rows.w)


@dataclass(frozen=True)
class UnitBlocks:
    """All rows of a unit, wherever they lie, are in the cell that its hash says."""

    n_blocks: int
    repeats = 1
    by_leaf = False

    def leaf(self, rows: LeafRows, window: Any, *, compiled: bool) -> BlockState:  # noqa: D102
        raise NotImplementedError("rows of units are taken one by one")

    @property
    def cells_per_group(self) -> int:  # noqa: D102
        return self.n_blocks

    def add_rows(self, cells: Cells, rows: LeafRows, window: Any, *, compiled: bool) -> None:  # noqa: D102
        assert rows.codes is not None and rows.place.units is not None
        units = unit_cells(rows.codes, rows.place.units, self.n_blocks, compiled=compiled)
        cells.add(rows.x, rows.gone, units, rows.w)


@dataclass(frozen=True)
class NoRowBlocks:
    """No row blocks: the cells that hold whole files are all there is."""

    n_blocks: int = 0
    repeats = 1
    by_leaf = False
    cells_per_group = 1

    def leaf(self, rows: LeafRows, window: Any, *, compiled: bool) -> BlockState:  # noqa: D102
        return whole_moments(rows, compiled=compiled)

    def add_rows(self, cells: Cells, rows: LeafRows, window: Any, *, compiled: bool) -> None:  # noqa: D102
        assert rows.codes is not None
        cells.add(rows.x, rows.gone, rows.codes, rows.w)


@dataclass(frozen=True)
class SampledBlocks:
    """Independent samples of `block_size` rows of the lake, each without replacement, or with.

    The window of a unit is a `SampleWindow` and, for each of its files, the number in the lake of its first
    leaf.
    """

    seed: int
    n_blocks: int
    block_size: int
    replace: bool = False
    repeats = 1
    by_leaf = True
    cells_per_group = 0

    def leaf(self, rows: LeafRows, window: Any, *, compiled: bool) -> BlockState:  # noqa: D102
        tree, first_leaves = window
        key = stream_key(self.seed, "monte_carlo" if self.replace else "swor")
        leaf = int(first_leaves[rows.place.file]) + rows.place.first_row // LEAF_ROWS
        counts = self._counts(key, tree, compiled)[:, leaf - tree.first_leaf]
        moments = sampled_leaf_moments(
            together(rows.x, rows.rest),
            rows.gone,
            rows.codes,
            rows.n_groups,
            key,
            leaf,
            counts,
            compiled,
            replace=self.replace,
        )
        whole = whole_moments(rows, compiled=compiled)
        both = (np.concatenate(pair, axis=1) for pair in zip(moments, whole, strict=True))
        return Moments(*both)

    def _counts(self, key: np.uint64, tree: SampleWindow, compiled: bool) -> Ints:
        """Rows that each block takes from each leaf of the window; drawn once for a window."""
        return _window_counts(tree, int(key), self.n_blocks, self.block_size, self.replace, compiled)

    def add_rows(self, cells: Cells, rows: LeafRows, window: Any, *, compiled: bool) -> None:  # noqa: D102
        raise NotImplementedError("a row may belong to several samples")


@lru_cache(maxsize=8)
def _window_counts(
    tree: SampleWindow, key: int, n_blocks: int, block_size: int, replace: bool, compiled: bool
) -> Ints:
    return tree.counts(np.uint64(key), n_blocks, block_size, replace=replace, compiled=compiled)


def push_leaf(layout: Layout, stack: LeafStack, rows: LeafRows, window: Any, *, anything: bool) -> bool:
    """Add a leaf to a stack, in one compiled call, and say so: for the layouts of `has_stack`.

    Not one with NaNs or infinities, unless `anything` is to be added.
    """
    place = rows.place
    parts, number, first = (rows.x, rows.rest, rows.gone), place.first_row // LEAF_ROWS, place.first_row
    if isinstance(layout, StoredBlocks):
        edges = stored_edges(layout.total_rows, layout.n_blocks)
        return stack.push_stored(*parts, int(window[place.file]) + first, edges, place.key, number, anything)
    assert isinstance(layout, RandomBlocks)
    table = label_table(layout.seed, layout.n_fine)
    return stack.push_random(*parts, first, place.key, table, number, anything)


def has_stack(layout: Layout) -> bool:
    """Whether there is a `push_leaf` for the leaves of this layout, without groups and weights."""
    return isinstance(layout, StoredBlocks) or (isinstance(layout, RandomBlocks) and layout.chunk_rows == 1)


def whole_moments(rows: LeafRows, *, compiled: bool) -> BlockState:
    """Moments of all rows of a leaf together, shape (groups, 1)."""
    if rows.codes is None:
        everything = np.array([0, max(rows.x.size + rows.rest.size, 1)])
        return _contiguous(rows, 0, everything, compiled).at((None, slice(1, None)))
    groups = Cells(weighted=rows.weights is not None, compiled=compiled)
    groups.grow(rows.n_groups)
    groups.add(together(rows.x, rows.rest), rows.gone, rows.codes, rows.w)
    return groups.moments(rows.n_groups).at((slice(None), None))


def _contiguous(rows: LeafRows, first: int, edges: Ints, compiled: bool) -> BlockState:
    """Moments of the contiguous blocks between these edges, and last of all rows; row 0 is number `first`."""
    return stored_moments(
        rows.x, rows.gone, first, edges, rest=rows.rest, weights=rows.weights, compiled=compiled
    )
