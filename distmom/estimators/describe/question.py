"""The question behind a profile, and its plan: one pass over all columns."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from distmom.cluster import check_memory, run_units
from distmom.cluster.work import ReadAndReduce
from distmom.estimators.describe.answer import describe_result
from distmom.estimators.describe.columns import Columns, Naming, number_files, open_columns
from distmom.estimators.facts import data_facts
from distmom.estimators.mean.counts import check_state
from distmom.estimators.mean.plan import MeanPlan, plan_mean
from distmom.estimators.options import MeanOptions
from distmom.estimators.question import RowsQuestion
from distmom.passes.opening import Names
from distmom.passes.scan import Scan
from distmom.reductions.block_means import BlockMeans
from distmom.reductions.layouts import FileLayout
from distmom.reductions.profile import Profile
from distmom.report import DescribeResult

if TYPE_CHECKING:
    from distmom.cluster import Executor, Progress
    from distmom.lake import ReadOptions, Source

SAMPLE = 16_384
"""Rows from which Gini's mean difference is taken."""


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

    def plan(self, executor: Executor, progress: Progress | None) -> DescribePlan:
        """Plan the robust means without groups, and what rides along."""
        source, read, columns = self.opened
        plan = plan_mean(
            source, read, self.options, self.seed, executor, progress, self.share, units_ride=True
        )
        naming, blocks = number_files(plan.files), plan.reduction
        of_units = _of_units(blocks, executor) if read.by and columns.measured else None
        reduction = Profile(blocks, len(columns.counted), SAMPLE, of_units)
        units = tuple(
            replace(u, window=naming.numbers[u.first_file : u.first_file + len(u.files)]) for u in plan.units
        )
        most = max((len(u.files) for u in units), default=0)
        memory = plan.unit_memory + 4 * reduction.state_bytes(most)
        worst = max(units, key=lambda u: u.n_bytes, default=None)
        name = "the data" if worst is None else worst.name
        check_memory(memory, executor.threads_per_process, executor.memory, name)
        mean = replace(plan, units=units, unit_memory=memory)
        return DescribePlan(source, mean, reduction, columns, naming, read.by)


@dataclass(frozen=True)
class DescribePlan:
    """Everything a profile needs."""

    source: Source
    mean: MeanPlan
    reduction: Profile
    columns: Columns
    naming: Naming
    by: tuple[str, ...]

    def describe(self, executor: Executor) -> dict[str, Any]:
        """Files, bytes, units, memory, columns."""
        return {
            **self.mean.describe(executor),
            "n_columns": len(self.columns.types),
            "n_measured": len(self.columns.measured),
            "folders": self.naming.folders or None,
            "skipped": [s._asdict() for s in self.mean.skipped],
        }

    def run(self, executor: Executor, progress: Progress | None, run: dict[str, Any]) -> DescribeResult:
        """Read the rows; the profile."""
        mean = self.mean
        work = ReadAndReduce(
            mean.reader,
            self.reduction,
            len(self.by),
            mean.options.on_bad_file,  # type: ignore[arg-type]
            compiled=mean.reduction.compiled,
        )
        merge, grows = self.reduction.merge, self.reduction.units is not None
        found = run_units(work, mean.units, merge, executor, progress=progress, grows=grows)
        skipped = [*mean.skipped, *found.skipped]
        check_state(found.state, skipped, filtered=mean.reader.options.where is not None)
        return describe_result(self, found.state, data_facts(mean.files, skipped, self.source), run)


def _of_units(blocks: BlockMeans, executor: Executor) -> BlockMeans:
    """Sums by units: one cell for all rows of a group."""
    most_bytes = executor.memory // (2 * executor.threads_per_process)
    layout = FileLayout()
    return replace(blocks, layout=layout, n_cells=1, sample_size=0, grouped=True, most_bytes=most_bytes)
