"""The state of a pass over the rows of large samples alone, or of parts of them as groups."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from distmom.numerics.arrays import Ints, Words
from distmom.numerics.blocks.block_state import BlockState
from distmom.numerics.blocks.labels import file_cells
from distmom.numerics.blocks.small_files import file_moments
from distmom.numerics.samples.distinct import UnitSketch
from distmom.numerics.samples.pool import RowPool
from distmom.numerics.samples.sample import RowSample
from distmom.numerics.samples.stretches import of_pool
from distmom.reductions.state import MeanState


def state_of_pools(
    pools: Sequence[RowPool], n_fine: int, n_cells: int, sample_size: int, units: UnitSketch | None
) -> MeanState:
    """The state of a pass over these rows, with random fine blocks and the cells of their files.

    Parameters
    ----------
    pools : sequence of RowPool
        The pool of each column, in the order of the keys, which is random.
    n_fine, n_cells : int
        Blocks of rows, and cells of whole files; either may be 0.
    sample_size : int
        Rows of the samples that show how often values repeat.
    units : UnitSketch, optional
    """
    moments, samples = [], []
    for pool in pools:
        moments.append(_moments(pool, n_fine, n_cells))
        sample = RowSample.empty(1, sample_size)
        few = pool.values[:sample_size]
        sample.keys[0, : few.size], sample.values[0, : few.size] = pool.keys[:sample_size], few
        samples.append(sample)
    return MeanState(
        ((),),
        np.array([pools[0].values.size]),
        np.zeros((1 + (pools[0].weights is not None), 1, 3), np.int64),
        moments[0].stacked(*moments[1:]),
        tuple(samples),
        units,
        stretches=tuple(map(of_pool, pools)) if n_fine else (),
    )


def state_of_parts(
    pools: Sequence[RowPool], sizes: Ints, n_fine: int, n_cells: int, sample_size: int
) -> MeanState:
    """The same for consecutive parts of these sizes, each of which is a group; without stretches and units.

    Each group has the numbers that `state_of_pools` gives for its rows.
    """
    starts = np.cumsum(sizes) - sizes
    moments, samples = [], []
    cells = _FileCells(sizes, n_cells)
    for pool in pools:
        moments.append(_moments_of_parts(pool, sizes, n_fine, cells))
        sample = RowSample.empty(sizes.size, sample_size)
        for part, (start, size) in enumerate(zip(starts.tolist(), sizes.tolist(), strict=True)):
            few, some = min(size, sample_size), slice(start, start + min(size, sample_size))
            sample.keys[part, :few], sample.values[part, :few] = pool.keys[some], pool.values[some]
        samples.append(sample)
    return MeanState(
        ((),) * sizes.size,
        sizes,
        np.zeros((1 + (pools[0].weights is not None), sizes.size, 3), np.int64),
        moments[0].stacked(*moments[1:]),
        tuple(samples),
    )


def _moments(pool: RowPool, n_fine: int, n_cells: int) -> BlockState:
    """Blocks of consecutive rows, then the cells of files."""
    sizes = np.array([pool.values.size])
    return _moments_of_parts(pool, sizes, n_fine, _FileCells(sizes, n_cells))


class _FileCells:
    """The cells of the files of consecutive parts, separate for each part: sorted once for all columns.

    Columns of the same rows share one array of files.
    """

    def __init__(self, sizes: Ints, n_cells: int) -> None:
        self.n_cells = n_cells
        self._part = np.repeat(np.arange(sizes.size), sizes)
        self._files: Words | None = None
        self._found = (np.empty(0, np.int64),) * 2

    def of(self, files: Words) -> tuple[Ints, Ints]:
        """Cells of the rows, ascending, and the rows in that order."""
        if files is not self._files:
            cells = self._part * self.n_cells + file_cells(files, self.n_cells)
            order = np.argsort(cells, kind="stable")
            self._files, self._found = files, (cells[order], order)
        return self._found


def _moments_of_parts(pool: RowPool, sizes: Ints, n_fine: int, cells: _FileCells) -> BlockState:
    """The same for each part, with its own blocks and cells."""
    n_parts, every, n_cells = sizes.size, [], cells.n_cells
    if n_fine:
        part = np.repeat(np.arange(n_parts), sizes)
        within = np.arange(part.size) - (np.cumsum(sizes) - sizes)[part]
        labels = part * n_fine + within * n_fine // np.maximum(sizes, 1)[part]
        found = file_moments(pool.values, labels, n_parts * n_fine, pool.weights)
        every.append(found.each(lambda a: a.reshape(n_parts, n_fine)))
    if n_cells and pool.files is not None:
        mine, order = cells.of(pool.files)
        weights = None if pool.weights is None else pool.weights[order]
        found = file_moments(pool.values[order], mine, n_parts * n_cells, weights)
        every.append(found.each(lambda a: a.reshape(n_parts, n_cells)))
    return every[0] if len(every) == 1 else every[0].joined(every[1])
