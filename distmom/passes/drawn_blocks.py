"""Blocks whose rows have been drawn and gathered, evaluated a few at a time on the executor."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from distmom.cluster import Executor, Progress, Unit, UnitMerger, UnitOutcome, run_units
from distmom.numerics.arrays import Floats, Ints
from distmom.passes.draws import Drawn, DrawPlan
from distmom.passes.gather import RowSource
from distmom.passes.tile_runs import by_tiles, cuts_blocks
from distmom.reductions.rows.block_kernel import BlockKernel

CHUNKS_PER_THREAD = 4
CHUNK_BYTES = 4_000_000
"""Rows that go to a worker together, unless a single block has more."""

Finish = Callable[..., Any]
Merge = Callable[[Any, Any], Any]


@dataclass(frozen=True, slots=True, eq=False)
class BlockRows:
    """The rows of some blocks."""

    values: Floats  # (rows, columns): block after block, each in the order of row numbers
    edges: Ints  # (n_cells + 1,): where each block begins and ends
    first_cell: int = 0  # number of the first block among all

    @classmethod
    def of(cls, drawn: Drawn, degree: int = 1) -> BlockRows:
        """The rows that count of blocks of equal size; of drawn tuples with all rows of these, or none."""
        places, used = np.stack(drawn.places()), drawn.rows.used
        keep = used[places]
        if degree > 1:
            whole = keep.reshape(len(keep), degree, -1).all(axis=1)
            keep = np.tile(whole, degree)
        return cls(drawn.rows.values[places[keep]], np.concatenate([[0], np.cumsum(keep.sum(axis=1))]))

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

    finish: Finish

    def __call__(self, unit: Unit) -> UnitOutcome:
        """The state of the unit's blocks."""
        return UnitOutcome(self.finish(*unit.window))


def evaluate_draws(
    finish: Finish,
    merge: Merge,
    plan: DrawPlan,
    sources: Sequence[RowSource],
    progress: Progress | None = None,
    *,
    degree: int = 1,
) -> Any:
    """What is made of all blocks of a plan, in their order.

    ``finish(*block_rows) -> state`` gets consecutive blocks, of any number, of each lake; ``merge(left,
    right)`` joins states of consecutive blocks, and is associative up to the last bit; both are picklable.
    Drawn tuples of a `degree` count with all their rows or not at all.
    """
    state: Any = None
    for drawn in plan.gathered(sources, progress):
        blocks = [BlockRows.of(one, degree) for one in drawn]
        found = _evaluated(finish, merge, blocks, sources[0].executor)
        state = found if state is None else merge(state, found)
    return state


def _evaluated(finish: Finish, merge: Merge, samples: Sequence[BlockRows], executor: Executor) -> Any:
    """What is made of blocks, a few at a time on the executor, or tile by tile where they are large.

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
