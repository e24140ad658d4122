"""The question behind a robust U-statistic."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from distmom.cluster import Executor, Progress
from distmom.estimators.question import RowsQuestion
from distmom.estimators.ustat.options import UStatOptions
from distmom.estimators.ustat.plan import UStatPlan
from distmom.lake import ReadOptions, Source
from distmom.passes.opening import Names, open_data
from distmom.passes.scan import Scan


@dataclass
class UStatQuestion(RowsQuestion):
    """The robust U-statistics of columns of one or several scans, in groups or not."""

    scans: tuple[Scan, ...]
    column: Names
    by: Names
    options: UStatOptions

    @cached_property
    def opened(self) -> list[tuple[Source, ReadOptions]]:
        """The source of each sample, and what to read of it."""
        rows, joint = self.options.rows, self.options.joint_rows
        return [
            open_data(scan, self.column, self.by, rows.design.columns, joint=joint, weights=rows.weights)
            for scan in self.scans
        ]

    def plan(self, executor: Executor, progress: Progress | None) -> UStatPlan:
        """Names, types and combinations are checked; no row is read."""
        return UStatPlan(self.opened, self.options, self.seed)
