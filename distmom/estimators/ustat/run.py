"""One run of a robust U-statistic: count the rows of fine blocks, form blocks, evaluate, answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from distmom.estimators.mean.answer import groups_of
from distmom.estimators.mean.mean import run_plan
from distmom.estimators.mean.plan import MeanPlan, plan_mean
from distmom.estimators.ustat.answer import Answerer
from distmom.estimators.ustat.columns import column_of
from distmom.estimators.ustat.comoments import (
    from_comoments,
    own_comoments,
    partitions_of,
    run_comoments,
    statistics_of,
)
from distmom.estimators.ustat.cost import check_budget, tuples_to_take
from distmom.estimators.ustat.disjoint import disjoint_blocks
from distmom.estimators.ustat.matrix import MatrixAnswerer
from distmom.estimators.ustat.options import UStatOptions
from distmom.estimators.ustat.partitions import Cells, cells_of, joined, plan_of_partition, portions
from distmom.inference.adaptive import BlockSource
from distmom.numerics.kernels.evaluate import one_by_one
from distmom.passes.block_pass import Counted, Question, kept_names, run_blocks
from distmom.passes.census import column_share, count_rows
from distmom.passes.opening import refuse_times
from distmom.reductions.rows.block_kernel import BlockKernel, BlockStatistics
from distmom.report import UStatisticResult
from distmom.theory import mogu_blocks

if TYPE_CHECKING:
    from distmom.cluster import Executor, Progress
    from distmom.cluster.work import SkippedFile
    from distmom.lake import BatchReader, ReadOptions, Source


class Found(NamedTuple):
    """Results of one run, and what it read."""

    results: list[UStatisticResult]
    plans: list[MeanPlan]
    skipped: list[SkippedFile]


def run_ustatistic(
    source: Source,
    read: ReadOptions,
    options: UStatOptions,
    seed: int,
    executor: Executor,
    progress: Progress | None,
) -> Found:
    """The U-statistics of the columns that are read, one result for each column (or set of them) and group.

    One pass counts the rows of all columns, and where rows are regrouped another one serves them all.
    """
    reader = source.reader(read)
    check_columns(reader, options)
    check_before(source, read, options, executor)
    plan = first_plan(source, read, options, seed, executor, progress)
    if options.pairs == "complete" and options.joint_rows and from_comoments(plan, options):
        return _from_comoments(plan, read, options, executor, progress)
    state, skipped = run_plan(plan, len(read.by), executor, progress)
    groups_of(plan, state, read.by)  # there are rows
    columns = options.column_sets(read)
    plans, asked, results = list[MeanPlan](), [], []
    for c in range(len(columns)):
        own, found = (plan, state) if options.joint_rows else column_of(plan, state, c)
        plans.append(own)
        (cells,) = cells_of(own, [found], options)
        check_sizes(len(state.keys), [cells], len(own.reduction.columns), options, executor)
        asked.append(
            tuple(
                Counted(source, plan_of_partition(own, r), found, skipped, one, kept_names(own))
                for r, one in enumerate(cells)
            )
        )
    evaluated = _blocks(plans, asked, options, seed, executor, progress)
    for c, (names, (blocks, cells)) in enumerate(zip(columns, evaluated, strict=True)):
        own, found = (plan, state) if options.joint_rows else column_of(plan, state, c)
        whole, block_source = joined(blocks, cells), block_source_of(options)[0]
        answerer = answerer_of(options)(options, own, (found,), cells[0], whole, block_source)
        results += answerer.results(", ".join(names), read.by)
    return Found(results, [plan], skipped)


def _from_comoments(
    plan: MeanPlan,
    read: ReadOptions,
    options: UStatOptions,
    executor: Executor,
    progress: Progress | None,
) -> Found:
    """The statistics that co-moments of the fine blocks say all about: one pass."""
    both, skipped = run_comoments(plan, len(read.by), executor, progress)
    groups_of(plan, both.means, read.by)  # there are rows
    (cells,) = cells_of(plan, [both.means], options)
    check_sizes(len(both.means.keys), [cells], len(plan.reduction.columns), options, executor)
    block_source, variances = block_source_of(options)
    fine = partitions_of(both.comoments, len(cells))
    blocks = [statistics_of(*one, options, variances=variances) for one in zip(fine, cells, strict=True)]
    answerer = answerer_of(options)(
        options, plan, (both.means,), cells[0], joined(blocks, cells), block_source
    )
    return Found(answerer.results(", ".join(read.columns), read.by), [plan], skipped)


def answerer_of(options: UStatOptions) -> type[Answerer]:
    """For kernels with a number as value, or a matrix."""
    return MatrixAnswerer if options.kernel.shape(2) else Answerer


def _blocks(
    plans: Sequence[MeanPlan],
    asked: Sequence[tuple[Counted, ...]],
    options: UStatOptions,
    seed: int,
    executor: Executor,
    progress: Progress | None,
) -> list[tuple[list[BlockStatistics], Cells]]:
    """For each column, the statistic of every block of each partition, and the blocks."""
    variances = block_source_of(options)[1]
    if options.pairs != "complete":
        return disjoint_blocks(asked, options.kernel, seed, executor, progress, variances=variances)
    cells = [tuple(one.cells for one in partitions) for partitions in asked]
    if not options.joint_rows and from_comoments(plans[0], options):
        of = partial(statistics_of, options=options, variances=variances)
        fine = [own_comoments(*both) for both in zip(plans, (one[0].state for one in asked), strict=True)]
        return [
            ([of(*both) for both in zip(mine, of_column, strict=True)], of_column)
            for mine, of_column in zip(fine, cells, strict=True)
        ]
    kernel = BlockKernel(options.kernel, options.statistic, variances, options.weighted)  # type: ignore[arg-type]
    states = run_blocks([Question((one,), kernel) for many in asked for one in many], executor, progress)
    return [(mine, of_column) for mine, of_column in zip(portions(states, cells), cells, strict=True)]


def check_columns(reader: BatchReader, options: UStatOptions) -> None:
    """Refuse columns that the kernel does not take; those of one column each stand for themselves.

    Raises
    ------
    ConfigError
        If it takes another number of columns.
    DataError
        If a column holds times.
    """
    names = reader.options.value_names[: -1 if options.weighted else None]
    options.kernel.check_columns(len(names) if options.joint_rows else 1)
    refuse_times(reader.options, "kernels take numbers: name a column of such")


def first_plan(
    source: Source,
    read: ReadOptions,
    options: UStatOptions,
    seed: int,
    executor: Executor,
    progress: Progress | None,
) -> MeanPlan:
    """The plan of the pass that counts the rows of fine blocks: that of the mean of the same rows.

    Of sampling schemes it is that of a partition, which tells what the columns hold.
    """
    counted = replace(options.rows, joint="coordinatewise" if options.joint_rows else False, interval="none")
    if options.sampled:
        counted = replace(counted, scheme="partition", n_blocks="auto", block_size=None, tau=None)
    share = column_share(source, read)
    plan = plan_mean(source, read, counted, seed, executor, progress, share)
    return as_blocks_of(plan, options)


def as_blocks_of(plan: MeanPlan, options: UStatOptions) -> MeanPlan:
    """The plan of a pass that has counted fine blocks, which a kernel is to have its blocks made of."""
    few = options.few_blocks
    blocks = plan.blocks if few is None else replace(plan.blocks, n_blocks=few)
    return replace(plan, options=options.rows, blocks=blocks)


def check_before(source: Source, read: ReadOptions, options: UStatOptions, executor: Executor) -> None:
    """Refuse a run that is too long before it reads a row, where footers can tell."""
    names = source.reader(read).options.value_names
    n_columns, weighted = len(names) - options.weighted if options.joint_rows else 1, options.weighted
    if (
        options.pairs != "complete"
        or source.one_pass
        or read.where is not None
        or not one_by_one(options.kernel, n_columns, weighted=weighted)
    ):
        return
    census = count_rows(source, executor, options.rows.on_bad_file)
    n = int(census.rows[census.rows > 0].sum())
    k = options.rows.n_blocks if isinstance(options.rows.n_blocks, int) else None
    if read.by or options.rows.block_size is not None or (k is None and options.rows.contamination):
        return
    n_blocks = 945 if k is None else k
    size = n // n_blocks
    of_block = tuples_to_take(options.kernel, n_columns, [(size,)], weighted=weighted)
    n_tuples = options.rows.repeats * n_blocks * of_block
    check_budget(options, n_tuples, n, n_blocks, executor.threads)


def block_source_of(options: UStatOptions) -> tuple[BlockSource, bool]:
    """What a block holds, for the rule, and whether the variance is estimated within blocks."""
    rows = options.rows
    if rows.block_by is not None:
        return "units", False
    if rows.order == "stored" or rows.chunk_rows > 1:
        return "stored", False
    return "statistics", rows.interval != "none"


def check_sizes(
    n_groups: int,
    cells: Sequence[Cells],
    n_columns: int,
    options: UStatOptions,
    executor: Executor,
) -> None:
    """Refuse what is too long, or what the proposition does not reach, now that the rows are counted.

    `cells` are those of each sample.
    """
    n = [int(one[0].sizes.sum()) for one in cells]
    if options.by_paper and n_groups == 1:
        mogu_blocks(options.rows.confidence_level, n, options.kernel.degrees)
    if options.pairs != "complete":
        return
    each = [np.concatenate([partition.sizes for partition in one]).tolist() for one in cells]
    blocks = list(zip(*each, strict=True))
    n_tuples = tuples_to_take(options.kernel, n_columns, blocks, weighted=options.weighted)
    check_budget(options, n_tuples, sum(n), len(blocks), executor.threads)
