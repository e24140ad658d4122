"""What a second pass is asked: samples whose rows were counted, and what is to be made of their blocks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np

from distmom.cluster import Executor, Unit
from distmom.cluster.work import SkippedFile
from distmom.lake import BatchReader, FileRef, Source
from distmom.passes.cell_map import CellMap
from distmom.passes.regrouping import Piece
from distmom.passes.tile_runs import cuts_blocks
from distmom.reductions.block_means import BlockMeans
from distmom.reductions.losses.pair_losses import PairLosses
from distmom.reductions.rows.block_kernel import BlockKernel
from distmom.reductions.rows.disjoint_kernel import DisjointKernel
from distmom.reductions.state import MeanState

BlockWork = BlockKernel | DisjointKernel | PairLosses


class FirstPass(Protocol):
    """What was read by a pass that counted the rows of fine blocks, and how; a plan of the mean is one."""

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
    """One sample after its first pass, as one kernel sees it.

    Attributes
    ----------
    plan, state, skipped
        The first pass, what it found, and the files that it left out.
    """

    source: Source
    plan: FirstPass
    state: MeanState
    skipped: Sequence[SkippedFile]
    cells: CellMap  # which fine blocks make the blocks
    names: tuple[str, ...]  # the values that are kept of a row, among those that the plan's reader reads


class BlockQuestion(NamedTuple):
    """What is to be made of the blocks of one or several samples."""

    samples: tuple[Counted, ...]  # with equally many blocks, which are paired by their numbers
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


def kept_names(plan: FirstPass) -> tuple[str, ...]:
    """The values that are kept of a row: those of its columns, and its weight."""
    weights = plan.reduction.weights
    return plan.reduction.columns if weights is None else (*plan.reduction.columns, weights)
