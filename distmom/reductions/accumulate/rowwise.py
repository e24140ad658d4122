"""Accumulating row by row into (group, block) cells."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from distmom.errors import ResourceError
from distmom.numerics.arrays import NOTHING, Ints
from distmom.numerics.blocks.block_state import BlockState
from distmom.numerics.blocks.cells import CELL_BYTES, WEIGHTED_CELL_BYTES, Cells
from distmom.numerics.blocks.leaf import LEAF_ROWS, Weights
from distmom.numerics.samples.group_pool import GroupPoolSampler
from distmom.numerics.samples.group_sample import GroupSampler
from distmom.reductions.accumulate.files import MeansKeeper
from distmom.reductions.accumulate.leaves import Rows, stretches
from distmom.reductions.layout import LeafRows, Place
from distmom.reductions.state import NANS, NULLS

if TYPE_CHECKING:
    from distmom.reductions.block_means import BlockMeans

LEAVES_TOGETHER = 16
"""With many groups, merging two leaves costs as much as adding their rows, so sixteen leaves form one
here."""


class RowwiseMeans(MeansKeeper):
    """The `Accumulator` for rows with groups or units.

    Running moments do not depend on the batches, so nothing is buffered. Every sixteen leaves of the file,
    and so at the same rows whatever the unit, the cells are passed to the tree and reset.
    """

    def __init__(self, spec: BlockMeans, n_files: int, window: Any) -> None:
        super().__init__(spec, n_files, window)
        self._blocks = max(spec.layout.n_blocks, 1)
        self._n_once = spec.layout.n_blocks // spec.layout.repeats
        weighted = spec.weights is not None
        self._cells = [Cells(weighted=weighted, compiled=spec.compiled) for _ in spec.columns]
        wanted = spec.columns if spec.sample_size else ()
        self._samplers = [GroupSampler(spec.sample_size, compiled=spec.compiled) for _ in wanted]
        pooled = wanted if spec.pool_size else ()
        self._pools: list[GroupPoolSampler] = [
            GroupPoolSampler(spec.pool_size, spec.pool_quota, bound=spec.pool_bound) for _ in pooled
        ]
        self._zeros = np.zeros(0, np.int64)
        self._filled = False
        self._n_groups = 0

    def add(self, rows: Rows, n_groups: int) -> None:  # noqa: D102
        if n_groups > self._n_groups:
            self._make_room(n_groups)
        for part, ends in stretches(rows, LEAF_ROWS * LEAVES_TOGETHER):
            self._take(part)
            if ends:
                self._push()

    def _make_room(self, n_groups: int) -> None:
        self._spec.check_groups(n_groups)
        cell = CELL_BYTES if self._spec.weights is None else WEIGHTED_CELL_BYTES
        each = self._blocks * cell + 32 * self._spec.sample_size
        needed = n_groups * each * len(self._cells)
        if self._spec.most_bytes is not None and needed > self._spec.most_bytes:
            raise ResourceError(
                f"{self._path or 'the data'}: {n_groups:,} groups need {needed / 1e6:,.0f} MB in one unit of "
                f"work, more than the {self._spec.most_bytes / 1e6:,.0f} MB it may use; group by fewer "
                "values, filter with where, or allow more memory_limit"
            )
        self._n_groups = n_groups
        self._group_counts.make_room(n_groups)
        for cells in self._cells:
            cells.grow(n_groups * self._blocks)

    def _take(self, rows: Rows) -> None:
        spec = self._spec
        codes = self._one_group(rows.n_rows) if rows.codes is None else rows.codes
        place = Place(self._key, rows.first_row, self._number, rows.units)
        if self._units is not None:
            self._units.add(rows, codes, self._key, self._n_groups)
        rows = self._group_counts.weighed(rows, self._path)
        weights = None if spec.weights is None else Weights(rows.values[-1], NOTHING)
        for number, columns in enumerate(spec.sets):
            gone = self._group_counts.missing(rows, number)
            if not all(np.isfinite(rows.values[c]).all() for c in columns):
                gone = self._group_counts.strange(rows, number, gone, self._path)
            for c in columns:
                x = rows.values[c]
                mine = LeafRows(x, NOTHING, gone, codes, self._n_groups, place, weights)
                spec.layout.add_rows(self._cells[c], mine, self._window)
                offered = self._key, rows.first_row, codes, x, gone, self._n_groups
                if self._pools:
                    mine_too = weights and weights.w, rows.groups
                    self._pools[c].offer_rows(self._samplers[c], *offered, *mine_too)
                elif self._samplers:
                    self._samplers[c].offer(*offered)
        self._filled = True

    def _one_group(self, n_rows: int) -> Ints:
        """Codes of rows without groups."""
        if self._zeros.size < n_rows:
            self._zeros = np.zeros(n_rows, np.int64)
        return self._zeros[:n_rows]

    def _push(self) -> None:
        if not self._filled:
            return
        # without row blocks, the only cell of a group has all its rows
        first, *others = (cells.unload(self._n_groups, self._blocks, self._n_once) for cells in self._cells)
        self._tree.push_leaf(first.stacked(*others))
        self._filled = False

    def end_file(self) -> None:  # noqa: D102
        self._push()
        self._tree.end_file(self._number, self._key)

    def _n_rows(self, moments: BlockState) -> Ints:
        """Rows that entered the first column, or are missing there."""
        used = moments.count[0, :, : self._n_once] if self._n_once else moments.count[0]
        missing = [NULLS] if self._spec.nan == "keep" else [NULLS, NANS]
        counts = self._group_counts.counts
        weightless = counts[-1].sum(axis=-1) if self._spec.weights is not None else 0
        return np.asarray(used.sum(axis=-1) + counts[0][:, missing].sum(axis=-1) + weightless)
