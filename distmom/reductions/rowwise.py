"""Accumulating row by row into (group, block) cells."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from distmom.numerics.cells import add_cells
from distmom.numerics.group_sample import GroupSampler
from distmom.numerics.labels import file_key
from distmom.numerics.leaf import LEAF_ROWS
from distmom.numerics.moments import Moments, total
from distmom.reductions.files import Census, FileTree
from distmom.reductions.layouts import Place
from distmom.reductions.leaves import Rows
from distmom.reductions.state import Key, MeanState, in_key_order

if TYPE_CHECKING:
    from distmom.reductions.block_means import BlockMeans

LEAVES_TOGETHER = 8
"""With many groups the merge of two leaves costs as much as their rows: so eight leaves make one here."""


class RowwiseMeans:
    """The `Accumulator` for grouped rows.

    Running moments do not depend on how rows come in batches, so nothing is buffered; every eight leaves (of
    the file, so at the same rows whatever the unit) the cells are handed to the tree and start anew.
    """

    def __init__(self, spec: BlockMeans, n_files: int, window: Any) -> None:
        self._spec = spec
        self._window = window
        self._blocks = max(spec.layout.n_blocks, 1)  # without row blocks, one cell for each group
        self._tree = FileTree(spec, n_files)
        self._census = Census(spec)
        self._samplers = [GroupSampler(spec.sample_size, compiled=spec.compiled) for _ in spec.columns]
        self._cells = [Moments.empty(0) for _ in spec.columns]
        self._number, self._path, self._key = 0, "", np.uint64(0)
        self._filled = False
        self._n_groups = 0

    def start_file(self, number: int, path: str) -> None:  # noqa: D102
        self._number, self._path, self._key = number, path, file_key(self._spec.seed, path)

    def add(self, rows: Rows, n_groups: int) -> None:  # noqa: D102
        self._n_groups = n_groups
        start = 0
        while start < rows.n_rows:
            stretch = LEAF_ROWS * LEAVES_TOGETHER
            stop = min(rows.n_rows, start + stretch - (rows.first_row + start) % stretch)
            self._take(rows.part(start, stop))
            start = stop
            if (rows.first_row + stop) % stretch == 0:
                self._push()

    def _take(self, rows: Rows) -> None:
        spec, codes = self._spec, rows.codes
        assert codes is not None
        place = Place(self._key, rows.first_row, self._number)
        cells = codes
        if spec.layout.n_blocks:
            cells = codes * self._blocks + spec.layout.row_blocks(rows.n_rows, place, self._window)
        for c, found in enumerate(self._census.scan(rows, self._n_groups, place, self._path)):
            self._room(c)
            x = rows.values[c]
            add_cells(x, found.gone, cells, self._cells[c], compiled=spec.compiled)
            if spec.sample_size:
                self._samplers[c].offer(self._key, rows.first_row, codes, x, found.gone, self._n_groups)
        self._filled = True

    def _room(self, c: int) -> None:
        """Make room for the groups met so far, doubling so that growth stays linear."""
        cells = self._cells[c]
        need = self._n_groups * self._blocks
        if cells.count.size < need:
            more = max(need, 2 * cells.count.size) - cells.count.size
            self._cells[c] = cells.each(lambda a: np.pad(a, (0, more)))

    def _push(self) -> None:
        if not self._filled:
            return
        shape = (len(self._cells), self._n_groups, self._blocks)
        size = self._n_groups * self._blocks
        arrays = zip(*(cells.at(slice(size)) for cells in self._cells), strict=True)
        blocks = Moments(*(np.stack(columns).reshape(shape) for columns in arrays))
        whole = total(blocks, compiled=self._spec.compiled)
        if self._spec.layout.n_blocks == 0:
            blocks = Moments.empty(*shape[:2], 0)
        self._tree.push_leaf(blocks, whole)
        for cells in self._cells:
            for array in cells:
                array[:] = 0
        self._filled = False

    def end_file(self) -> None:  # noqa: D102
        self._push()
        self._tree.end_file(self._number, self._key)

    def result(self, keys: list[Key]) -> MeanState | None:  # noqa: D102
        moments = self._tree.result(len(keys))
        if moments is None:
            return None
        wanted = self._samplers if self._spec.sample_size else []
        samples = tuple(sampler.result(len(keys)) for sampler in wanted)
        state = MeanState(tuple(keys), self._census.n_rows, self._census.counts, moments, samples)
        return in_key_order(state)
