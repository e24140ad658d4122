"""Blocks that are samples of the rows of a lake: their rows are gathered, then each block is evaluated."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from distmom.cluster import Unit, UnitMerger, UnitOutcome, run_units
from distmom.cluster.work import SkippedFile
from distmom.errors import ConfigError, NoAnswerError
from distmom.estimators.options import check_count
from distmom.estimators.ustat.sampled_tuples import MOST_ROWS, places_of
from distmom.estimators.ustat.tuple_samples import Gathered
from distmom.numerics.arrays import Bools, Floats, Ints
from distmom.numerics.samples.row_samples import RowSamples
from distmom.numerics.samples.wanted_rows import distinct
from distmom.passes.gather import RowSource, gather_rows
from distmom.passes.tile_runs import by_tiles, cuts_blocks
from distmom.reductions.rows.block_kernel import BlockKernel

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
    edges: Ints
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


Finish = Callable[..., Any]
Merge = Callable[[Any, Any], Any]


@dataclass(frozen=True)
class FinishBlocks:
    """Work of one unit whose window holds the rows of blocks, of each lake: what is made of them."""

    finish: Finish

    def __call__(self, unit: Unit) -> UnitOutcome:
        """The state of the unit's blocks."""
        return UnitOutcome(self.finish(*unit.window))


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
    draw = Draw(source, seed, block_size)
    return blocks_of_draws(
        finish, merge, (draw,), n_blocks, replace=replace, compiled=compiled, progress=progress
    )


class Draw(NamedTuple):
    """What is drawn from one lake for each block.

    Attributes
    ----------
    source : RowSource
    seed : int
        128 bits.
    block_size : int
    """

    source: RowSource
    seed: int
    block_size: int


def blocks_of_draws(
    finish: Finish,
    merge: Merge,
    draws: Sequence[Draw],
    n_blocks: int,
    *,
    replace: bool = False,
    compiled: bool = True,
    progress: Progress | None = None,
) -> SampledBlockStates:
    """As `sampled_blocks`; a block has rows of several lakes, drawn independently: `finish` gets all."""
    check_count("n_blocks", n_blocks)
    for draw in draws:
        _check_draw(draw, replace=replace)
    samples = [RowSamples(d.seed, d.source.rows, d.block_size, replace, compiled) for d in draws]
    gathered, skipped = Gathered(), dict[SkippedFile, None]()
    state: Any = None
    step = max(1, MOST_ROWS // sum(draw.block_size for draw in draws))
    for first in range(0, n_blocks, step):
        blocks = []
        for draw, sample in zip(draws, samples, strict=True):
            numbers = sample.numbers(first, min(step, n_blocks - first))
            wanted = distinct(numbers)
            rows, bad = gather_rows(draw.source, wanted, progress)
            skipped |= dict.fromkeys(bad)
            gathered = gathered.plus(rows)
            blocks.append(block_rows(rows.values, rows.used, wanted, numbers))
        found = evaluated(finish, merge, blocks, draws[0].source.executor)
        state = found if state is None else merge(state, found)
    return SampledBlockStates(state, gathered, tuple(skipped))


def _check_draw(draw: Draw, *, replace: bool) -> None:
    check_count("block_size", draw.block_size)
    n_rows = draw.source.n_rows
    if n_rows == 0:
        raise NoAnswerError("the data has no rows; give data with rows")
    if not replace and draw.block_size > n_rows:
        raise ConfigError(
            f"block_size: {draw.block_size:,} rows without replacement from {n_rows:,} cannot be drawn; "
            f"use at most {n_rows:,}"
        )


def block_rows(values: Floats, used: Bools, wanted: Any, numbers: Any) -> BlockRows:
    """The rows that count of each block."""
    places = np.stack([places_of(block, wanted) for block in numbers])
    keep = used[places]
    edges = np.concatenate([[0], np.cumsum(keep.sum(axis=1))])
    return BlockRows(values[places[keep]], edges)


def evaluated(finish: Finish, merge: Merge, samples: Sequence[BlockRows], executor: Executor) -> Any:
    """What is made of all blocks, a few at a time on the executor, or tile by tile where they are large.

    `samples` are the rows that a block has of each lake.
    """
    first = samples[0]
    largest = max(int(np.diff(one.edges).max(initial=0)) for one in samples)
    if cuts_blocks(finish, first.values.shape[1], largest, first.n_cells, executor):
        assert isinstance(finish, BlockKernel)
        return by_tiles(finish, executor)(*samples)
    units = []
    for number, cut in enumerate(_chunks(samples, executor.threads)):
        parts = tuple(one.part(*cut) for one in samples)
        n_bytes = sum(part.values.nbytes for part in parts)
        units.append(Unit(number, 0, number, (), n_bytes=n_bytes, window=parts))
    merger: UnitMerger[Any] = UnitMerger(len(units), merge)
    return run_units(FinishBlocks(finish), units, merge, executor, merger=merger).state


def _chunks(samples: Sequence[BlockRows], threads: int) -> Iterator[tuple[int, int]]:
    """Ranges of consecutive blocks that go together."""
    total = max(1, sum(one.values.nbytes for one in samples))
    share = max(1, min(CHUNK_BYTES, total // (CHUNKS_PER_THREAD * threads)))
    row_bytes, edges = 8 * samples[0].values.shape[1], np.sum([one.edges for one in samples], axis=0)
    start, n_cells = 0, samples[0].n_cells
    for stop in range(1, n_cells + 1):
        held = int(edges[stop] - edges[start]) * row_bytes
        if held >= share or stop == n_cells:
            yield start, stop
            start = stop
