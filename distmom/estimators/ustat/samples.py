"""The samples of a U-statistic, one or several: their contents, their checks and their first passes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple, TypeAlias

from distmom.cluster import Executor, Progress
from distmom.cluster.work import SkippedFile
from distmom.designs.blocks import RandomBlocks
from distmom.errors import ConfigError
from distmom.estimators.mean.blocks import blocks_of_size
from distmom.estimators.mean.contamination import outlying_number
from distmom.estimators.mean.counts import groups_of
from distmom.estimators.mean.plan import MeanPlan, plan_mean
from distmom.estimators.mean.run.passes import run_plan
from distmom.estimators.ustat.comoments import STATES, comoments_memory, from_comoments, run_comoments
from distmom.estimators.ustat.options import UStatOptions
from distmom.lake import ReadOptions, Source
from distmom.memory import Held, Memory
from distmom.numerics.blocks.labels import repeat_seed
from distmom.numerics.linalg.comoments import Comoments
from distmom.passes.census import column_share, count_passing
from distmom.passes.opening import refuse_times
from distmom.reductions.block_comoments import BlockComoments
from distmom.reductions.state import MeanState, aligned

Samples: TypeAlias = "Sequence[tuple[Source, ReadOptions]]"
"""The source of each sample, and what to read from it."""


def check_samples(samples: Samples, options: UStatOptions) -> None:
    """Refuse data that the kernel or the options do not support, before reading it.

    ConfigError or DataError if the kernel takes another number of columns, a column contains times, or there
    are groups or data that can be read only once and these are not supported.
    """
    for source, read in samples:
        reader = source.reader(read)
        names = reader.options.value_names[: -1 if options.weighted else None]
        n_columns = len(names) if options.joint_rows else 1
        options.kernel.check_columns(n_columns)
        refuse_times(reader.options, "kernels take numbers: name a column of such")
        if read.by and options.sampled:
            raise ConfigError(
                "by cannot be combined with SampledBlocks: samples are of all rows together; use "
                "RandomBlocks, or "
                "where, one group at a time"
            )
        if source.one_pass and not from_comoments(options, n_columns):
            what = "a sampled design" if options.sampled else f"kernel {options.kernel.name!r}"
            raise ConfigError(
                f"{what} reads its rows several times, and a stream can be read only once; give a table, or "
                "write the stream to Parquet files"
            )


def numbers_of_all(
    samples: Samples, options: UStatOptions, executor: Executor, progress: Progress | None
) -> UStatOptions:
    """The options with numbers instead of quantities given for several samples together.

    A block has `block_size` rows, divided among samples in proportion to their sizes, so the number of blocks
    is the total number of rows over that (an odd number). A share as `contamination` refers to the rows (or
    files) of all samples.
    """
    rows = options.rows
    if len(samples) == 1 or options.sampled:
        return options

    def passing(samples: Samples) -> int:
        return sum(count_passing(*one, executor, rows.on_bad_file, progress) for one in samples)

    if rows.design.size is not None:
        n = passing([(source, replace(read, where=None)) for source, read in samples])
        k = blocks_of_size(rows.design.size, n, "all samples")
        rows = replace(rows, design=rows.design.with_number(k))
    if isinstance(rows.contamination, float):
        n = sum(len(one.files) for one, _ in samples) if rows.design.by_file else passing(samples)
        rows = replace(rows, contamination=outlying_number(rows.contamination, n))
    return replace(options, rows=rows)


class Pass(NamedTuple):
    """The first pass over one sample, its state, and the files it skipped."""

    source: Source
    read: ReadOptions
    plan: MeanPlan
    state: MeanState
    skipped: list[SkippedFile]
    comoments: Comoments | None = None

    def column(self, c: int) -> Pass:
        """The same for one column, as from a pass over this column alone."""
        plan, state = self.plan, self.state
        columns = plan.reduction.columns
        if len(columns) == 1:
            return self
        mine = replace(plan, reduction=replace(plan.reduction, columns=(columns[c],)))
        lines = [c] if len(state.counts) == len(columns) else [c, -1]  # the last line is for the weights
        one = slice(c, c + 1)
        found = replace(
            state, counts=state.counts[lines], moments=state.moments.at(one), samples=state.samples[one]
        )
        return self._replace(plan=mine, state=found, comoments=None)


def passes_of(passes: Sequence[Pass], options: UStatOptions, c: int) -> Sequence[Pass]:
    """The passes for the statistic of column c, or of all columns together."""
    return passes if options.joint_rows else [one.column(c) for one in passes]


def plan_passes(
    samples: Samples, options: UStatOptions, seed: int, executor: Executor, progress: Progress | None
) -> list[MeanPlan]:
    """The plans of the passes that count the rows of fine blocks: those of the mean of the same rows.

    For sampling schemes they are those of a partition, which shows the contents of the columns.
    """
    joint = "coordinatewise" if options.joint_rows else False
    counted = replace(options.counted, joint=joint, interval="none")
    if options.sampled:
        counted = replace(counted, design=RandomBlocks())
    plans = []
    for number, (source, read) in enumerate(samples):
        own, share = repeat_seed(seed, number), column_share(source, read)
        plan = plan_mean(source, read, counted, own, executor, progress, share)
        plans.append(as_blocks_of(plan, options))
    return plans


def as_blocks_of(plan: MeanPlan, options: UStatOptions) -> MeanPlan:
    """The plan of a pass that has counted the fine blocks from which a kernel's blocks are formed."""
    few = options.few_blocks
    blocks = plan.blocks if few is None else replace(plan.blocks, n_blocks=few)
    return replace(plan, options=options.rows, blocks=blocks)


def first_pass(plan: MeanPlan, options: UStatOptions) -> tuple[Any, Memory]:
    """The reduction of a first pass, and its memory: row counts, or co-moments if these suffice."""
    n_bytes = STATES * plan.reduction.state_bytes()
    memory = Memory((Held("sums of the blocks", n_bytes, remedy="use fewer columns or blocks"),))
    if options.joint_rows and from_comoments(options, len(plan.reduction.columns)):
        return BlockComoments(plan.reduction), memory + comoments_memory(plan)
    return plan.reduction, memory


def run_passes(
    samples: Samples,
    plans: Sequence[MeanPlan],
    options: UStatOptions,
    executor: Executor,
    progress: Progress | None,
    known: Any = None,
) -> list[Pass]:
    """The first passes over all samples, which then have the same groups; with co-moments if these suffice.

    For a single sample the result may be `known` already. NoAnswerError if a sample has no rows.
    """
    passes = []
    for (source, read), plan in zip(samples, plans, strict=True):
        if options.joint_rows and from_comoments(options, len(plan.reduction.columns)):
            both, skipped = (
                (known, []) if known is not None else run_comoments(plan, len(read.by), executor, progress)
            )
            one = Pass(source, read, plan, both.means, skipped, both.comoments)
        elif known is not None:
            one = Pass(source, read, plan, known, [])
        else:
            one = Pass(source, read, plan, *run_plan(plan, len(read.by), executor, progress))
        groups_of(plan, one.state, read.by)  # there are rows
        passes.append(one)
    if len(passes) == 1:
        return passes
    keys = tuple(sorted({key for one in passes for key in one.state.keys}))
    return [one._replace(state=aligned(one.state, keys)) for one in passes]
