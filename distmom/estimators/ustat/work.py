"""The second pass: rows of whole blocks regrouped by reading the lake again, range after range of blocks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from distmom.cluster import Unit, UnitMerger, check_memory, run_units
from distmom.cluster.memory import PROCESS_BYTES
from distmom.cluster.samples import ReadSamples, sample_unit
from distmom.cluster.work import ReadAndReduce, SkippedFile
from distmom.errors import ConfigError
from distmom.estimators.mean.plan import MeanPlan
from distmom.estimators.rows import count_rows
from distmom.estimators.rule.ladder import Counts
from distmom.estimators.ustat.blocks import CellMap
from distmom.reductions.block_kernel import BlockKernel
from distmom.reductions.disjoint_kernel import DisjointKernel
from distmom.reductions.keep_rows import BlockRange, KeepRows
from distmom.reductions.layouts import StoredBlocks
from distmom.reductions.pair_losses import PairLosses
from distmom.reductions.state import MeanState

if TYPE_CHECKING:
    from distmom.cluster import Executor, Progress
    from distmom.lake import FileRef, Source

RANGE_BYTES = 512_000_000
"""Rows that a unit of work keeps, unless one block alone has more: keeping more spares passes."""

WORDS = 14
"""Words of memory for each row of the block that is being evaluated: sorted copies, ranks, means at rows."""


class Counted(NamedTuple):
    """One sample after its first pass.

    Attributes
    ----------
    source : Source
    plan, state, skipped
        The first pass, what it found, and the files that it left out.
    cells : CellMap
        Which fine blocks make the blocks.
    """

    source: Source
    plan: MeanPlan
    state: MeanState
    skipped: Sequence[SkippedFile]
    cells: CellMap


def run_blocks(
    samples: Sequence[Counted],
    kernel: BlockKernel | DisjointKernel | PairLosses,
    executor: Executor,
    progress: Progress | None,
) -> Any:
    """The statistic of every block: what the kernel makes of their rows.

    Parameters
    ----------
    samples : sequence of Counted
        With equally many blocks, which are paired by their numbers.
    kernel : BlockKernel, DisjointKernel or PairLosses
    executor, progress

    Raises
    ------
    ConfigError
        If the data can be read only once.
    ResourceError
        If the rows of one block do not fit into a process.
    """
    if any(sample.source.one_pass for sample in samples):
        raise ConfigError(
            f"kernel {kernel.kernel.name!r} reads its rows several times, and a stream can be read only "
            "once; give a table, or write the stream to Parquet files"
        )
    edges, needed = planned_ranges([(s.plan, s.cells) for s in samples], executor)
    check_memory(needed, executor.threads_per_process, executor.memory, "the largest range of blocks")
    files = [_files(sample, executor) for sample in samples]

    def window(sample: Counted, rows: NDArray[np.int64] | None, first: int, stop: int) -> BlockRange:
        return replace(_range(sample.cells, first, stop), first_rows=rows)

    units = [
        sample_unit(
            i,
            tuple(
                Unit(0, 0, 0, refs, n_bytes=sample.plan.n_bytes, window=window(sample, rows, first, stop))
                for sample, (refs, rows) in zip(samples, files, strict=True)
            ),
        )
        for i, (first, stop) in enumerate(pairwise(edges))
    ]
    whole = ReadSamples(tuple(_read(sample) for sample in samples), kernel)
    merge: Callable[[Any, Any], Any] = kernel.merge
    merger = UnitMerger(len(units), merge)
    return run_units(whole, units, merge, executor, progress=progress, merger=merger).state


def _read(sample: Counted) -> ReadAndReduce:
    """The work that keeps rows of a sample."""
    reduction, read = sample.plan.reduction, sample.plan.reader.options
    keep = KeepRows(
        reduction.columns,
        reduction.layout,
        reduction.n_cells,
        reduction.seed,
        reduction.nan,
        reduction.compiled,
    )
    return ReadAndReduce(
        sample.plan.reader,
        keep,
        len(read.by),
        unit_seed=reduction.seed if read.units else None,
        compiled=reduction.compiled,
        known=sample.state.keys if read.by else (),
    )


def _files(sample: Counted, executor: Executor) -> tuple[tuple[FileRef, ...], NDArray[np.int64] | None]:
    """The files whose rows were counted, and for stored blocks the number of the first row of each."""
    plan = sample.plan
    bad = {record.file for record in sample.skipped}
    good = np.array([file.path not in bad for file in plan.files], np.bool_)
    files = tuple(file for file in plan.files if file.path not in bad)
    if not isinstance(plan.reduction.layout, StoredBlocks):
        return files, None
    source: Any = replace(sample.source, files=plan.files)  # type: ignore[type-var]
    rows = count_rows(source, executor, "error").rows
    return files, (np.cumsum(rows) - rows)[good]


def planned_ranges(samples: Sequence[tuple[MeanPlan, CellMap]], executor: Executor) -> tuple[list[int], int]:
    """Edges of the ranges of blocks, and the bytes that the largest of them needs."""
    plan = samples[0][0]
    n_columns = len(plan.reduction.columns)
    batch_bytes = 64 * plan.reader.options.batch_rows * (n_columns + 4)
    sizes = np.sum([cells.sizes for _, cells in samples], axis=0)
    evaluation = 8 * (WORDS + 2 * n_columns) * int(sizes.max())
    each = (executor.memory - PROCESS_BYTES) // executor.threads_per_process
    room = max(1, min(each - batch_bytes - evaluation, RANGE_BYTES))
    edges = range_edges(sizes * (8 * n_columns), room, executor.threads)
    worst = max(int(sizes[first:stop].sum()) for first, stop in pairwise(edges))
    return edges, 8 * n_columns * worst + evaluation + batch_bytes


def range_edges(n_bytes: Counts, room: int, threads: int) -> list[int]:
    """Cut blocks of so many bytes into ranges of at most `room` bytes (or one block), for every thread one.

    Where the cuts fall changes no result: a block is in one range, and its rows have one order.
    """
    total = int(n_bytes.sum())
    wanted = max(1, threads, -(-total // room))
    share = max(1, min(room, -(-total // wanted)))
    edges, held = [0], 0
    for number, size in enumerate(n_bytes.tolist()):
        if (held and held + size > room) or held >= share:
            edges.append(number)
            held = 0
        held += size
    return [*edges, n_bytes.size]


def _range(cells: CellMap, first: int, stop: int) -> BlockRange:
    """The blocks first … stop - 1."""
    starts: Counts = cells.starts
    low = int(np.searchsorted(starts, first, side="right")) - 1
    high = int(np.searchsorted(starts, stop, side="left"))
    mine = cells.cells[low:high] - first
    inside = (mine >= 0) & (mine < stop - first)
    return BlockRange(
        low, np.where(inside, mine, -1).astype(np.int32), cells.sizes[first:stop], first_cell=first
    )
