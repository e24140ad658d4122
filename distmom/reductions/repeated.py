"""Several random partitions of the same rows, side by side in one state."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from distmom.numerics.blocks.cells import Cells
from distmom.numerics.blocks.labels import LabelTable, label_table, repeat_key, repeat_seed, repeat_tables
from distmom.numerics.blocks.leaf import leaf_moments
from distmom.numerics.blocks.moments import Moments
from distmom.reductions.layouts import LeafRows


@dataclass(frozen=True)
class RepeatedBlocks:
    """`repeats` partitions like that of `RandomBlocks`, each under a seed of its own.

    The first one is the partition of `RandomBlocks` under the same seed; its blocks come first. A leaf is
    read once and passed over `repeats` times in memory.
    """

    seed: int
    n_fine: int
    repeats: int
    width: int = 1
    by_leaf = False

    @property
    def n_blocks(self) -> int:  # noqa: D102
        return self.repeats * (self.n_fine // self.width)

    def leaf(self, rows: LeafRows, window: Any, *, compiled: bool) -> Moments:  # noqa: D102
        place = rows.place
        parts = []
        for number, table in enumerate(repeat_tables(self.seed, self.n_fine, self.repeats)):
            key = repeat_key(place.key, self.seed, number)
            first, rest = place.first_row, rows.rest
            parts.append(leaf_moments(rows.x, rows.gone, first, key, table, rest=rest, compiled=compiled))
        blocks = [part.at(slice(self.n_fine)) for part in parts]
        together = [*blocks, parts[0].at(slice(self.n_fine, None))]
        return Moments(*(np.concatenate(arrays) for arrays in zip(*together, strict=True))).at(None)

    @property
    def partitions(self) -> tuple[OnePartition, ...]:
        """Each of them, for rows that are put into blocks one by one."""
        return tuple(OnePartition(self.seed, self.n_fine, r, self.width) for r in range(self.repeats))

    @property
    def cells_per_group(self) -> int:  # noqa: D102
        return self.n_blocks

    def add_rows(self, cells: Cells, rows: LeafRows, window: Any, *, compiled: bool) -> None:  # noqa: D102
        assert rows.codes is not None
        for number, table in enumerate(repeat_tables(self.seed, self.n_fine, self.repeats)):
            key = repeat_key(rows.place.key, self.seed, number)
            partition = rows.codes * self.repeats + number
            cells.add_blocks(rows.x, rows.gone, partition, rows.place.first_row, key, table, self.width)


@dataclass(frozen=True)
class OnePartition:
    """One of the partitions of `RepeatedBlocks`, for rows that are kept block by block."""

    seed: int
    n_fine: int
    number: int
    width: int = 1
    repeats = 1
    by_leaf = False

    @property
    def n_blocks(self) -> int:  # noqa: D102
        return self.n_fine // self.width

    def key(self, key: np.uint64) -> np.uint64:
        """The key of a file's runs, from its `file_key`."""
        return repeat_key(key, self.seed, self.number)

    @property
    def table(self) -> LabelTable:
        """The permutations of the partition."""
        return label_table(repeat_seed(self.seed, self.number), self.n_fine)

    @property
    def cells_per_group(self) -> int:  # noqa: D102
        return self.n_blocks

    def leaf(self, rows: LeafRows, window: Any, *, compiled: bool) -> Moments:  # noqa: D102
        raise NotImplementedError("several partitions are counted together")

    def add_rows(self, cells: Cells, rows: LeafRows, window: Any, *, compiled: bool) -> None:  # noqa: D102
        raise NotImplementedError("several partitions are counted together")
