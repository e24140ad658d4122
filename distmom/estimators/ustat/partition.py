"""Blocks that partition the rows: which rows make them, what is asked of them, and the results."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from distmom.cluster import Executor, Progress
from distmom.estimators.mean.plan import MeanPlan
from distmom.estimators.ustat.answer import Answerer
from distmom.estimators.ustat.cells import Cells, cells_of, joined, plan_of_partition
from distmom.estimators.ustat.comoments import from_comoments, own_comoments, partitions_of, statistics_of
from distmom.estimators.ustat.cost import check_budget, tuples_to_take
from distmom.estimators.ustat.disjoint import disjoint_statistics
from distmom.estimators.ustat.options import UStatOptions
from distmom.estimators.ustat.samples import Pass, Samples, as_blocks_of, passes_of
from distmom.inference.answers import BlockSource
from distmom.lake import Source
from distmom.numerics.blocks.labels import repeat_seed
from distmom.numerics.kernels.tuples import TupleMoments
from distmom.numerics.linalg.comoments import Comoments
from distmom.passes.block_pass import run_blocks
from distmom.passes.counted import BlockQuestion, Counted, kept_names
from distmom.reductions.rows.block_kernel import BlockKernel, BlockStatistics
from distmom.reductions.rows.disjoint_kernel import DisjointKernel
from distmom.report import UStatisticResult
from distmom.theory.paper import mogu_blocks


class PartitionQuestions(NamedTuple):
    """What is to be made of the blocks of all samples.

    Attributes
    ----------
    questions : tuple of BlockQuestion
        One for each partition.
    plan : MeanPlan
        Of the first sample's pass.
    cells : tuple of CellMap
        Its blocks in each partition.
    """

    questions: tuple[BlockQuestion, ...]
    plan: MeanPlan
    cells: Cells


def run_partition(
    samples: Samples,
    passes: Sequence[Pass],
    options: UStatOptions,
    executor: Executor,
    progress: Progress | None,
) -> list[UStatisticResult]:
    """The U-statistics of every column (or set of them) and group, of samples whose rows have been counted.

    Samples have blocks of their own, drawn independently of the others'; those of one number belong together.
    Where rows are regrouped one pass serves all columns. A group that a sample lacks is told, without an
    answer.
    """
    sources, columns = [source for source, _ in samples], options.column_sets(samples[0][1])
    n = range(len(columns))
    asked = [sample_question(sources, passes_of(passes, options, c), options, executor) for c in n]
    each: Iterator[Sequence[BlockStatistics | TupleMoments]]
    if from_comoments(options, len(asked[0].plan.reduction.columns)):
        each = (_of_comoments(one, passes[0].comoments, options) for one in asked)
    else:
        states = iter(
            run_blocks([question for one in asked for question in one.questions], executor, progress)
        )
        each = ([next(states) for _ in one.questions] for one in asked)
    results = []
    for names, one, blocks in zip(columns, asked, each, strict=True):
        results += sample_results(one, options, blocks, ", ".join(names))
    return results


def sample_question(
    sources: Sequence[Source], passes: Sequence[Pass], options: UStatOptions, executor: Executor
) -> PartitionQuestions:
    """What is to be made of the blocks of all samples, whose rows are single values or vectors."""
    plans = [as_blocks_of(one.plan, options) for one in passes]
    cells = cells_of(plans[0], [one.state for one in passes], options)
    check_sizes(len(passes[0].state.keys), cells, len(plans[0].reduction.columns), options, executor.threads)
    variances = block_source_of(options)[1]
    complete = BlockKernel(options.kernel, options.statistic, variances, options.weighted)  # type: ignore[arg-type]
    questions = []
    for r, both in enumerate(zip(*cells, strict=True)):
        seed = repeat_seed(plans[0].reduction.seed, r)
        kernel = complete if options.complete else DisjointKernel(options.kernel, seed)
        found = zip(sources, plans, passes, both, strict=True)
        counted = [
            Counted(source, plan_of_partition(plan, r), one.state, one.skipped, blocks, kept_names(plan))
            for source, plan, one, blocks in found
        ]
        questions.append(BlockQuestion(tuple(counted), kernel))
    return PartitionQuestions(tuple(questions), plans[0], cells[0])


def _of_comoments(
    asked: PartitionQuestions, both: Comoments | None, options: UStatOptions
) -> list[BlockStatistics]:
    """The blocks of each partition from co-moments, of all columns or of one that stands for itself."""
    state, variances = asked.questions[0].samples[0].state, block_source_of(options)[1]
    fine = own_comoments(asked.plan, state) if both is None else partitions_of(both, len(asked.cells))
    pairs = zip(fine, asked.cells, strict=True)
    return [statistics_of(*pair, options, variances=variances) for pair in pairs]


def sample_results(
    asked: PartitionQuestions,
    options: UStatOptions,
    partitions: Sequence[BlockStatistics | TupleMoments],
    column: str,
) -> list[UStatisticResult]:
    """The results of a question whose blocks have been evaluated, one for each group."""
    states = tuple(sample.state for sample in asked.questions[0].samples)
    source, variances = block_source_of(options)
    evaluated = []
    for question, found in zip(asked.questions, partitions, strict=True):
        if isinstance(found, TupleMoments):
            cells = [sample.cells for sample in question.samples]
            found = disjoint_statistics(options.kernel, found, cells, variances=variances)
        evaluated.append(found)
    blocks = joined(evaluated, asked.cells)
    return Answerer(options, asked.plan, asked.cells[0], blocks, source, states).results(column)


def block_source_of(options: UStatOptions) -> tuple[BlockSource, bool]:
    """What a block holds, for the rule, and whether the variance is estimated within blocks."""
    rows = options.rows
    if rows.design.of_units:
        return "units", False
    if rows.design.stored or rows.design.chunk_rows > 1:
        return "stored", False
    return "statistics", rows.interval != "none"


def check_sizes(
    n_groups: int, cells: Sequence[Cells], n_columns: int, options: UStatOptions, threads: int
) -> None:
    """Refuse what is too long, or what the proposition does not reach; `cells` are those of each sample."""
    n = [int(one[0].sizes.sum()) for one in cells]
    if options.by_paper and n_groups == 1:
        mogu_blocks(options.rows.confidence_level, n, options.kernel.degrees)
    if not options.complete:
        return
    each = [np.concatenate([partition.sizes for partition in one]).tolist() for one in cells]
    blocks = list(zip(*each, strict=True))
    n_tuples = tuples_to_take(options.kernel, n_columns, blocks, weighted=options.weighted)
    check_budget(options, n_tuples, sum(n), len(blocks), threads)
