"""The question behind a robust U-statistic, and its plan."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from distmom.cluster.memory import in_words as bytes_in_words
from distmom.estimators.facts import data_facts
from distmom.estimators.mean.plan import MeanPlan, worth_compiling
from distmom.estimators.ustat.comoments import from_comoments
from distmom.estimators.ustat.cost import affordable, in_words, seconds_for, tuples_to_take
from distmom.estimators.ustat.options import UStatOptions
from distmom.estimators.ustat.run import check_columns, first_plan, run_ustatistic
from distmom.estimators.ustat.sampled import planned_samples, run_sampled
from distmom.estimators.ustat.sampled_several import planned_draws, run_sampled_several
from distmom.estimators.ustat.several import numbers_of_all, run_samples, sample_data
from distmom.numerics.kernels.catalogue import named
from distmom.numerics.kernels.kernel import Kernel
from distmom.numerics.random.philox import resolve_seed
from distmom.passes.cell_map import CellMap, map_blocks
from distmom.passes.census import column_share, count_rows
from distmom.passes.opening import Names, open_data
from distmom.passes.ranges import Piece
from distmom.passes.regrouping import planned_regrouping
from distmom.passes.scan import Scan, as_scan
from distmom.reductions.block_means import load_kernels
from distmom.report import Results

if TYPE_CHECKING:
    from distmom.cluster import Executor, Progress
    from distmom.lake import ReadOptions, Source


def scans_of(data: Any, where: Any, kernel: str | Kernel) -> tuple[Scan, ...]:
    """The scan of every sample that the kernel takes."""
    made = named(kernel) if isinstance(kernel, str) else kernel
    several = isinstance(made, Kernel) and len(made.degrees) > 1
    return tuple(as_scan(one, where) for one in (sample_data(data, made) if several else (data,)))


@dataclass
class UStatQuestion:
    """The robust U-statistics of columns of one or several scans, in groups or not."""

    scans: tuple[Scan, ...]
    column: Names
    by: Names
    options: UStatOptions
    rng: Any = None
    seed: int = field(init=False)
    shown_seed: int | str = field(init=False)

    def __post_init__(self) -> None:
        self.seed, self.shown_seed = resolve_seed(self.rng)

    @cached_property
    def opened(self) -> list[tuple[Source, ReadOptions]]:
        """The source of each sample, and what to read of it."""
        rows, joint = self.options.rows, self.options.joint_rows
        return [
            open_data(scan, self.column, self.by, rows.block_by, joint=joint, weights=rows.weights)
            for scan in self.scans
        ]

    @property
    def in_memory(self) -> bool:
        """Whether some of the data is in this process."""
        return any(source.in_memory for source, _ in self.opened)

    def load(self) -> Callable[[], None] | None:
        """The kernels, where they will be used."""
        files = tuple(file for source, _ in self.opened for file in source.files)
        return load_kernels if worth_compiling(files, column_share(*self.opened[0])) else None

    def plan(self, executor: Executor, progress: Progress | None) -> PlannedUStat:
        """Names, types and combinations are checked; no row is read."""
        for source, read in self.opened:
            check_columns(source.reader(read), self.options)
        return PlannedUStat(self)


@dataclass
class PlannedUStat:
    """The plan of a robust U-statistic."""

    question: UStatQuestion

    def run(self, executor: Executor, progress: Progress | None, run: dict[str, Any]) -> Any:
        """Count rows, form blocks, evaluate; the result or results."""
        opened, options, seed = self.question.opened, self.question.options, self.question.seed
        if len(opened) > 1:
            run_all = run_sampled_several if options.sampled else run_samples
            found = run_all(opened, options, seed, executor, progress)
        else:
            run_one = run_sampled if options.sampled else run_ustatistic
            found = run_one(*opened[0], options, seed, executor, progress)
        files = [file for plan in found.plans for file in plan.files]
        skipped = {record.file: record for record in found.skipped}
        data = data_facts(files, skipped.values(), *(source for source, _ in opened))
        told = []
        for result in found.results:
            new = copy(result)
            vars(new).update(data=data, run=run)
            told.append(new)
        return told[0] if len(told) == 1 and not opened[0][1].by else Results(told, data, run)

    def describe(self, executor: Executor) -> dict[str, Any]:
        """Blocks, tuples, passes, memory, time; nulls, filters and groups are not known before a run."""
        options, seed = self.question.options, self.question.seed
        opened = [(source, replace(read, where=None)) for source, read in self.question.opened]
        if len(opened) > 1 and not options.sampled:
            options = numbers_of_all(opened, options, executor, None)
        samples = [
            (source, first_plan(source, read, options, seed, executor, None)) for source, read in opened
        ]
        told = _first([plan for _, plan in samples], executor)
        if options.sampled:
            told |= _sampled(opened, samples[0][1], options, seed, executor)
        else:
            told |= _second(samples, options, executor)
        return {**told, "skipped": [s._asdict() for _, plan in samples for s in plan.skipped]}


ADDED = ("n_files", "n_bytes", "n_units")


def _first(plans: list[MeanPlan], executor: Executor) -> dict[str, Any]:
    """The first passes of all samples."""
    told = [plan.describe(executor) for plan in plans]
    return {**told[0], **{name: sum(one[name] for one in told) for name in ADDED}}


def _cells(source: Source, plan: MeanPlan, options: UStatOptions, executor: Executor) -> CellMap:
    """The blocks of a sample if all its rows were complete and in one group."""
    n = int(np.maximum(count_rows(source, executor, options.rows.on_bad_file).rows, 0).sum())
    layout = plan.blocks.layout
    k = plan.blocks.n_blocks or layout.n_blocks // layout.repeats or plan.blocks.n_cells
    count = np.full((1, k), n // k, np.int64)
    count[0, : n % k] += 1
    return map_blocks(count, np.array([k]), np.zeros(1, np.bool_))


def _second(
    samples: list[tuple[Source, MeanPlan]], options: UStatOptions, executor: Executor
) -> dict[str, Any]:
    """Blocks, tuples and passes if all rows were complete and in one group."""
    kernel = options.kernel
    cells = [_cells(source, plan, options, executor) for source, plan in samples]
    plan = samples[0][1]
    width = len(plan.reduction.columns)
    n_columns, lines = (width, 1) if options.joint_rows else (1, width)
    blocks = list(zip(*(one.sizes.tolist() for one in cells), strict=True))
    complete = options.pairs == "complete"
    lines *= options.rows.repeats
    n_tuples = lines * (
        tuples_to_take(kernel, n_columns, blocks, weighted=options.weighted)
        if complete
        else sum(min(n // d for n, d in zip(sizes, kernel.degrees, strict=True)) for sizes in blocks)
    )
    n_passes, needed, spilled = 1, plan.unit_memory, None
    if not (complete and from_comoments(plan, options)):
        sizes = np.sum([one.sizes for one in cells], axis=0)
        names = plan.reader.options.value_names
        each = [names] if options.joint_rows else [(name, *names[width:]) for name in names[:width]]
        pieces = [Piece(sizes, mine, plan.reader.options.batch_rows) for mine in each]
        on_disk = not any(source.in_memory for source, _ in samples)
        regrouping = planned_regrouping(pieces * options.rows.repeats, executor, on_disk=on_disk)
        n_passes, needed, spilled = 1 + regrouping.passes, regrouping.needed, regrouping.note
    seconds = in_words(seconds_for(kernel, n_tuples, executor.threads)) if n_tuples else None
    return {
        "n_rows": int(sum(one.sizes.sum() for one in cells)),
        "kernel": kernel.name,
        "statistic": options.statistic,
        "pairs": options.pairs,
        "tuples_one_by_one": n_tuples,
        "seconds_one_by_one": seconds,
        "pair_budget": options.pair_budget,
        "affordable": affordable(options, n_tuples, cells[0].sizes.size),
        "passes": n_passes,
        "sorted_on_disk": spilled,
        "projected_memory_per_process": bytes_in_words(needed * executor.threads_per_process),
    }


def _sampled(
    opened: Sequence[tuple[Source, ReadOptions]],
    plan: MeanPlan,
    options: UStatOptions,
    seed: int,
    executor: Executor,
) -> dict[str, Any]:
    """The samples, their tuples and the passes that gather their rows."""
    if len(opened) > 1:
        width = len(plan.reduction.columns)
        n_columns, lines = (width, 1) if options.joint_rows else (1, width)
        told = planned_draws(opened, options, n_columns, lines, plan.unit_memory, executor)
    else:
        told = planned_samples(*opened[0], plan, options, seed, executor)
    needed, n_tuples = told.pop("memory"), told["tuples_one_by_one"]
    return {
        **told,
        "kernel": options.kernel.name,
        "statistic": options.statistic,
        "pairs": options.pairs,
        "seconds_one_by_one": in_words(seconds_for(options.kernel, n_tuples, executor.threads))
        if n_tuples
        else None,
        "pair_budget": options.pair_budget,
        "affordable": affordable(options, n_tuples, told["n_blocks"])
        if options.pairs == "complete"
        else None,
        "projected_memory_per_process": bytes_in_words(needed),
    }
