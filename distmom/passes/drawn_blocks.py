"""Blocks whose rows have been drawn and gathered, evaluated a few at a time on the executor."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from distmom.cluster import Executor, Progress, Unit, UnitMerger, UnitOutcome, run_units
from distmom.numerics.arrays import Floats, Ints
from distmom.passes.draws import DrawPlan
from distmom.passes.gather import RowSource
from distmom.passes.tile_runs import by_tiles, cuts_blocks
from distmom.reductions.rows.block_kernel import BlockKernel
from distmom.reductions.rows.gather import GatheredRows

CHUNKS_PER_THREAD = 4
CHUNK_BYTES = 4_000_000
"""Rows that go to a worker together, unless a single block has more."""


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
    """Work of one unit whose window holds the rows of blocks, of each lake: what is made of them."""

    finish: Callable[..., Any]

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
    """What is made of all blocks of a plan, in their order: one state, or one of each separate column.

    ``work(*block_rows) -> state`` gets consecutive blocks, of any number, of each lake; ``work.merge(left,
    right)`` joins states of consecutive blocks, and is associative up to the last bit; it is picklable.
    Drawn tuples of so many rows of each lake as `degrees` say count with all their rows or not at all. The
    number of a column and the rows that were gathered of it are shown to `look`.
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
    """The rows that count of blocks of equal size; of drawn tuples with all rows of these, or none."""
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
    """What is made of blocks, a few at a time on the executor, or tile by tile where they are large.

    `samples` are the rows that a block has of each lake.
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
