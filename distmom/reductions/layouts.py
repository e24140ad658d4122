"""How the rows of a file are laid out in blocks: at random, as stored, or as independent samples.

A layout gives the moments of the row blocks of one leaf; the reduction merges leaves and knows nothing of
labels. All layouts are picklable; what changes from unit to unit comes with the unit, as `window`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from distmom.numerics.arrays import Bools, Floats, Ints, Words
from distmom.numerics.blocks.block_state import BlockState
from distmom.numerics.blocks.cells import Cells, block_cells
from distmom.numerics.blocks.chunks import chunk_moments
from distmom.numerics.blocks.labels import (
    LabelTable,
    file_cell,
    label_table,
    repeat_key,
    repeat_seed,
    repeat_tables,
    stored_edges,
    stored_labels,
)
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


class Layout:
    """A way to form row blocks; subclasses are frozen dataclasses.

    Attributes
    ----------
    n_blocks : int
        Row blocks in the state.
    repeats : int
        Partitions: the row blocks are so many sets, of equal size, that each hold every row once.
    by_leaf : bool
        Whether grouped rows, too, must be taken leaf by leaf, `add_rows` being undefined.
    has_stack : bool
        Whether leaves without groups and weights can be pushed on a `LeafStack`.
    """

    repeats = 1
    by_leaf = False

    if TYPE_CHECKING:

        @property
        def n_blocks(self) -> int: ...  # noqa: D102

    @property
    def has_stack(self) -> bool:  # noqa: D102
        return False

    def leaf(self, rows: LeafRows, window: Any, *, compiled: bool) -> BlockState:
        """Moments of one leaf, shape (groups, n_blocks + 1): its row blocks, and last all its rows together.

        There is one group unless `by_leaf`.
        """
        raise NotImplementedError(f"rows of {type(self).__name__} are taken one by one")

    def push(self, stack: LeafStack, rows: LeafRows, window: Any, *, anything: bool) -> bool:
        """Add a leaf to a stack, in one compiled call, and say so.

        Not one with NaNs or infinities, unless `anything` is to be added.
        """
        raise NotImplementedError

    def cells(self, codes: Ints, place: Place, window: Any, *, compiled: bool) -> Ints:
        """The cell of each row: its group's code times the number of blocks, plus its block."""
        raise NotImplementedError(f"rows of {type(self).__name__} may have several blocks")

    def add_rows(self, cells: Cells, rows: LeafRows, window: Any, *, compiled: bool) -> None:
        """Add rows to their cells; with several partitions a row is added once for each of them."""
        assert rows.codes is not None
        mine = self.cells(rows.codes, rows.place, window, compiled=compiled)
        cells.add(rows.x, rows.gone, mine, rows.w)


@dataclass(frozen=True)
class RandomLayout(Layout):
    """Every run of `n_fine` rows of a file gives one row to each fine block; `width` of them make a block.

    Without groups `width` is 1; with groups the state of each would be too large, so neighbouring fine blocks
    are kept together. With `chunk_rows` above 1 it is chunks of so many consecutive rows that are given.
    Another `number` makes another partition of the same rows.
    """

    seed: int
    n_fine: int
    width: int = 1
    chunk_rows: int = 1
    number: int = 0

    @property
    def n_blocks(self) -> int:  # noqa: D102
        return self.n_fine // self.width

    @property
    def has_stack(self) -> bool:  # noqa: D102
        return self.chunk_rows == 1

    def _draws(self, place: Place) -> tuple[int, np.uint64, LabelTable]:
        """First row, key of the runs of the file, and permutations."""
        table = label_table(repeat_seed(self.seed, self.number), self.n_fine)
        return place.first_row, repeat_key(place.key, self.seed, self.number), table

    def leaf(self, rows: LeafRows, window: Any, *, compiled: bool) -> BlockState:  # noqa: D102
        place = rows.gone, *self._draws(rows.place)
        if self.chunk_rows == 1:
            parts = {"rest": rows.rest, "weights": rows.weights}
            return leaf_moments(rows.x, *place, **parts, compiled=compiled).at(None)  # type: ignore[arg-type]
        x = together(rows.x, rows.rest)
        return chunk_moments(x, *place, self.chunk_rows, w=rows.w, compiled=compiled).at(None)

    def push(self, stack: LeafStack, rows: LeafRows, window: Any, *, anything: bool) -> bool:  # noqa: D102
        number = rows.place.first_row // LEAF_ROWS
        return stack.push_random(rows.x, rows.rest, rows.gone, *self._draws(rows.place), number, anything)

    def cells(self, codes: Ints, place: Place, window: Any, *, compiled: bool) -> Ints:  # noqa: D102
        return block_cells(codes, *self._draws(place), self.width, self.chunk_rows, compiled=compiled)

    def add_rows(self, cells: Cells, rows: LeafRows, window: Any, *, compiled: bool) -> None:  # noqa: D102
        if self.chunk_rows > 1:
            return super().add_rows(cells, rows, window, compiled=compiled)
        assert rows.codes is not None
        return cells.add_blocks(rows.x, rows.gone, rows.codes, *self._draws(rows.place), self.width, rows.w)


@dataclass(frozen=True)
class RepeatedLayout(Layout):
    """`repeats` partitions like that of `RandomLayout`, each under a seed of its own, side by side.

    The first one is the partition of `RandomLayout` under the same seed; its blocks come first. A leaf is
    read once and passed over `repeats` times in memory.
    """

    seed: int
    n_fine: int
    repeats: int
    width: int = 1

    @property
    def n_blocks(self) -> int:  # noqa: D102
        return self.repeats * (self.n_fine // self.width)

    @property
    def partitions(self) -> tuple[RandomLayout, ...]:
        """Each of them."""
        return tuple(RandomLayout(self.seed, self.n_fine, self.width, 1, r) for r in range(self.repeats))

    def _draws(self, place: Place) -> list[tuple[int, np.uint64, LabelTable]]:
        """As those of each partition; the tables of all are kept together."""
        tables = enumerate(repeat_tables(self.seed, self.n_fine, self.repeats))
        return [(place.first_row, repeat_key(place.key, self.seed, r), table) for r, table in tables]

    def leaf(self, rows: LeafRows, window: Any, *, compiled: bool) -> BlockState:  # noqa: D102
        parts = [
            leaf_moments(rows.x, rows.gone, *draws, rest=rows.rest, compiled=compiled)
            for draws in self._draws(rows.place)
        ]
        together = [*(part.at(slice(self.n_fine)) for part in parts), parts[0].at(slice(self.n_fine, None))]
        return parts[0].of(np.concatenate(arrays) for arrays in zip(*together, strict=True)).at(None)

    def add_rows(self, cells: Cells, rows: LeafRows, window: Any, *, compiled: bool) -> None:  # noqa: D102
        assert rows.codes is not None
        for number, draws in enumerate(self._draws(rows.place)):
            cells.add_blocks(rows.x, rows.gone, rows.codes * self.repeats + number, *draws, self.width)


@dataclass(frozen=True)
class StoredLayout(Layout):
    """Contiguous blocks of the `total_rows` rows of the lake, as they are stored.

    The window of a unit is the number, in the lake, of the first row of each of its files.
    """

    total_rows: int
    n_blocks: int
    has_stack = True

    def _edges(self, place: Place, window: Any) -> tuple[int, Ints]:
        """Number of the first row in the lake, and where blocks begin."""
        return int(window[place.file]) + place.first_row, stored_edges(self.total_rows, self.n_blocks)

    def leaf(self, rows: LeafRows, window: Any, *, compiled: bool) -> BlockState:  # noqa: D102
        return _contiguous(rows, *self._edges(rows.place, window), compiled).at(None)

    def push(self, stack: LeafStack, rows: LeafRows, window: Any, *, anything: bool) -> bool:  # noqa: D102
        place, (first, edges) = rows.place, self._edges(rows.place, window)
        leaf = place.key, place.first_row // LEAF_ROWS
        return stack.push_stored(rows.x, rows.rest, rows.gone, first, edges, *leaf, anything)

    def cells(self, codes: Ints, place: Place, window: Any, *, compiled: bool) -> Ints:  # noqa: D102
        first, _ = self._edges(place, window)
        return codes * self.n_blocks + stored_labels(first, codes.size, self.total_rows, self.n_blocks)


@dataclass(frozen=True)
class UnitLayout(Layout):
    """All rows of a unit, wherever they lie, are in the cell that its hash says."""

    n_blocks: int

    def cells(self, codes: Ints, place: Place, window: Any, *, compiled: bool) -> Ints:  # noqa: D102
        assert place.units is not None
        return unit_cells(codes, place.units, self.n_blocks, compiled=compiled)


@dataclass(frozen=True)
class FileLayout(Layout):
    """No row blocks: the cells that hold whole files are all there is, and one cell holds a group's rows."""

    n_blocks: int = 0

    def leaf(self, rows: LeafRows, window: Any, *, compiled: bool) -> BlockState:  # noqa: D102
        return whole_moments(rows, compiled=compiled)

    def cells(self, codes: Ints, place: Place, window: Any, *, compiled: bool) -> Ints:  # noqa: D102
        return codes


@dataclass(frozen=True)
class SampledLayout(Layout):
    """Independent samples of `block_size` rows of the lake, each without replacement, or with.

    The window of a unit is a `SampleWindow` and, for each of its files, the number in the lake of its first
    leaf.
    """

    seed: int
    n_blocks: int
    block_size: int
    replace: bool = False
    by_leaf = True

    def leaf(self, rows: LeafRows, window: Any, *, compiled: bool) -> BlockState:  # noqa: D102
        tree, first_leaves = window
        key = stream_key(self.seed, "monte_carlo" if self.replace else "swor")
        leaf = int(first_leaves[rows.place.file]) + rows.place.first_row // LEAF_ROWS
        counts = _window_counts(tree, int(key), self.n_blocks, self.block_size, self.replace, compiled)
        where = rows.codes, rows.n_groups, key, leaf, counts[:, leaf - tree.first_leaf], compiled
        x = together(rows.x, rows.rest)
        moments = Moments(*sampled_leaf_moments(x, rows.gone, *where, replace=self.replace))
        return moments.joined(whole_moments(rows, compiled=compiled))  # type: ignore[arg-type]


@lru_cache(maxsize=8)
def _window_counts(
    tree: SampleWindow, key: int, n_blocks: int, block_size: int, replace: bool, compiled: bool
) -> Ints:
    """Rows that each block takes from each leaf of the window; drawn once for a window."""
    return tree.counts(np.uint64(key), n_blocks, block_size, replace=replace, compiled=compiled)


def row_labels(
    layout: Layout, n_cells: int, place: Place, n_rows: int, window: Any, *, compiled: bool
) -> Ints:
    """Fine blocks of consecutive rows of a file: those that `BlockMeans` puts them into.

    Without row blocks that is the file's cell, of `n_cells`; stored blocks need the `window` of the unit.
    """
    if isinstance(layout, FileLayout):
        return np.full(n_rows, file_cell(place.key, n_cells))
    return layout.cells(np.zeros(n_rows, np.int64), place, window, compiled=compiled)


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
