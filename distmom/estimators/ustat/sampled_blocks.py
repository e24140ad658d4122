"""Blocks that are samples of the rows of a lake: their rows are gathered, then each block is evaluated."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from distmom.cluster import Unit, UnitMerger, UnitOutcome, run_units
from distmom.cluster.work import SkippedFile
from distmom.errors import ConfigError, NoAnswerError
from distmom.estimators.options import check_count
from distmom.estimators.ustat.gather import RowSource, gather_rows
from distmom.estimators.ustat.sampled_tuples import MOST_ROWS, places_of
from distmom.estimators.ustat.tile_runs import by_tiles, cuts_blocks
from distmom.estimators.ustat.tuple_samples import Gathered
from distmom.numerics.kernels.sums import Floats
from distmom.numerics.row_samples import RowSamples
from distmom.numerics.wanted_rows import distinct
from distmom.reductions.block_kernel import BlockKernel

if TYPE_CHECKING:
    from distmom.cluster import Executor, Progress

CHUNKS_PER_THREAD = 4
CHUNK_BYTES = 4_000_000
"""Rows that go to a worker together, unless a single block has more."""


@dataclass(frozen=True, slots=True, eq=False)
class BlockRows:
    """The rows of some blocks.

    Attributes
    ----------
    values : ndarray of float64, shape (rows, columns)
        Block after block, each in the order of row numbers.
    edges : ndarray of int64, shape (n_cells + 1,)
        Where each block begins and ends.
    first_cell : int
        Number of the first block among all.
    """

    values: Floats
    edges: NDArray[np.int64]
    first_cell: int = 0

    @property
    def n_cells(self) -> int:
        """Number of blocks."""
        return self.edges.size - 1

    def rows(self, block: int) -> Floats:
        """Rows of a block."""
        return self.values[self.edges[block] : self.edges[block + 1]]

    def part(self, start: int, stop: int) -> BlockRows:
        """Blocks start … stop - 1."""
        edges = self.edges[start : stop + 1]
        return BlockRows(self.values[edges[0] : edges[-1]], edges - edges[0], self.first_cell + start)


Finish = Callable[[BlockRows], Any]
Merge = Callable[[Any, Any], Any]


@dataclass(frozen=True)
class FinishBlocks:
    """Work of one unit whose window holds the rows of blocks: what is made of them."""

    finish: Finish

    def __call__(self, unit: Unit) -> UnitOutcome:
        """The state of the unit's blocks."""
        return UnitOutcome(self.finish(unit.window))


@dataclass(frozen=True, slots=True)
class SampledBlockStates:
    """What was made of all blocks, and what became of the rows drawn.

    Attributes
    ----------
    state : object
        Of all blocks, in order.
    gathered : Gathered
        Of the distinct rows.
    skipped : tuple of SkippedFile
    """

    state: Any
    gathered: Gathered
    skipped: tuple[SkippedFile, ...]


def sampled_blocks(
    finish: Finish,
    merge: Merge,
    source: RowSource,
    seed: int,
    n_blocks: int,
    block_size: int,
    *,
    replace: bool = False,
    compiled: bool = True,
    progress: Progress | None = None,
) -> SampledBlockStates:
    """Draw K samples of B rows as for the mean, gather their rows, and have each block evaluated.

    Parameters
    ----------
    finish : callable
        ``finish(block_rows) -> state``; picklable. It gets consecutive blocks, of any number.
    merge : callable
        ``merge(left, right) -> state`` of consecutive blocks; picklable, associative up to the last bit.
    source : RowSource
    seed : int
        128 bits.
    n_blocks, block_size : int
        K and B, as drawn: rows that do not count are left out afterwards, so blocks may be smaller.
    replace : bool
        Samples with replacement; a row drawn twice stands in the block twice.
    compiled : bool
        Draw with Numba (the same rows).
    progress : Progress, optional

    Returns
    -------
    SampledBlockStates

    Raises
    ------
    ConfigError
        If a block has more rows than the lake, without replacement.
    NoAnswerError
        If the lake has no rows.

    Notes
    -----
    The rows of several blocks, up to ten million, are gathered in one pass over the files that hold them; K B
    larger than that takes further passes. Blocks are evaluated on the executor.
    """
    check_count("n_blocks", n_blocks)
    check_count("block_size", block_size)
    if source.n_rows == 0:
        raise NoAnswerError("the data has no rows; give data with rows")
    if not replace and block_size > source.n_rows:
        raise ConfigError(
            f"block_size: {block_size:,} rows without replacement from {source.n_rows:,} cannot be drawn; "
            f"use at most {source.n_rows:,}"
        )
    samples = RowSamples(seed, source.rows, block_size, replace, compiled)
    gathered, skipped = Gathered(), dict[SkippedFile, None]()
    state: Any = None
    step = max(1, MOST_ROWS // block_size)
    for first in range(0, n_blocks, step):
        numbers = samples.numbers(first, min(step, n_blocks - first))
        wanted = distinct(numbers)
        rows, bad = gather_rows(source, wanted, progress)
        skipped |= dict.fromkeys(bad)
        gathered = gathered.plus(rows)
        blocks = block_rows(rows.values, rows.used, wanted, numbers)
        found = evaluated(finish, merge, blocks, source.executor)
        state = found if state is None else merge(state, found)
    return SampledBlockStates(state, gathered, tuple(skipped))


def block_rows(values: Floats, used: NDArray[np.bool_], wanted: Any, numbers: Any) -> BlockRows:
    """The rows that count of each block."""
    places = np.stack([places_of(block, wanted) for block in numbers])
    keep = used[places]
    edges = np.concatenate([[0], np.cumsum(keep.sum(axis=1))])
    return BlockRows(values[places[keep]], edges)


def evaluated(finish: Finish, merge: Merge, blocks: BlockRows, executor: Executor) -> Any:
    """What is made of all blocks, a few at a time on the executor, or tile by tile where they are large."""
    largest = int(np.diff(blocks.edges).max(initial=0))
    if cuts_blocks(finish, blocks.values.shape[1], largest, blocks.n_cells, executor):
        assert isinstance(finish, BlockKernel)
        return by_tiles(finish, executor)(blocks)
    units = []
    for number, cut in enumerate(_chunks(blocks, executor.threads)):
        part = blocks.part(*cut)
        units.append(Unit(number, 0, number, (), n_bytes=part.values.nbytes, window=part))
    merger: UnitMerger[Any] = UnitMerger(len(units), merge)
    return run_units(FinishBlocks(finish), units, merge, executor, merger=merger).state


def _chunks(blocks: BlockRows, threads: int) -> Iterator[tuple[int, int]]:
    """Ranges of consecutive blocks that go together."""
    total = max(1, blocks.values.nbytes)
    share = max(1, min(CHUNK_BYTES, total // (CHUNKS_PER_THREAD * threads)))
    row_bytes = 8 * blocks.values.shape[1]
    start = 0
    for stop in range(1, blocks.n_cells + 1):
        held = int(blocks.edges[stop] - blocks.edges[start]) * row_bytes
        if held >= share or stop == blocks.n_cells:
            yield start, stop
            start = stop
