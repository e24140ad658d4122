"""Rows drawn by blocks: which rows, in which passes they are gathered, how the blocks are evaluated."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from distmom.cluster import Executor, Progress, Unit, UnitMerger, UnitOutcome, run_units
from distmom.errors import ConfigError, NoAnswerError
from distmom.numerics.arrays import Floats, Ints
from distmom.numerics.random.philox import Key
from distmom.numerics.random.tuple_draws import sample_tuples
from distmom.numerics.samples.row_samples import RowSamples
from distmom.numerics.samples.wanted_rows import distinct
from distmom.passes.gather import COPIES, ROW_BYTES, RowSource, gather_rows
from distmom.passes.tile_runs import by_tiles, cuts_blocks
from distmom.reductions.rows.block_kernel import BlockKernel
from distmom.reductions.rows.gather import GatheredRows

Numbers: TypeAlias = "Sequence[Ints] | Ints"
"""Numbers of the rows of some blocks, block after block."""

MOST_ROWS = 10_000_000
"""Drawn rows gathered together; more rows take another pass over the files that contain them."""

DRAWN_BYTES = 50
"""Bytes per drawn row: its number, the sorted distinct number, and its place among the gathered rows."""

CHUNKS_PER_THREAD = 4

CHUNK_BYTES = 4_000_000
"""Bytes of rows sent to a worker together, unless a single block has more."""


class Drawn(NamedTuple):
    """The rows of one lake drawn by some blocks."""

    numbers: Numbers  # of the rows of each block
    wanted: Ints  # the distinct ones, ascending
    rows: GatheredRows  # in their order

    def places(self) -> list[NDArray[np.intp]]:
        """Position of the rows of each block among the gathered rows."""
        return [places_of(block, self.wanted) for block in self.numbers]


@dataclass(frozen=True)
class DrawPlan:
    """Blocks whose rows are drawn from one or several lakes; known before any row is read."""

    n_rows: tuple[int, ...]  # of each lake
    n_blocks: int
    sizes: tuple[int, ...]  # rows of each lake that a block takes
    draw: Callable[[int, int], Sequence[Numbers]]  # (first block, number of blocks) -> rows per lake

    @property
    def rows_drawn(self) -> int:
        """Rows of all blocks, counting repeated draws."""
        return self.n_blocks * sum(self.sizes)

    @property
    def blocks_at_once(self) -> int:
        """Blocks whose rows are gathered together."""
        return max(1, MOST_ROWS // sum(self.sizes))

    def columns_at_once(self) -> int:
        """Separate columns that may be gathered together: no more values in total than for one column."""
        held = min(self.n_blocks, self.blocks_at_once) * sum(self.sizes)
        return max(1, MOST_ROWS // max(1, min(sum(self.n_rows), held)))

    @property
    def passes(self) -> int:
        """How often the files that contain the rows are read."""
        return -(-self.n_blocks // self.blocks_at_once)

    def memory(self, n_columns: int) -> int:
        """Bytes needed to gather the rows of a pass."""
        drawn = min(self.rows_drawn, max(MOST_ROWS, sum(self.sizes)))
        held = min(sum(self.n_rows), drawn)
        return COPIES * (8 * n_columns + ROW_BYTES) * held + DRAWN_BYTES * drawn

    def gathered(
        self, sources: Sequence[RowSource], progress: Progress | None = None
    ) -> Iterator[list[Drawn]]:
        """The rows of all blocks, for each lake, in passes over the files that contain them.

        Rows of skipped files are absent.
        """
        for first in range(0, self.n_blocks, self.blocks_at_once):
            found = []
            for source, numbers in zip(
                sources, self.draw(first, min(self.blocks_at_once, self.n_blocks - first)), strict=True
            ):
                whole = numbers if isinstance(numbers, np.ndarray) else np.concatenate(numbers)
                wanted = distinct(whole)
                found.append(Drawn(numbers, wanted, gather_rows(source, wanted, progress)[0]))
            yield found


def draw_rows(
    file_rows: Sequence[Ints],
    seeds: Sequence[int],
    n_blocks: int,
    sizes: Sequence[int],
    *,
    replace: bool = False,
    compiled: bool = True,
) -> DrawPlan:
    """Samples of rows, drawn from each lake independently, like those of the sampled mean.

    Each lake is described by the rows of its files, a seed of 128 bits and the number of rows per sample;
    drawn rows that do not count are dropped afterwards. With replacement a row drawn twice is in the block
    twice. ConfigError if, without replacement, a block has more rows than a lake; NoAnswerError if a lake has
    no rows.
    """
    n_rows = tuple(int(rows.sum()) for rows in file_rows)
    for n, size in zip(n_rows, sizes, strict=True):
        if n == 0:
            raise NoAnswerError("the data has no rows; give data with rows")
        if not replace and size > n:
            raise ConfigError(
                f"blocks: size: {size:,} rows without replacement from {n:,} cannot be drawn; "
                f"use at most {n:,}"
            )
    each = [
        RowSamples(seed, rows, size, replace, compiled)
        for seed, rows, size in zip(seeds, file_rows, sizes, strict=True)
    ]
    return DrawPlan(n_rows, n_blocks, tuple(sizes), lambda *blocks: [one.numbers(*blocks) for one in each])


def draw_tuples(
    key: Key,
    n_rows: tuple[int, ...],
    degrees: tuple[int, ...],
    n_blocks: int,
    n_tuples: int,
    *,
    replace: bool = False,
) -> DrawPlan:
    """Samples of tuples of rows of all lakes; per lake, the first rows of all tuples, then the second ones.

    They come from the random stream of `key`. `degrees` are the rows of each lake in a tuple; with `replace`
    tuples may repeat in a sample.
    """
    starts = np.cumsum((0, *degrees)).tolist()

    def draw(first: int, n: int) -> list[list[Ints]]:
        found: list[list[Ints]] = [[] for _ in degrees]
        for block in range(first, first + n):
            sides = sample_tuples(key, block, n_rows, degrees, n_tuples, replace=replace)
            for of_lake, (low, high) in zip(found, pairwise(starts), strict=True):
                of_lake.append(np.concatenate(sides[low:high]))
        return found

    return DrawPlan(n_rows, n_blocks, tuple(degree * n_tuples for degree in degrees), draw)


def places_of(numbers: Ints, wanted: Ints) -> NDArray[np.intp]:
    """Positions of numbers in an ascending list that contains them all; they are sorted first, for speed."""
    if (numbers[1:] >= numbers[:-1]).all():
        return np.searchsorted(wanted, numbers)
    order = np.argsort(numbers, kind="stable")
    places = np.empty(numbers.size, np.intp)
    places[order] = np.searchsorted(wanted, numbers[order])
    return places


@dataclass(frozen=True, slots=True, eq=False)
class BlockRows:
    """The rows of some blocks."""

    values: Floats  # (rows, columns): block after block, each in the order of row numbers
    edges: Ints  # (n_cells + 1,): where each block begins and ends
    first_cell: int = 0  # number of the first block among all

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


@dataclass(frozen=True)
class FinishBlocks:
    """Work of one unit, whose window contains the rows of blocks for each lake: evaluates the blocks."""

    finish: Callable[..., Any]
    step: ClassVar[str] = "blocks"

    def __call__(self, unit: Unit) -> UnitOutcome:
        """The state of the unit's blocks."""
        return UnitOutcome(self.finish(*unit.window))


def evaluate_draws(
    work: Any,
    plan: DrawPlan,
    sources: Sequence[RowSource],
    progress: Progress | None = None,
    *,
    degrees: Sequence[int] = (),
    look: Callable[[int, list[GatheredRows]], None] | None = None,
) -> list[Any]:
    """Evaluate all blocks of a plan, in order: one state, or one for each separate column.

    ``work(*block_rows) -> state`` gets any number of consecutive blocks of each lake; ``work.merge(left,
    right)`` joins states of consecutive blocks, and is associative bit for bit; `work` is picklable. Drawn
    tuples, with `degrees` rows of each lake, count with all their rows or not at all. `look` is called with
    the number of each column and its gathered rows.
    """
    separate = sources[0].separate
    states: list[Any] = [None] * (sources[0].n_columns if separate else 1)
    for drawn in plan.gathered(sources, progress):
        places = [np.stack(one.places()) for one in drawn]
        for c, state in enumerate(states):
            rows = [one.rows.column(c) if separate else one.rows for one in drawn]
            if look is not None:
                look(c, rows)
            found = _evaluated(work, _rows_of_blocks(places, rows, degrees), sources[0].executor)
            states[c] = found if state is None else work.merge(state, found)
    return states


def _rows_of_blocks(
    places: Sequence[NDArray[np.intp]], rows: Sequence[GatheredRows], degrees: Sequence[int]
) -> list[BlockRows]:
    """The rows that count in blocks of equal size; a drawn tuple counts with all its rows or not at all."""
    if all(one.used.all() for one in rows):
        each = zip(rows, places, strict=True)
        return [BlockRows(r.values[p.ravel()], np.arange(len(p) + 1) * p.shape[1]) for r, p in each]
    keep = [one.used[mine] for mine, one in zip(places, rows, strict=True)]
    if degrees:
        sides = [k.reshape(len(k), degree, -1).all(axis=1) for k, degree in zip(keep, degrees, strict=True)]
        whole = np.logical_and.reduce(sides)
        keep = [np.tile(whole, degree) for degree in degrees]
    return [
        BlockRows(one.values[mine[k]], np.concatenate([[0], np.cumsum(k.sum(axis=1))]))
        for one, mine, k in zip(rows, places, keep, strict=True)
    ]


def _evaluated(work: Any, samples: Sequence[BlockRows], executor: Executor) -> Any:
    """Evaluate blocks, a few at a time on the executor, or tile by tile if they are large.

    `samples` are the rows of the blocks from each lake.
    """
    first = samples[0]
    largest = max(int(np.diff(one.edges).max(initial=0)) for one in samples)
    if cuts_blocks(work, first.values.shape[1], largest, first.n_cells, executor):
        assert isinstance(work, BlockKernel)
        return by_tiles(work, executor)(*samples)
    units = []
    for number, cut in enumerate(_chunks(samples, executor.threads)):
        parts = tuple(one.part(*cut) for one in samples)
        n_bytes = sum(part.values.nbytes for part in parts)
        units.append(Unit(number, 0, number, (), n_bytes=n_bytes, window=parts))
    merger: UnitMerger[Any] = UnitMerger(len(units), work.merge)
    return run_units(FinishBlocks(work), units, work.merge, executor, merger=merger).state


def _chunks(samples: Sequence[BlockRows], threads: int) -> Iterator[tuple[int, int]]:
    """Ranges of consecutive blocks that are evaluated together."""
    total = max(1, sum(one.values.nbytes for one in samples))
    share = max(1, min(CHUNK_BYTES, total // (CHUNKS_PER_THREAD * threads)))
    row_bytes, edges = 8 * samples[0].values.shape[1], np.sum([one.edges for one in samples], axis=0)
    start, n_cells = 0, samples[0].n_cells
    for stop in range(1, n_cells + 1):
        held = int(edges[stop] - edges[start]) * row_bytes
        if held >= share or stop == n_cells:
            yield start, stop
            start = stop
