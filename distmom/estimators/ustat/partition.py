"""Blocks that partition the rows: their rows, the questions about them, and the results."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from distmom.cluster import Executor, Progress
from distmom.estimators.mean.plan import MeanPlan
from distmom.estimators.ustat.answer import Answerer
from distmom.estimators.ustat.cells import Cells, cells_of, joined, plan_of_partition
from distmom.estimators.ustat.comoments import fine_comoments, from_comoments, statistics_of
from distmom.estimators.ustat.cost import affordable, check_budget, tuples_to_take
from distmom.estimators.ustat.options import UStatOptions
from distmom.estimators.ustat.samples import Pass, as_blocks_of, passes_of
from distmom.inference.answers import BlockSource
from distmom.memory import Memory
from distmom.numerics.blocks.labels import repeat_seed
from distmom.numerics.linalg.comoments import Comoments
from distmom.passes.block_pass import run_blocks
from distmom.passes.counted import BlockQuestion, CellMap, Counted, kept_names
from distmom.passes.regrouping import Piece, planned_regrouping
from distmom.reductions.rows.block_kernel import BlockKernel, BlockStatistics
from distmom.reductions.rows.tuple_kernel import TupleKernel
from distmom.reductions.state import MeanState
from distmom.report import UStatisticResult
from distmom.theory.paper import mogu_blocks


class PartitionQuestions(NamedTuple):
    """What to compute from the blocks of all samples."""

    questions: tuple[BlockQuestion, ...]  # one for each partition
    plan: MeanPlan  # of the first sample's pass
    cells: Cells  # its blocks in each partition
    options: UStatOptions

    @property
    def states(self) -> tuple[MeanState, ...]:
        """The states of the first passes."""
        return tuple(sample.state for sample in self.questions[0].samples)

    def of_comoments(self, both: Comoments | None) -> list[BlockStatistics]:
        """The blocks of each partition from co-moments, of all columns together or of one by itself."""
        fine, variances = fine_comoments(self.plan, self.states[0], both), block_source_of(self.options)[1]
        pairs = zip(fine, self.cells, strict=True)
        return [statistics_of(*pair, self.options, variances=variances) for pair in pairs]

    def results(self, partitions: Sequence[Any], column: str) -> list[UStatisticResult]:
        """The results of a question whose blocks have been evaluated, one for each group."""
        source, variances = block_source_of(self.options)
        evaluated: list[BlockStatistics] = []
        for question, found in zip(self.questions, partitions, strict=True):
            if isinstance(question.kernel, TupleKernel):
                sizes = np.stack([sample.cells.sizes for sample in question.samples], axis=1)
                found = question.kernel.statistics(found, sizes, self.cells[0].starts, variances=variances)
            evaluated.append(found)
        blocks = joined(evaluated, self.cells)
        return Answerer(self.options, self.plan, self.cells[0], blocks, source, self.states).results(column)


def run_partition(
    passes: Sequence[Pass], options: UStatOptions, executor: Executor, progress: Progress | None
) -> list[UStatisticResult]:
    """The U-statistics of every column (or set of them) and group, of samples whose rows have been counted.

    Each sample has blocks of its own, drawn independently; blocks with the same number belong together. If
    rows are regrouped, one pass serves all columns. A group that is absent from a sample is reported without
    an answer.
    """
    columns = options.column_sets(passes[0].read)
    asked = [sample_question(passes_of(passes, options, c), options, executor) for c in range(len(columns))]
    each: Iterable[Sequence[Any]]
    if from_comoments(options, len(asked[0].plan.reduction.columns)):
        each = [one.of_comoments(passes[0].comoments) for one in asked]
    else:
        states = iter(
            run_blocks([question for one in asked for question in one.questions], executor, progress)
        )
        each = [[next(states) for _ in one.questions] for one in asked]
    found = zip(columns, asked, each, strict=True)
    return [result for names, one, blocks in found for result in one.results(blocks, ", ".join(names))]


def sample_question(passes: Sequence[Pass], options: UStatOptions, executor: Executor) -> PartitionQuestions:
    """What to compute from the blocks of all samples; rows are single values or vectors."""
    plans = [as_blocks_of(one.plan, options) for one in passes]
    cells = cells_of(plans[0], [one.state for one in passes], options)
    check_sizes(len(passes[0].state.keys), cells, len(plans[0].reduction.columns), options, executor.threads)
    variances = block_source_of(options)[1]
    complete = BlockKernel(options.kernel, options.statistic, variances, options.weighted)  # type: ignore[arg-type]
    questions = []
    for r, both in enumerate(zip(*cells, strict=True)):
        seed = repeat_seed(plans[0].reduction.seed, r)
        kernel = complete if options.complete else TupleKernel(options.kernel, seed)
        counted = [
            Counted(one.source, plan_of_partition(plan, r), one.state, one.skipped, blocks, kept_names(plan))
            for one, plan, blocks in zip(passes, plans, both, strict=True)
        ]
        questions.append(BlockQuestion(tuple(counted), kernel))
    return PartitionQuestions(tuple(questions), plans[0], cells[0], options)


def block_source_of(options: UStatOptions) -> tuple[BlockSource, bool]:
    """What a block contains, for the rule, and whether the variance is estimated within blocks."""
    rows = options.rows
    if rows.design.of_units:
        return "units", False
    if rows.design.stored or rows.design.chunk_rows > 1:
        return "stored", False
    return "statistics", rows.interval != "none"


def check_sizes(
    n_groups: int, cells: Sequence[Cells], n_columns: int, options: UStatOptions, threads: int
) -> None:
    """Refuse runs that are too long, or out of reach of the proposition; `cells` are those of each sample."""
    n = [int(one[0].sizes.sum()) for one in cells]
    if options.by_paper and n_groups == 1:
        mogu_blocks(options.rows.confidence_level, n, options.kernel.degrees)
    if not options.complete:
        return
    each = [np.concatenate([partition.sizes for partition in one]).tolist() for one in cells]
    blocks = list(zip(*each, strict=True))
    n_tuples = tuples_to_take(options.kernel, n_columns, blocks, weighted=options.weighted)
    check_budget(options, n_tuples, sum(n), len(blocks), threads)


class PartitionPlan(NamedTuple):
    """Blocks that partition the rows, if these are complete and in one group; see `Draws` for samples."""

    plan: MeanPlan  # of the first pass over the first sample
    cells: list[CellMap]  # of each sample
    in_memory: bool  # whether some of the data is in memory

    def check(self, options: UStatOptions, threads: int) -> None:
        """Raise ConfigError if there are too many tuples, or the proposition does not reach the level."""
        n_columns = len(self.plan.reduction.columns) if options.joint_rows else 1
        check_sizes(1, [(one,) for one in self.cells], n_columns, options, threads)

    def describe(
        self, options: UStatOptions, n_columns: int, lines: int, least: Memory, executor: Executor
    ) -> dict[str, Any]:
        """Tuples, further passes and memory; `least` is what the first pass needs."""
        kernel, plan = options.kernel, self.plan
        blocks = list(zip(*(one.sizes.tolist() for one in self.cells), strict=True))
        lines *= options.rows.design.repeats
        n_tuples = lines * (
            tuples_to_take(kernel, n_columns, blocks, weighted=options.weighted)
            if options.complete
            else sum(min(n // d for n, d in zip(sizes, kernel.degrees, strict=True)) for sizes in blocks)
        )
        n_passes, needed, spilled = 1, least, None
        if not from_comoments(options, n_columns):
            sizes = np.sum([one.sizes for one in self.cells], axis=0)
            names, width = plan.reader.options.value_names, len(plan.reduction.columns)
            each = [names] if options.joint_rows else [(name, *names[width:]) for name in names[:width]]
            pieces = [Piece(sizes, mine, plan.reader.options.batch_rows) for mine in each]
            regrouping = planned_regrouping(
                pieces * options.rows.design.repeats, executor, on_disk=not self.in_memory
            )
            n_passes, spilled = 1 + regrouping.passes, regrouping.note
            needed = regrouping.memory(executor).or_larger(least, executor.threads_per_process)
        given = {} if plan.blocks.n_blocks is None else {"n_blocks": int(self.cells[0].n_blocks[0])}
        return {
            **given,
            "n_rows": int(sum(one.sizes.sum() for one in self.cells)),
            "tuples_one_by_one": n_tuples,
            "affordable": affordable(options, n_tuples, len(blocks)),
            "passes": n_passes,
            "sorted_on_disk": spilled,
            "memory": needed,
        }
