"""How the rows of a file are laid out in blocks: at random, as stored, or as independent samples."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from distmom.numerics.arrays import Ints
from distmom.numerics.blocks.block_state import BlockState
from distmom.numerics.blocks.cells import Cells, block_cells
from distmom.numerics.blocks.labels import (
    file_cell,
    label_table,
    repeat_key,
    repeat_seed,
    repeat_tables,
    stored_edges,
    stored_labels,
    table_bytes,
)
from distmom.numerics.blocks.leaf import LEAF_ROWS, Draws, leaf_moments, together
from distmom.numerics.blocks.moments import Moments
from distmom.numerics.random.keyed_hash import unit_cells
from distmom.numerics.random.philox import stream_key
from distmom.numerics.samples.sample_tree import SampleWindow
from distmom.numerics.samples.sampled_leaf import sampled_leaf_moments
from distmom.reductions.layout import Layout, LeafRows, Place, contiguous, whole_moments

DRAW_BYTES = {True: 24, False: 160}
"""Bytes per row that a block draws from a leaf: compiled, and in NumPy."""


@dataclass(frozen=True)
class RandomLayout(Layout):
    """Every run of `n_fine` rows of a file gives one row to each fine block; `width` of them make a block.

    Without groups `width` is 1; with groups the state of each group would be too large, so neighbouring fine
    blocks are merged. With `chunk_rows` above 1, chunks of that many consecutive rows are assigned. Another
    `number` gives another partition of the same rows.
    """

    seed: int
    n_fine: int
    width: int = 1
    chunk_rows: int = 1
    number: int = 0

    @property
    def n_blocks(self) -> int:  # noqa: D102
        return self.n_fine // self.width

    def draw_bytes(self, n_rows: int | None, *, compiled: bool) -> int:  # noqa: D102
        return table_bytes(self.n_fine)

    def _draws(self, place: Place) -> Draws:
        """First row, the key for the runs of the file, and permutations."""
        table = label_table(repeat_seed(self.seed, self.number), self.n_fine)
        return place.first_row, repeat_key(place.key, self.seed, self.number), table

    def runs(self, place: Place) -> Draws | None:  # noqa: D102
        return self._draws(place) if self.chunk_rows == 1 == self.width else None

    def leaf(self, rows: LeafRows, window: Any, *, compiled: bool) -> BlockState:  # noqa: D102
        return leaf_moments(
            rows.x,
            rows.gone,
            *self._draws(rows.place),
            chunk_rows=self.chunk_rows,
            rest=rows.rest,
            weights=rows.weights,
            compiled=compiled,
            known=rows.known,
        ).at(None)

    def cells(self, codes: Ints, place: Place, window: Any) -> Ints:  # noqa: D102
        return block_cells(codes, *self._draws(place), self.width, self.chunk_rows)

    def add_rows(self, cells: Cells, rows: LeafRows, window: Any) -> None:  # noqa: D102
        if self.chunk_rows > 1:
            return super().add_rows(cells, rows, window)
        assert rows.codes is not None
        return cells.add_blocks(rows.x, rows.gone, rows.codes, *self._draws(rows.place), self.width, rows.w)


@dataclass(frozen=True)
class RepeatedLayout(Layout):
    """`repeats` partitions like that of `RandomLayout`, each under a seed of its own, side by side.

    The first is the partition of `RandomLayout` under the same seed; its blocks come first. A leaf is read
    once and processed `repeats` times in memory.
    """

    seed: int
    n_fine: int
    repeats: int
    width: int = 1

    @property
    def n_blocks(self) -> int:  # noqa: D102
        return self.repeats * (self.n_fine // self.width)

    @property
    def partitions(self) -> tuple[Layout, ...]:  # noqa: D102
        return tuple(RandomLayout(self.seed, self.n_fine, self.width, 1, r) for r in range(self.repeats))

    def draw_bytes(self, n_rows: int | None, *, compiled: bool) -> int:  # noqa: D102
        return self.repeats * table_bytes(self.n_fine)

    def _draws(self, place: Place) -> list[Draws]:
        """The draws of each partition; the tables of all are kept together."""
        tables = enumerate(repeat_tables(self.seed, self.n_fine, self.repeats))
        return [(place.first_row, repeat_key(place.key, self.seed, r), table) for r, table in tables]

    def leaf(self, rows: LeafRows, window: Any, *, compiled: bool) -> BlockState:  # noqa: D102
        parts = [
            leaf_moments(rows.x, rows.gone, *draws, rest=rows.rest, compiled=compiled, known=rows.known)
            for draws in self._draws(rows.place)
        ]
        together = [*(part.at(slice(self.n_fine)) for part in parts), parts[0].at(slice(self.n_fine, None))]
        return parts[0].of(np.concatenate(arrays) for arrays in zip(*together, strict=True)).at(None)

    def add_rows(self, cells: Cells, rows: LeafRows, window: Any) -> None:  # noqa: D102
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
    window = "rows"

    def _edges(self, place: Place, window: Any) -> tuple[int, Ints]:
        """Number of the first row in the lake, and the first rows of the blocks."""
        return int(window[place.file]) + place.first_row, stored_edges(self.total_rows, self.n_blocks)

    def leaf(self, rows: LeafRows, window: Any, *, compiled: bool) -> BlockState:  # noqa: D102
        return contiguous(rows, *self._edges(rows.place, window), compiled).at(None)

    def cells(self, codes: Ints, place: Place, window: Any) -> Ints:  # noqa: D102
        first, _ = self._edges(place, window)
        return codes * self.n_blocks + stored_labels(first, codes.size, self.total_rows, self.n_blocks)


@dataclass(frozen=True)
class UnitLayout(Layout):
    """All rows of a unit, wherever they are stored, are in the cell given by its hash."""

    n_blocks: int
    by_row = True

    def cells(self, codes: Ints, place: Place, window: Any) -> Ints:  # noqa: D102
        assert place.units is not None
        return unit_cells(codes, place.units, self.n_blocks)


@dataclass(frozen=True)
class FileLayout(Layout):
    """No row blocks: there are only the cells of whole files, and one cell for the rows of a group."""

    n_blocks: int = 0

    def leaf(self, rows: LeafRows, window: Any, *, compiled: bool) -> BlockState:  # noqa: D102
        return whole_moments(rows, compiled=compiled)

    def cells(self, codes: Ints, place: Place, window: Any) -> Ints:  # noqa: D102
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
    window = "leaves"

    @property
    def n_draws(self) -> int:  # type: ignore[override]  # noqa: D102
        return self.n_blocks * self.block_size

    def draw_bytes(self, n_rows: int | None, *, compiled: bool) -> int:  # noqa: D102
        if not n_rows:
            return 0
        return DRAW_BYTES[compiled] * -(-self.block_size * min(n_rows, LEAF_ROWS) // n_rows)

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
    """Rows that each block takes from each leaf of the window; drawn once per window."""
    return tree.counts(np.uint64(key), n_blocks, block_size, replace=replace, compiled=compiled)


def row_labels(layout: Layout, n_cells: int, place: Place, n_rows: int, window: Any) -> Ints:
    """Fine blocks of consecutive rows of a file, as assigned by `BlockMeans`.

    Without row blocks this is the file's cell among `n_cells`; stored blocks need the `window` of the unit.
    """
    if isinstance(layout, FileLayout):
        return np.full(n_rows, file_cell(place.key, n_cells))
    return layout.cells(np.zeros(n_rows, np.int64), place, window)
