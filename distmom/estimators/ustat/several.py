"""Kernels of several samples: each is cut into blocks by itself; blocks with one number belong together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from distmom.errors import ConfigError, NoAnswerError
from distmom.estimators.mean.answer import groups_of
from distmom.estimators.mean.contamination import outlying_number
from distmom.estimators.mean.mean import run_plan
from distmom.estimators.mean.plan import MeanPlan
from distmom.estimators.options import check_most_blocks
from distmom.estimators.ustat.answer import Answerer
from distmom.estimators.ustat.columns import column_of
from distmom.estimators.ustat.disjoint import disjoint_statistics
from distmom.estimators.ustat.options import UStatOptions
from distmom.estimators.ustat.partitions import Cells, cells_of, joined, plan_of_partition
from distmom.estimators.ustat.run import (
    Found,
    as_blocks_of,
    block_source_of,
    check_columns,
    check_sizes,
    first_plan,
)
from distmom.numerics.blocks.labels import repeat_seed
from distmom.numerics.kernels.kernel import Kernel
from distmom.numerics.kernels.tuples import TupleMoments
from distmom.passes.block_pass import Counted, Question, kept_names, run_blocks
from distmom.passes.census import count_rows, count_valid
from distmom.reductions.rows.block_kernel import BlockKernel, BlockStatistics
from distmom.reductions.rows.disjoint_kernel import DisjointKernel
from distmom.reductions.state import MeanState, aligned
from distmom.report import UStatisticResult

if TYPE_CHECKING:
    from distmom.cluster import Executor, Progress
    from distmom.cluster.work import SkippedFile
    from distmom.lake import ReadOptions, Source


def sample_data(data: Any, kernel: Kernel) -> tuple[Any, ...]:
    """The data of every sample that a kernel takes.

    Raises
    ------
    ConfigError
        If it is not a list of as many.
    """
    n = len(kernel.degrees)
    if isinstance(data, Sequence) and not isinstance(data, (str, bytes)) and len(data) == n:
        return tuple(data)
    number = {2: "two", 3: "three"}.get(n, str(n))
    example = "['a/', 'b/']" if n == 2 else "['a/', 'b/', 'c/', …]"
    raise ConfigError(
        f"kernel {kernel.name!r} takes {number} samples: give data as a list of {number}, such as {example}"
    )


def run_samples(
    samples: Sequence[tuple[Source, ReadOptions]],
    options: UStatOptions,
    seed: int,
    executor: Executor,
    progress: Progress | None,
) -> Found:
    """The U-statistic of several samples; each has blocks of its own, drawn independently of the others'.

    One result for each column (or set of columns that make a row) and group; a group that one of the
    samples lacks is told, without an answer.
    """
    for source, read in samples:
        check_columns(source.reader(read), options)
    options = numbers_of_all(samples, options, executor, progress)
    passes = count_samples(samples, options, seed, executor, progress)
    keys = tuple(sorted({key for one in passes for key in one.state.keys}))
    passes = [one._replace(state=aligned(one.state, keys)) for one in passes]
    by = samples[0][1].by
    columns = options.column_sets(samples[0][1])
    sources = [source for source, _ in samples]
    asked = []
    for c in range(len(columns)):
        mine = passes if options.joint_rows else [one.column(c) for one in passes]
        asked.append(sample_question(sources, mine, options, executor))
    states = iter(run_blocks([question for one in asked for question in one.questions], executor, progress))
    results = []
    for names, one in zip(columns, asked, strict=True):
        results += sample_results(one, options, [next(states) for _ in one.questions], ", ".join(names), by)
    skipped = [record for one in passes for record in one.skipped]
    return Found(results, [one.plan for one in passes], skipped)


def numbers_of_all(
    samples: Sequence[tuple[Source, ReadOptions]],
    options: UStatOptions,
    executor: Executor,
    progress: Progress | None,
) -> UStatOptions:
    """The options with numbers in place of what is said of the rows of all samples together.

    A block has `block_size` rows, those of each sample in proportion to its size, so there are the rows of
    all over that (an odd number); a share as `contamination` is one of the rows (or files) of all.
    """
    rows = options.rows
    if rows.block_size is not None:
        n = sum(rows_of(source, options, executor) for source, _ in samples)
        if rows.block_size > n:
            raise NoAnswerError(
                f"block_size: {rows.block_size} exceeds the {n} rows of all samples; lower it"
            )
        k = n // rows.block_size
        check_most_blocks(f"block_size={rows.block_size} of {n} rows", k)
        rows = replace(rows, block_size=None, n_blocks=k - 1 + k % 2)
    if isinstance(rows.contamination, float):
        n = sum(_passing(*sample, options, executor, progress) for sample in samples)
        rows = replace(rows, contamination=outlying_number(rows.contamination, n))
    return replace(options, rows=rows)


def rows_of(source: Source, options: UStatOptions, executor: Executor) -> int:
    """Rows of a sample, whether they pass the filter or not."""
    return int(np.maximum(count_rows(source, executor, options.rows.on_bad_file).rows, 0).sum())


def _passing(
    source: Source,
    read: ReadOptions,
    options: UStatOptions,
    executor: Executor,
    progress: Progress | None,
) -> int:
    """Rows of a sample that pass the filter, or its files where these are the units."""
    if options.rows.block_by == "file":
        return len(source.files)
    if read.where is None:
        return rows_of(source, options, executor)
    bare = source.reader(replace(read, columns=(), by=(), units=()))
    return count_valid(bare, source.files, executor, options.rows.on_bad_file, progress)


class Pass(NamedTuple):
    """The first pass over one sample."""

    plan: MeanPlan
    state: MeanState
    skipped: list[SkippedFile]

    def column(self, c: int) -> Pass:
        """The same of one column."""
        return Pass(*column_of(self.plan, self.state, c), self.skipped)


def count_samples(
    samples: Sequence[tuple[Source, ReadOptions]],
    options: UStatOptions,
    seed: int,
    executor: Executor,
    progress: Progress | None,
) -> list[Pass]:
    """The passes that count the rows of fine blocks of each sample."""
    passes = []
    for number, (source, read) in enumerate(samples):
        plan = first_plan(source, read, options, repeat_seed(seed, number), executor, progress)
        state, skipped = run_plan(plan, len(read.by), executor, progress)
        groups_of(plan, state, read.by)  # there are rows
        passes.append(Pass(plan, state, skipped))
    return passes


class Asked(NamedTuple):
    """What is to be made of all samples.

    Attributes
    ----------
    questions : tuple of Question
        One for each partition.
    plan : MeanPlan
        Of the first sample's pass.
    cells : tuple of CellMap
        Its blocks in each partition.
    """

    questions: tuple[Question, ...]
    plan: MeanPlan
    cells: Cells


def sample_question(
    sources: Sequence[Source], passes: Sequence[Pass], options: UStatOptions, executor: Executor
) -> Asked:
    """What is to be made of the blocks of all samples, whose rows are single values or vectors."""
    plans = [as_blocks_of(one.plan, options) for one in passes]
    cells = cells_of(plans[0], [one.state for one in passes], options)
    names = plans[0].reduction.columns
    check_sizes(len(passes[0].state.keys), cells, len(names), options, executor)
    variances = block_source_of(options)[1]
    complete = BlockKernel(options.kernel, options.statistic, variances, options.weighted)  # type: ignore[arg-type]
    questions = []
    for r, both in enumerate(zip(*cells, strict=True)):
        seed = repeat_seed(plans[0].reduction.seed, r)
        kernel = complete if options.pairs == "complete" else DisjointKernel(options.kernel, seed)
        found = zip(sources, plans, passes, both, strict=True)
        counted = [
            Counted(source, plan_of_partition(plan, r), one.state, one.skipped, blocks, kept_names(plan))
            for source, plan, one, blocks in found
        ]
        questions.append(Question(tuple(counted), kernel))
    return Asked(tuple(questions), plans[0], cells[0])


def sample_results(
    asked: Asked,
    options: UStatOptions,
    partitions: Sequence[BlockStatistics | TupleMoments],
    column: str,
    by: tuple[str, ...] = (),
) -> list[UStatisticResult]:
    """The results of a question whose blocks have been evaluated."""
    states = tuple(sample.state for sample in asked.questions[0].samples)
    variances = block_source_of(options)[1]
    evaluated = []
    for question, found in zip(asked.questions, partitions, strict=True):
        if isinstance(found, TupleMoments):
            cells = [sample.cells for sample in question.samples]
            evaluated.append(disjoint_statistics(options.kernel, found, cells, variances=variances))
        else:
            evaluated.append(found)
    blocks = joined(evaluated, asked.cells)
    source = block_source_of(options)[0]
    return Answerer(options, asked.plan, states, asked.cells[0], blocks, source).results(column, by)
