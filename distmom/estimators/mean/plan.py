"""From options to work: what to read, what to keep, and how to cut it into units."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from distmom.cluster import Unit, check_memory, merge_depth, plan_units, scheduler_bytes
from distmom.cluster.memory import program, told_memory
from distmom.cluster.work import SkippedFile
from distmom.errors import DataError, NoAnswerError
from distmom.estimators.mean.blocks import (
    LEAST_FILES,
    PLENTY,
    BlockPlan,
    choose_blocks,
    fixed_by,
    needs_passing_rows,
    needs_row_counts,
)
from distmom.estimators.mean.counts import check_state
from distmom.estimators.mean.fingerprint import LakeCounts
from distmom.estimators.options import MeanOptions
from distmom.memory import Memory
from distmom.numerics.blocks.labels import COMPILE
from distmom.numerics.blocks.leaf import LEAF_ROWS
from distmom.numerics.samples.pool_sampler import key_bound, leaf_quota
from distmom.numerics.samples.row_samples import leaf_sizes
from distmom.numerics.samples.sample_tree import SampleTree
from distmom.numerics.samples.stretches import LEAST_ROWS, stretch_rows
from distmom.passes.census import Census, count_rows, count_valid
from distmom.passes.memory import Scope, means_memory
from distmom.passes.rows_ahead import RowsAhead, rows_ahead
from distmom.reductions.accumulate.rowwise import LEAVES_TOGETHER
from distmom.reductions.block_means import BlockMeans
from distmom.reductions.layout import Layout
from distmom.state.fingerprint import plainly

if TYPE_CHECKING:
    from distmom.cluster import Executor, Progress
    from distmom.estimators.mean.manifest import Ledger
    from distmom.lake import BatchReader, FileRef, ReadOptions, Source

SMALL_BYTES = 16_000_000
SMALL_FILES = 1_000
SMALL_DRAWS = 4_000_000
"""Below all three, NumPy does the work: importing compiled kernels would take longer than the whole run."""

WORK_OF_GROUPS = 4
"""Smallest extra cost of a grouped row in NumPy, as a factor: for a million rows, 1,000 groups take 0.29 s of
processor time (compiled 0.05), 10,000 groups 1.7 s (0.33); importing the kernels takes 0.3."""

MANY_FILES = 1 << 40
"""A saved lake may grow to any number of files: cells of whole files are kept even if they are not used
yet."""

LARGE_FILE, SHARES = 64_000_000, 6
"""Files above this size, and above one part in this many of a thread's share, are cut into several units. For
this their rows must be counted, and parts may begin within a row group, whose first rows are then decoded in
vain."""

POOL, POOL_OF_STATE = 65_536, 16_384
"""Rows of the large sample of a column: it detects bad rows from a share of about 10^-4 on."""

NOTHING = Memory()


@dataclass(frozen=True)
class MeanPlan:
    """Everything a run needs, and its cost.

    With a ledger, `late` are the units of its late files and `units` the others; `files` are all files that
    it knows, and `roots` their folders if lakes of several folders have been merged.
    """

    files: tuple[FileRef, ...]
    reader: BatchReader
    options: MeanOptions
    blocks: BlockPlan
    reduction: BlockMeans
    units: tuple[Unit, ...]
    late: tuple[Unit, ...]
    leaf_rows: int
    skipped: tuple[SkippedFile, ...]
    n_rows: int | None
    n_bytes: int
    memory: Memory
    roots: tuple[str, ...] = ()

    def describe(self, executor: Executor, other: Memory = NOTHING) -> dict[str, Any]:
        """Figures to look at before a run; `other` is the memory of another pass of the run."""
        layout = self.blocks.layout
        drawn = None
        if self.blocks.block_size is not None and self.blocks.n_blocks is not None:
            drawn = self.blocks.block_size * self.blocks.n_blocks
        return {
            "n_files": len(self.files),
            "n_bytes": self.n_bytes,
            "n_rows": self.n_rows,
            "n_units": len(self.units) + len(self.late),
            "largest_unit_bytes": max((u.n_bytes for u in (*self.units, *self.late)), default=0),
            "merge_depth": merge_depth((*self.units, *self.late), len(self.files)),
            "bytes_to_scheduler": scheduler_bytes((*self.units, *self.late)),
            "scheme": self.options.design.scheme,
            "n_blocks": self.blocks.n_blocks or "auto",
            "block_size": self.blocks.block_size,
            "fine_blocks": self.blocks.n_fine,
            "repeats": layout.repeats if layout.repeats > 1 else None,
            "contamination": self.blocks.outlying if self.options.contamination is not None else None,
            "rows_drawn": drawn,
            "rows_drawn_per_row": None if drawn is None or not self.n_rows else round(drawn / self.n_rows, 3),
            **told_memory(self.memory.or_larger(other, executor.threads_per_process), executor),
            "threads": executor.threads,
            "engine": "compiled" if self.reduction.compiled else "numpy",
        }

    def check_memory(self, executor: Executor, more: Memory = NOTHING) -> Memory:
        """Raise ResourceError if the pass and `more` do not fit into a process; return the memory of both."""
        memory = self.memory + more
        worst = max((*self.units, *self.late), key=lambda u: u.n_bytes, default=None)
        check_memory(memory, executor, "the data" if worst is None else worst.name)
        return memory

    @property
    def sums(self) -> dict[str, Any]:
        """Description of the sums: states with equal descriptions can be merged."""
        declared = {"reduction": self.reduction, "read": self.reader.options, "leaf_rows": self.leaf_rows}
        return dict(plainly(declared))

    def joined(self, left: Any, right: Any) -> Any:
        """The merged state of both; either may be None."""
        if left is None or right is None:
            return right if left is None else left
        return self.reduction.merge(left, right)


def check_weights(options: MeanOptions, read: ReadOptions) -> None:
    """Raise DataError if the weights are points in time, or lists."""
    if options.weights in dict(read.vectors or ()):
        raise DataError(f"weights: column {options.weights!r} holds lists; name a column of numbers")
    scale = None if options.weights is None else read.scales.get(options.weights)
    if scale is not None and scale.kind != "duration":
        raise DataError(
            f"weights: column {options.weights!r} holds points in time, no weights; name a column of "
            "numbers or durations"
        )


def plan_mean(
    source: Source,
    read: ReadOptions,
    options: MeanOptions,
    seed: int,
    executor: Executor,
    progress: Progress | None,
    share: float,
    ledger: Ledger | None = None,
    *,
    few_groups: bool = False,
    units_ride: bool = False,
    pooled: bool = False,
) -> MeanPlan:
    """Check the options against the data, count rows if needed, and cut the work into units.

    ``share`` is the `column_share` of what is read. With a `ledger`, only files that are not in its sums are
    read. With `few_groups`, each group gets as many fine blocks and sampled rows as a whole lake. With
    ``units_ride`` the columns of `by` are for other sums in the same pass: these means have no groups. If
    rows are `pooled`, a large sample of them is kept.
    """
    reader = source.reader(read)
    check_weights(options, reader.options)
    if ledger is not None:
        to_read = ledger.take_up(source.files, fixed=fixed_by(options) is not None)
        source = replace(source, files=to_read)  # type: ignore[type-var]
    files, census = _census(source, options, share, executor, ledger)
    counted = _counted(source, read, options, files, census, executor, progress, ledger)
    grouped = bool(read.by) and not units_ride
    n_files = len(files) if ledger is None else MANY_FILES
    many = grouped and not few_groups
    blocks = choose_blocks(options, seed=seed, n_files=n_files, grouped=many, **counted._asdict())
    n_bytes, value_names = sum(f.size for f in files), reader.options.value_names
    reduction = BlockMeans(
        value_names if options.weights is None else value_names[:-1],
        blocks.layout,
        blocks.n_cells,
        seed,
        blocks.sample_size,
        grouped,
        nan=options.nan,  # type: ignore[arg-type]
        most_bytes=executor.memory // (2 * executor.threads_per_process) if grouped else None,
        compiled=worth_compiling(files, share, blocks.layout, grouped=grouped),
        joint=bool(options.joint),
        count_units=None if not options.design.of_units else "columns" if read.units else "file",
        weights=options.weights,
    )
    if pooled and _has_sample(options, grouped, alone=source.one_pass or ledger is not None):
        known = counted.n_rows, counted.n_valid
        ahead = None if ledger is not None else rows_ahead(source, reader, files, n_bytes * share, *known)
        reduction = _with_pool(reduction, ahead, blind=options.design.blind)
    # a file that is bad in one part would have to be removed from the others: skip whole files only
    may_cut = options.on_bad_file != "skip"
    leaf_rows = LEAF_ROWS * (LEAVES_TOGETHER if reduction.rowwise or read.by else 1)
    cut = partial(plan_units, column_share=share, threads=executor.threads, leaf_rows=leaf_rows)
    rows = None if census is None else census.rows.tolist()
    late: tuple[Unit, ...] = ()
    if ledger is None:
        units = cut(files, rows if may_cut else None)
    else:
        units, late = ledger.units(reduction.merge, files, rows, cut, may_cut=may_cut)
        files = tuple(ledger.all_files())
        blocks = replace(blocks, hears_files=len(files) >= LEAST_FILES)
    units = _with_windows(units, blocks, census)
    plan = MeanPlan(
        files=files,
        reader=reader,
        options=options,
        blocks=blocks,
        reduction=reduction,
        units=units,
        late=late,
        leaf_rows=leaf_rows,
        skipped=() if census is None else census.bad,
        n_rows=counted.n_rows,
        n_bytes=int(n_bytes * share),
        memory=_memory(source, reader.options, reduction, (*units, *late), counted.n_rows, executor),
    )
    plan.check_memory(executor)
    return plan


def _has_sample(options: MeanOptions, grouped: bool, *, alone: bool) -> bool:
    """Whether a large sample of the rows detects bad shares; `alone`: no survey precedes this pass."""
    design = options.design
    if design.blind:
        return alone and not grouped
    by_number = options.joint or options.contamination is not None or design.by_file
    return not (grouped and by_number)


def _with_pool(reduction: BlockMeans, n_rows: RowsAhead | None, *, blind: bool) -> BlockMeans:
    """The same reduction with a large sample, and with stretches if these may be kept.

    A key bounds the sample if a minimum number of rows is known.
    """
    size, quota, bound, rows = POOL_OF_STATE, POOL_OF_STATE, 1.0, LEAST_ROWS
    if n_rows is not None:  # else the number of rows is unknown
        size, quota, rows = POOL, leaf_quota(POOL, n_rows.at_least), stretch_rows(n_rows.about)
        bound = key_bound(POOL, n_rows.at_least) if n_rows.sure else 1.0
    rows = 0 if reduction.grouped or blind else rows
    return replace(reduction, pool_size=size, pool_quota=quota, pool_bound=bound, stretch_rows=rows)


def worth_compiling(
    files: Sequence[FileRef], share: float, layout: Layout | None = None, *, grouped: bool = False
) -> bool:
    """Whether compiled kernels are worthwhile: for reading the files once, or also for the layout."""
    repeats = 1 if layout is None else layout.repeats
    n_draws = 0 if layout is None else layout.n_draws
    n_bytes = sum(f.size for f in files) * share * repeats * (WORK_OF_GROUPS if grouped else 1)
    return n_bytes > SMALL_BYTES or len(files) > SMALL_FILES or n_draws > SMALL_DRAWS


def _counted(
    source: Source,
    read: ReadOptions,
    options: MeanOptions,
    files: tuple[FileRef, ...],
    census: Census | None,
    executor: Executor,
    progress: Progress | None,
    ledger: Ledger | None,
) -> LakeCounts:
    """Rows of the lake, rows that pass the filter, and units, if blocks depend on them."""
    if ledger is not None:
        ledger.number(() if census is None else census.bad)
        if ledger.counted is not None:
            return ledger.counted
        if fixed_by(options) is None:  # the files read now do not show what may come later
            plenty = None if options.contamination is None else PLENTY
            return LakeCounts(None, plenty, plenty)
    n_rows = None if census is None else int(census.rows.sum())
    if n_rows == 0:
        raise NoAnswerError(f"the data has no rows (all files are empty: {len(files)}); give data with rows")
    n_valid = None
    if read.where is not None and needs_passing_rows(options):
        n_valid = count_valid(source, read, files, executor, options.on_bad_file, progress)
        check_state(n_valid or None, (), filtered=True)
    # units in columns are counted while they are read; a share of them is not supported
    n_units = None if not options.design.of_units else len(files) if options.design.by_file else PLENTY
    counted = LakeCounts(n_rows, n_valid, n_units)
    if ledger is not None:
        ledger.counted = counted
    return counted


def _census(
    source: Source, options: MeanOptions, share: float, executor: Executor, ledger: Ledger | None
) -> tuple[tuple[FileRef, ...], Census | None]:
    """The files with a readable footer and their rows, if anything depends on them; else all files."""
    files = source.files
    needed = needs_row_counts(options) if ledger is None else fixed_by(options) is not None or ledger.begun
    most = sum(f.size for f in files) / (SHARES * executor.threads)
    large = any(f.size * share > LARGE_FILE and f.size > most for f in files)
    if not files or not (needed or large or (source.in_memory and not source.one_pass)):
        return files, None
    return count_rows(source, executor, options.on_bad_file).good(files)


def _memory(
    source: Source,
    read: ReadOptions,
    reduction: BlockMeans,
    units: Sequence[Unit],
    n_rows: int | None,
    executor: Executor,
) -> Memory:
    """All memory that a process holds during the pass."""
    extent = source.extent(read.names)
    n_bytes = sum(unit.n_bytes for unit in units)
    scope = Scope.of(extent, units, n_rows, n_bytes, executor.threads_per_process)
    compiled = reduction.compiled or reduction.layout.n_blocks > COMPILE
    return program(executor, compiled=compiled) + means_memory(reduction, read, extent, scope)


def _with_windows(units: Sequence[Unit], blocks: BlockPlan, census: Census | None) -> tuple[Unit, ...]:
    """Give each unit what its layout needs to know about the rest of the lake."""
    if census is None or not units or blocks.layout.window is None:
        return tuple(units)
    if blocks.layout.window == "rows":
        first_rows = np.concatenate([[0], np.cumsum(census.rows)])
        return tuple(replace(u, window=first_rows[u.first_file : u.first_file + len(u.files)]) for u in units)
    leaves = -(-census.rows // LEAF_ROWS)
    first_leaves = np.concatenate([[0], np.cumsum(leaves)])
    tree = SampleTree(leaf_sizes(census.rows))
    windows = []
    for u in units:
        starts = first_leaves[u.first_file : u.first_file + len(u.files)]
        first, stop = int(starts[0]), int(first_leaves[u.first_file + len(u.files)])
        if u.rows is not None:
            first, stop = first + u.rows[0] // LEAF_ROWS, first - (-u.rows[1] // LEAF_ROWS)
        # a unit of empty files has no leaf, and its draws are never used
        windows.append((tree.window(first, stop) if first < stop else None, starts))
    return tuple(replace(u, window=w) for u, w in zip(units, windows, strict=True))
