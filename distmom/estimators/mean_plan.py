"""From options to work: what to read, what to keep, how it is cut into units."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from distmom.cluster import Unit, check_memory, plan_units
from distmom.cluster.memory import in_words
from distmom.cluster.work import SkippedFile
from distmom.errors import NoAnswerError
from distmom.estimators.blocks import Blocks, choose_blocks, needs_row_counts
from distmom.estimators.options import MeanOptions
from distmom.estimators.rows import Census, count_rows, count_valid
from distmom.numerics.leaf import LEAF_ROWS
from distmom.numerics.swor import SworTree
from distmom.reductions.block_means import BlockMeans
from distmom.reductions.layouts import StoredBlocks, SworBlocks
from distmom.reductions.rowwise import LEAVES_TOGETHER

if TYPE_CHECKING:
    from distmom.cluster import Executor, Progress
    from distmom.lake import BatchReader, FileRef, ReadOptions, Source

SMALL_BYTES = 16_000_000
SMALL_FILES = 1_000
"""Below both, NumPy does the work: importing compiled kernels would take longer than all of it."""

LARGE_FILE, SHARES = 64_000_000, 6
"""Files above this size, and above so many shares of a thread's part, are cut into several units: for that
their rows must be counted, and parts begin amid a row group, whose first rows are then decoded in vain."""


@dataclass(frozen=True)
class MeanPlan:
    """Everything a run needs, and what it will cost."""

    files: tuple[FileRef, ...]
    reader: BatchReader
    options: MeanOptions
    blocks: Blocks
    reduction: BlockMeans
    units: tuple[Unit, ...]
    skipped: tuple[SkippedFile, ...]
    n_rows: int | None
    n_bytes: int
    unit_memory: int

    def describe(self, executor: Executor) -> dict[str, Any]:
        """Numbers for people who look before they run."""
        layout = self.blocks.layout
        return {
            "n_files": len(self.files),
            "n_bytes": self.n_bytes,
            "n_rows": self.n_rows,
            "n_units": len(self.units),
            "largest_unit_bytes": max((u.n_bytes for u in self.units), default=0),
            "scheme": self.options.scheme,
            "n_blocks": self.blocks.n_blocks or "auto",
            "block_size": self.blocks.block_size,
            "fine_blocks": layout.n_blocks or self.blocks.n_cells,
            "rows_drawn": self._rows_drawn(),
            "projected_memory_per_process": in_words(self.unit_memory * executor.threads_per_process),
            "threads": executor.threads,
            "engine": "compiled" if self.reduction.compiled else "numpy",
        }

    def _rows_drawn(self) -> int | None:
        if self.blocks.block_size is None or self.blocks.n_blocks is None:
            return None
        return self.blocks.block_size * self.blocks.n_blocks


def plan_mean(
    source: Source,
    read: ReadOptions,
    options: MeanOptions,
    seed: int,
    executor: Executor,
    progress: Progress | None,
) -> MeanPlan:
    """Check the options against the data, count rows where that is needed, and cut the work."""
    reader = source.reader(read)
    files = source.files
    share = column_share(source, read)
    census = _census(source, options, share, executor)
    if census is not None and census.bad:
        good = census.rows >= 0
        files = tuple(f for f, keep in zip(files, good, strict=True) if keep)
        census = Census(census.rows[good], census.bad)
    n_rows = None if census is None else int(census.rows.sum())
    if n_rows == 0:
        raise NoAnswerError(f"the data has no rows ({len(files)} file(s), all empty); give data with rows")
    n_valid = None
    if options.scheme == "swor" and read.where is not None:
        bare = source.reader(replace(read, columns=(), by=()))
        n_valid = count_valid(bare, files, executor, options.on_bad_file, progress)
        if n_valid == 0:
            raise NoAnswerError("no rows left after the filter; check where")
    grouped = bool(read.by)
    blocks = choose_blocks(
        options, seed=seed, n_files=len(files), grouped=grouped, n_rows=n_rows, n_valid=n_valid
    )
    n_bytes = sum(f.size for f in files)
    reduction = BlockMeans(
        read.columns if options.weights is None else read.columns[:-1],
        blocks.layout,
        blocks.n_cells,
        seed,
        blocks.sample_size,
        grouped,
        nan=options.nan,  # type: ignore[arg-type]
        most_bytes=executor.memory // (2 * executor.threads_per_process) if grouped else None,
        compiled=n_bytes * share > SMALL_BYTES or len(files) > SMALL_FILES,
        weights=options.weights,
    )
    # a file that is bad in one part would have to be taken out of the others: skip whole files only
    may_cut = census is not None and options.on_bad_file != "skip"
    units = plan_units(
        files,
        census.rows.tolist() if census is not None and may_cut else None,
        column_share=share,
        threads=executor.threads,
        leaf_rows=LEAF_ROWS * (LEAVES_TOGETHER if grouped and not blocks.layout.by_leaf else 1),
    )
    units = _with_windows(units, blocks, census)
    plan = MeanPlan(
        files=files,
        reader=reader,
        options=options,
        blocks=blocks,
        reduction=reduction,
        units=units,
        skipped=() if census is None else census.bad,
        n_rows=n_rows,
        n_bytes=int(n_bytes * share),
        unit_memory=_unit_memory(read, reduction),
    )
    worst = max(units, key=lambda u: u.n_bytes) if units else None
    name = worst.name if worst is not None else "the data"
    check_memory(plan.unit_memory, executor.threads_per_process, executor.memory, name)
    return plan


def _census(source: Source, options: MeanOptions, share: float, executor: Executor) -> Census | None:
    """Rows of each file, if anything depends on them."""
    most = sum(f.size for f in source.files) / (SHARES * executor.threads)
    large = any(f.size * share > LARGE_FILE and f.size > most for f in source.files)
    if needs_row_counts(options) or large or (source.in_memory and not source.one_pass):
        return count_rows(source, executor, options.on_bad_file)
    return None


def column_share(source: Source, read: ReadOptions) -> float:
    """Share of a file's bytes that the columns asked for take, by the first readable footer."""
    measure = getattr(source, "column_share", None)
    if measure is None:
        return 1.0
    where = read.where.columns if read.where is not None else ()
    return float(measure(tuple({*read.columns, *read.by, *where})))


def _unit_memory(read: ReadOptions, reduction: BlockMeans) -> int:
    """Projected bytes of one unit at work: batches being decoded, one leaf, and the states on the way up."""
    width = 8 * (len(read.columns) + 2 * len(read.by)) + 8
    batch = 4 * read.batch_rows * width
    leaf = 4 * LEAF_ROWS * width
    return batch + leaf + 24 * reduction.state_bytes() + 8_000_000 * max(1, len(read.columns))


def _with_windows(units: Sequence[Unit], blocks: Blocks, census: Census | None) -> tuple[Unit, ...]:
    """Give each unit what its layout needs to know of the rest of the lake."""
    if census is None or not isinstance(blocks.layout, (StoredBlocks, SworBlocks)):
        return tuple(units)
    if isinstance(blocks.layout, StoredBlocks):
        first_rows = np.concatenate([[0], np.cumsum(census.rows)])
        return tuple(replace(u, window=first_rows[u.first_file : u.first_file + len(u.files)]) for u in units)
    leaves = -(-census.rows // LEAF_ROWS)
    first_leaves = np.concatenate([[0], np.cumsum(leaves)])
    tree = SworTree(_leaf_rows(census.rows, leaves))
    windows = []
    for u in units:
        first = int(first_leaves[u.first_file])
        stop = int(first_leaves[u.first_file + len(u.files)])
        starts = first_leaves[u.first_file : u.first_file + len(u.files)]
        if u.rows is not None:
            first, stop = first + u.rows[0] // LEAF_ROWS, first - (-u.rows[1] // LEAF_ROWS)
        # a unit of empty files has no leaf, and none of its draws is ever asked for
        windows.append((tree.window(first, stop) if first < stop else None, starts))
    return tuple(replace(u, window=w) for u, w in zip(units, windows, strict=True))


def _leaf_rows(rows: NDArray[np.int64], leaves: NDArray[np.int64]) -> NDArray[np.int64]:
    """Rows of every leaf of the lake, in order."""
    out = np.full(int(leaves.sum()), LEAF_ROWS, np.int64)
    last = np.cumsum(leaves) - 1
    some = leaves > 0
    out[last[some]] = rows[some] - (leaves[some] - 1) * LEAF_ROWS
    return out
