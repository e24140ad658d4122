"""The question behind a profile, and its plan."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from distmom.cluster import run_units
from distmom.cluster.work import ReadAndReduce
from distmom.estimators.describe.answer import describe_result
from distmom.estimators.describe.plan import Columns, DescribePlan, open_columns, plan_describe
from distmom.estimators.facts import data_facts
from distmom.estimators.mean.question import check_state
from distmom.estimators.options import MeanOptions
from distmom.estimators.question import RowsQuestion
from distmom.passes.opening import Names
from distmom.passes.scan import Scan
from distmom.report import DescribeResult

if TYPE_CHECKING:
    from distmom.cluster import Executor, Progress
    from distmom.cluster.work import SkippedFile
    from distmom.lake import ReadOptions, Source


@dataclass
class DescribeQuestion(RowsQuestion):
    """What the columns of a scan are like, and which files or units are not like the others."""

    scan: Scan
    columns: Names
    by: Names
    options: MeanOptions

    @cached_property
    def opened(self) -> tuple[Source, ReadOptions, Columns]:
        """The source, what to read of it, and what can be said of each column."""
        return open_columns(self.scan, self.columns, self.by)

    def plan(self, executor: Executor, progress: Progress | None) -> PlannedProfile:
        """The pass over all columns."""
        source, read, kinds = self.opened
        return PlannedProfile(
            source,
            plan_describe(source, read, kinds, self.options, self.seed, executor, progress, self.share),
        )


@dataclass
class PlannedProfile:
    """The plan of a profile: one pass."""

    source: Source
    pass_: DescribePlan

    def describe(self, executor: Executor) -> dict[str, Any]:
        """Files, bytes, units, memory, columns."""
        return self.pass_.describe(executor)

    def run(self, executor: Executor, progress: Progress | None, run: dict[str, Any]) -> DescribeResult:
        """Read the rows; the profile."""
        state, skipped = self._state(executor, progress)
        data = data_facts(self.pass_.mean.files, skipped, self.source)
        return describe_result(self.pass_, state, data, run, self.source)

    def _state(self, executor: Executor, progress: Progress | None) -> tuple[Any, list[SkippedFile]]:
        """Run the units; the merged state, and the files that were left out."""
        plan, mean = self.pass_, self.pass_.mean
        work = ReadAndReduce(
            mean.reader,
            plan.reduction,
            len(plan.by),
            mean.options.on_bad_file,  # type: ignore[arg-type]
            compiled=mean.reduction.compiled,
        )
        merge, grows = plan.reduction.merge, plan.reduction.units is not None
        found = run_units(work, mean.units, merge, executor, progress=progress, grows=grows)
        skipped = [*mean.skipped, *found.skipped]
        check_state(found.state, skipped, filtered=mean.reader.options.where is not None)
        return found.state, skipped
