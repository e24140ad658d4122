"""The second pass: rows of whole blocks regrouped by reading the lake again, range after range of blocks."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from distmom.cluster import Unit, UnitMerger, check_memory, run_units
from distmom.cluster.memory import PROCESS_BYTES
from distmom.cluster.samples import ReadSamples, sample_unit
from distmom.cluster.work import ReadAndReduce, SkippedFile
from distmom.errors import ConfigError
from distmom.estimators.ladder import Counts
from distmom.estimators.mean_plan import MeanPlan
from distmom.estimators.rows import count_rows
from distmom.estimators.ustat_blocks import CellMap
from distmom.reductions.block_kernel import BlockKernel, BlockStatistics
from distmom.reductions.keep_rows import BlockRange, KeepRows
from distmom.reductions.layouts import StoredBlocks
from distmom.reductions.state import MeanState

if TYPE_CHECKING:
    from collections.abc import Sequence

    from distmom.cluster import Executor, Progress
    from distmom.lake import FileRef, Source

RANGE_BYTES = 512_000_000
"""Rows that a unit of work keeps, unless one block alone has more: keeping more spares passes."""

WORDS = 14
"""Words of memory for each row of the block that is being evaluated: sorted copies, ranks, means at rows."""


def run_blocks(
    source: Source,
    plan: MeanPlan,
    state: MeanState,
    cells: CellMap,
    kernel: BlockKernel,
    skipped: Sequence[SkippedFile],
    executor: Executor,
    progress: Progress | None,
) -> BlockStatistics:
    """The statistic of every block.

    Parameters
    ----------
    source : Source
    plan, state, skipped
        The first pass, what it found, and the files that it left out.
    cells : CellMap
        Which fine blocks make the blocks.
    kernel : BlockKernel
    executor, progress

    Raises
    ------
    ConfigError
        If the data can be read only once.
    ResourceError
        If the rows of one block do not fit into a process.
    """
    if source.one_pass:
        raise ConfigError(
            f"kernel {kernel.kernel.name!r} reads its rows several times, and a stream can be read only "
            "once; give a table, or write the stream to Parquet files"
        )
    files, first_rows = _files(source, plan, skipped, executor)
    ranges, needed = planned_ranges(plan, cells, executor)
    check_memory(needed, executor.threads_per_process, executor.memory, "the largest range of blocks")
    read, reduction = plan.reader.options, plan.reduction
    keep = KeepRows(
        reduction.columns,
        reduction.layout,
        reduction.n_cells,
        reduction.seed,
        reduction.nan,
        reduction.compiled,
    )
    work = ReadAndReduce(
        plan.reader,
        keep,
        len(read.by),
        unit_seed=reduction.seed if read.units else None,
        compiled=reduction.compiled,
        known=state.keys if read.by else (),
    )
    units = [
        sample_unit(
            i, (Unit(0, 0, 0, files, n_bytes=plan.n_bytes, window=replace(r, first_rows=first_rows)),)
        )
        for i, r in enumerate(ranges)
    ]
    merger = UnitMerger(len(units), kernel.merge)
    whole = ReadSamples((work,), kernel)
    found: BlockStatistics = run_units(
        whole, units, kernel.merge, executor, progress=progress, merger=merger
    ).state
    return found


def _files(
    source: Source, plan: MeanPlan, skipped: Sequence[SkippedFile], executor: Executor
) -> tuple[tuple[FileRef, ...], NDArray[np.int64] | None]:
    """The files whose rows were counted, and for stored blocks the number of the first row of each."""
    bad = {record.file for record in skipped}
    good = np.array([file.path not in bad for file in plan.files], np.bool_)
    files = tuple(file for file in plan.files if file.path not in bad)
    if not isinstance(plan.reduction.layout, StoredBlocks):
        return files, None
    rows = count_rows(replace(source, files=plan.files), executor, "error").rows  # type: ignore[type-var]
    return files, (np.cumsum(rows) - rows)[good]


def planned_ranges(plan: MeanPlan, cells: CellMap, executor: Executor) -> tuple[list[BlockRange], int]:
    """The ranges of blocks, and the bytes that the largest of them needs."""
    n_columns = len(plan.reduction.columns)
    batch_bytes = 64 * plan.reader.options.batch_rows * (n_columns + 4)
    room = _room(executor, cells, n_columns, batch_bytes)
    ranges = block_ranges(cells, n_columns, room, executor.threads)
    worst = max(int(r.sizes.sum()) for r in ranges)
    return ranges, _bytes_of(worst, int(cells.sizes.max()), n_columns) + batch_bytes


def _room(executor: Executor, cells: CellMap, n_columns: int, batch_bytes: int) -> int:
    """Bytes of the rows that one unit may keep."""
    each = (executor.memory - PROCESS_BYTES) // executor.threads_per_process
    spare = each - batch_bytes - _bytes_of(0, int(cells.sizes.max()), n_columns)
    return max(1, min(spare, RANGE_BYTES))


def _bytes_of(kept_rows: int, block_rows: int, n_columns: int) -> int:
    """Bytes of so many rows kept, and of the evaluation of one block."""
    return 8 * n_columns * kept_rows + 8 * (WORDS + 2 * n_columns) * block_rows


def block_ranges(cells: CellMap, n_columns: int, room: int, threads: int) -> list[BlockRange]:
    """Cut the blocks into ranges of at most `room` bytes of rows (or one block), for every thread one.

    Where the cuts fall changes no result: a block is in one range, and its rows have one order.
    """
    sizes = cells.sizes
    row_bytes = 8 * n_columns
    total = int(sizes.sum()) * row_bytes
    wanted = max(1, threads, -(-total // room))
    share = max(1, min(room, -(-total // wanted)))
    edges, held = [0], 0
    for number, size in enumerate((sizes * row_bytes).tolist()):
        if (held and held + size > room) or held >= share:
            edges.append(number)
            held = 0
        held += size
    edges.append(sizes.size)
    return [_range(cells, a, b) for a, b in pairwise(edges)]


def _range(cells: CellMap, first: int, stop: int) -> BlockRange:
    """The blocks first … stop - 1."""
    starts: Counts = cells.starts
    low = int(np.searchsorted(starts, first, side="right")) - 1
    high = int(np.searchsorted(starts, stop, side="left"))
    mine = cells.cells[low:high] - first
    inside = (mine >= 0) & (mine < stop - first)
    return BlockRange(low, np.where(inside, mine, -1).astype(np.int32), cells.sizes[first:stop])
