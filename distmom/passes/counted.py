"""Questions for a second pass: samples whose rows were counted, their blocks, and what to compute."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, Protocol

import numpy as np

from distmom.cluster import Executor, Unit
from distmom.cluster.work import SkippedFile
from distmom.inference.ladder import Merger
from distmom.lake import BatchReader, FileRef, Source
from distmom.numerics.arrays import Bools, Ints
from distmom.numerics.blocks.moments import Moments
from distmom.passes.regrouping import Piece
from distmom.passes.tile_runs import cuts_blocks
from distmom.reductions.block_means import BlockMeans
from distmom.reductions.losses.pair_losses import PairLosses
from distmom.reductions.rows.block_kernel import BlockKernel
from distmom.reductions.rows.keep_rows import BlockRange
from distmom.reductions.rows.tuple_kernel import TupleKernel
from distmom.reductions.state import MeanState

BlockWork = BlockKernel | TupleKernel | PairLosses


@dataclass(frozen=True)
class CellMap:
    """Blocks of all groups, numbered one group after the other."""

    n_blocks: Ints  # (n_groups,): blocks of each group, empty ones included
    cells: Ints  # (n_groups, n_fine): number of the block that each fine block goes to
    sizes: Ints  # rows of each block
    lowered: Bools  # (n_groups,): the given number exceeds what the rows of the group can fill

    @cached_property
    def starts(self) -> Ints:
        """Number of the first block of each group, followed by the number of blocks."""
        return np.concatenate([[0], np.cumsum(self.n_blocks)])

    def kept(self, first: int = 0, stop: int | None = None) -> BlockRange:
        """What a unit of work needs to know to keep blocks first … stop - 1, or all blocks."""
        stop = self.sizes.size if stop is None else stop
        low = int(np.searchsorted(self.starts, first, side="right")) - 1
        high = int(np.searchsorted(self.starts, stop, side="left"))
        mine = self.cells[low:high] - first
        inside = (mine >= 0) & (mine < stop - first)
        return BlockRange(
            low, np.where(inside, mine, -1).astype(np.int32), self.sizes[first:stop], first_cell=first
        )


def map_blocks(count: Ints, n_blocks: Ints, lowered: Bools) -> CellMap:
    """Merge fine blocks by their used rows, shape (n_groups, n_fine), like the levels of the ladder."""
    nothing = np.zeros(count.shape)
    inside = Merger(Moments(count, nothing, nothing)).index(n_blocks)
    starts = np.cumsum(n_blocks) - n_blocks
    cells = inside + starts[:, None]
    sizes = np.bincount(cells.ravel(), count.ravel(), minlength=int(n_blocks.sum()))
    return CellMap(n_blocks, cells, sizes.astype(np.int64), lowered)


def given_numbers(n: Ints, wanted: int, least: int) -> tuple[Ints, Bools]:
    """Blocks of each group for a given number: that number, or fewer so that each block has `least` rows."""
    most = np.maximum(n // least, 1)
    return np.minimum(wanted, most), (most < wanted) & (n > 0)


class FirstPass(Protocol):
    """A pass that counted the rows of fine blocks: what it read, and how; a plan of the mean is one."""

    @property
    def files(self) -> tuple[FileRef, ...]: ...  # noqa: D102
    @property
    def reader(self) -> BatchReader: ...  # noqa: D102
    @property
    def reduction(self) -> BlockMeans: ...  # noqa: D102
    @property
    def units(self) -> tuple[Unit, ...]: ...  # noqa: D102
    @property
    def n_bytes(self) -> int: ...  # noqa: D102


class Counted(NamedTuple):
    """One sample after its first pass, as seen by one kernel."""

    source: Source
    plan: FirstPass
    state: MeanState  # what the pass found
    skipped: Sequence[SkippedFile]  # files that it skipped
    cells: CellMap  # which fine blocks make the blocks
    names: tuple[str, ...]  # the values kept of a row, among those that the plan's reader reads


class BlockQuestion(NamedTuple):
    """What to compute from the blocks of one or several samples."""

    samples: tuple[Counted, ...]  # all with the same number of blocks, which are paired by number
    kernel: BlockWork

    @property
    def piece(self) -> Piece:
        """The size of its blocks."""
        sizes = np.sum([sample.cells.sizes for sample in self.samples], axis=0)
        return Piece(sizes, self.samples[0].names, self.samples[0].plan.reader.options.batch_rows)

    def is_cut(self, executor: Executor) -> bool:
        """Whether its blocks are evaluated tile by tile."""
        largest = max(int(sample.cells.sizes.max()) for sample in self.samples)
        n_blocks = self.samples[0].cells.sizes.size
        return cuts_blocks(self.kernel, len(self.samples[0].names), largest, n_blocks, executor)


def good_files(plan: FirstPass, skipped: Sequence[SkippedFile]) -> tuple[FileRef, ...]:
    """The files of a first pass, except those it skipped."""
    bad = {record.file for record in skipped}
    return tuple(file for file in plan.files if file.path not in bad)


def kept_names(plan: FirstPass) -> tuple[str, ...]:
    """The values kept of a row: those of its columns, and its weight."""
    weights = plan.reduction.weights
    return plan.reduction.columns if weights is None else (*plan.reduction.columns, weights)
