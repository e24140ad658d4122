"""The question behind a difference of variants, and its plan."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from distmom.estimators.difference.answer import differences
from distmom.estimators.facts import data_facts
from distmom.estimators.mean.plan import MeanPlan, plan_mean, worth_compiling
from distmom.estimators.mean.question import run_plan
from distmom.estimators.options import MeanOptions
from distmom.numerics.random.philox import resolve_seed
from distmom.passes.census import column_share
from distmom.passes.opening import open_data, refuse_times
from distmom.passes.scan import Scan
from distmom.reductions.block_means import load_kernels
from distmom.report import DifferenceResult, Results

if TYPE_CHECKING:
    from distmom.cluster import Executor, Progress
    from distmom.lake import ReadOptions, Source


@dataclass
class DifferenceQuestion:
    """How far the variants of an experiment are from their control in one metric."""

    scan: Scan
    metric: str
    by: str
    denominator: str | None
    control: Any
    options: MeanOptions
    rng: Any = None
    seed: int = field(init=False)
    shown_seed: int | str = field(init=False)

    def __post_init__(self) -> None:
        self.seed, self.shown_seed = resolve_seed(self.rng)

    @cached_property
    def opened(self) -> tuple[Source, ReadOptions]:
        """The source, and what to read of it."""
        columns = (self.metric,) if self.denominator is None else (self.metric, self.denominator)
        return open_data(self.scan, columns, self.by, self.options.design.columns)

    @property
    def in_memory(self) -> bool:
        """Whether the data is in this process."""
        return self.opened[0].in_memory

    def load(self) -> Callable[[], None] | None:
        """The kernels, where they will be used."""
        source, read = self.opened
        return load_kernels if worth_compiling(source.files, column_share(source, read)) else None

    def plan(self, executor: Executor, progress: Progress | None) -> PlannedDifference:
        """The pass over all variants; refuses metrics that are times."""
        source, read = self.opened
        share = column_share(source, read)
        plan = plan_mean(source, read, self.options, self.seed, executor, progress, share, few_groups=True)
        refuse_times(plan.reader.options, "compare numbers, such as seconds")
        return PlannedDifference(self, plan)


@dataclass
class PlannedDifference:
    """The plan of a difference: one pass."""

    question: DifferenceQuestion
    pass_: MeanPlan

    def describe(self, executor: Executor) -> dict[str, Any]:
        """Files, bytes, units, memory, blocks."""
        return {
            **self.pass_.describe(executor),
            "skipped": [s._asdict() for s in self.pass_.skipped],
        }

    def run(
        self, executor: Executor, progress: Progress | None, run: dict[str, Any]
    ) -> DifferenceResult | Results:
        """Read the rows; the result or results."""
        question = self.question
        found, skipped = run_plan(self.pass_, 1, executor, progress)
        answers = differences(self.pass_, found, question.control, question.denominator)
        data = data_facts(self.pass_.files, skipped, question.opened[0])
        told = [replace(r, data=data, run=run) for r in answers]
        return told[0] if len(told) == 1 else Results(told, data, run)
