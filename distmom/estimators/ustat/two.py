"""Kernels of two samples: each is cut into blocks by itself, and blocks are paired by their numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from distmom.errors import ConfigError
from distmom.estimators.mean.answer import groups_of
from distmom.estimators.mean.mean import run_plan
from distmom.estimators.mean.plan import MeanPlan
from distmom.estimators.ustat.answer import Answerer
from distmom.estimators.ustat.columns import column_of
from distmom.estimators.ustat.options import UStatOptions
from distmom.estimators.ustat.run import (
    Found,
    as_blocks_of,
    block_source_of,
    cells_of,
    check_columns,
    check_sizes,
    first_plan,
)
from distmom.estimators.ustat.work import Counted, Question, run_blocks
from distmom.numerics.labels import repeat_seed
from distmom.reductions.block_kernel import BlockKernel, BlockStatistics
from distmom.reductions.state import MeanState
from distmom.report import UStatisticResult

if TYPE_CHECKING:
    from distmom.cluster import Executor, Progress
    from distmom.cluster.work import SkippedFile
    from distmom.lake import ReadOptions, Source


def two_samples(data: Any, kernel: str, by: Any = None) -> tuple[Any, Any]:
    """The data of both samples.

    Raises
    ------
    ConfigError
        If it is not a list of two, or there are groups.
    """
    if by:
        raise ConfigError(
            f"by does not go with kernel {kernel!r} of two samples: groups of one need not be in the other; "
            "use where, one group at a time"
        )
    if isinstance(data, Sequence) and not isinstance(data, (str, bytes)) and len(data) == 2:
        return data[0], data[1]
    raise ConfigError(
        f"kernel {kernel!r} takes two samples: give data as a list of two, such as ['a/', 'b/']"
    )


def run_two_samples(
    samples: Sequence[tuple[Source, ReadOptions]],
    options: UStatOptions,
    seed: int,
    executor: Executor,
    progress: Progress | None,
) -> Found:
    """The U-statistic of two samples; each has blocks of its own, drawn independently of the other's.

    One result for each column, or set of columns that make a row.
    """
    for source, read in samples:
        check_columns(source.reader(read), options)
    passes = [
        count_sample(number, sample, options, seed, executor, progress)
        for number, sample in enumerate(samples)
    ]
    columns = [samples[0][1].columns] if options.joint_rows else [(name,) for name in samples[0][1].columns]
    sources = [source for source, _ in samples]
    questions = []
    for c in range(len(columns)):
        mine = passes if options.joint_rows else [one.column(c) for one in passes]
        questions.append(two_sample_question(sources, mine, options, executor))
    blocks = run_blocks(questions, executor, progress)
    results = []
    for names, question, one in zip(columns, questions, blocks, strict=True):
        results += two_sample_results(question, options, one, ", ".join(names))
    skipped = [record for one in passes for record in one.skipped]
    return Found(results, [one.plan for one in passes], skipped)


class Pass(NamedTuple):
    """The first pass over one sample."""

    plan: MeanPlan
    state: MeanState
    skipped: list[SkippedFile]

    def column(self, c: int) -> Pass:
        """The same of one column."""
        return Pass(*column_of(self.plan, self.state, c), self.skipped)


def count_sample(
    number: int,
    sample: tuple[Source, ReadOptions],
    options: UStatOptions,
    seed: int,
    executor: Executor,
    progress: Progress | None,
) -> Pass:
    """The pass that counts the rows of fine blocks of one of the samples."""
    plan = first_plan(*sample, options, repeat_seed(seed, number), executor, progress)
    state, skipped = run_plan(plan, 0, executor, progress)
    groups_of(plan, state, ())  # there are rows
    return Pass(plan, state, skipped)


def two_sample_question(
    sources: Sequence[Source], passes: Sequence[Pass], options: UStatOptions, executor: Executor
) -> Question:
    """What is to be made of the blocks of both samples, whose rows are single values or vectors."""
    plans = [as_blocks_of(one.plan, options) for one in passes]
    cells = cells_of(plans[0], [one.state for one in passes], options)
    names = plans[0].reduction.columns
    check_sizes(1, cells, len(names), options, executor)
    kernel = BlockKernel(options.kernel, options.statistic, block_source_of(options)[1])  # type: ignore[arg-type]
    found = zip(sources, plans, passes, cells, strict=True)
    counted = [
        Counted(source, plan, one.state, one.skipped, blocks, names) for source, plan, one, blocks in found
    ]
    return Question(tuple(counted), kernel)


def two_sample_results(
    question: Question, options: UStatOptions, blocks: BlockStatistics, column: str
) -> list[UStatisticResult]:
    """The results of a question whose blocks have been evaluated."""
    first = question.samples[0]
    states = tuple(sample.state for sample in question.samples)
    source = block_source_of(options)[0]
    return Answerer(options, first.plan, states, first.cells, blocks, source).results(column, ())
