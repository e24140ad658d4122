"""Several random partitions of the same rows, side by side in one state."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from distmom.numerics.cells import Cells
from distmom.numerics.labels import repeat_key, repeat_tables
from distmom.numerics.leaf import leaf_moments
from distmom.numerics.moments import Moments
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
    def cells_per_group(self) -> int:  # noqa: D102
        return self.n_blocks

    def add_rows(self, cells: Cells, rows: LeafRows, window: Any, *, compiled: bool) -> None:  # noqa: D102
        assert rows.codes is not None
        for number, table in enumerate(repeat_tables(self.seed, self.n_fine, self.repeats)):
            key = repeat_key(rows.place.key, self.seed, number)
            partition = rows.codes * self.repeats + number
            cells.add_blocks(rows.x, rows.gone, partition, rows.place.first_row, key, table, self.width)
