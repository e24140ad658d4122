"""Samples defined by the values of a column of one lake, such as scores by label."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from distmom.cluster import Executor, Progress
from distmom.errors import ConfigError
from distmom.estimators.facts import told
from distmom.estimators.samples import (
    Sample,
    Split,
    are_lakes,
    check_values,
    plan_values,
    samples_by,
    samples_of,
)
from distmom.estimators.ustat.question import UStatQuestion
from distmom.numerics.kernels.kernel import Kernel
from distmom.passes.opening import open_data
from distmom.passes.scan import as_scan
from distmom.report import Results


def samples_of_kernel(
    data: Any, by: Any, where: Any, kernel: Kernel
) -> tuple[tuple[Sample, ...], Split | None]:
    """The number of samples that a kernel takes, and the column that splits one lake into them, if any.

    `by` defines samples rather than groups if it lists values, or if the data are not that many lakes. For an
    object that is not a kernel, which is refused later, the number is one. ConfigError if the kernel takes
    several samples and these are ambiguous.
    """
    n = len(kernel.degrees) if isinstance(kernel, Kernel) else 1
    valued = isinstance(by, Mapping)
    if n == 1:
        if valued:
            raise ConfigError(f"by: kernel {kernel.name!r} takes one sample; name columns, or use where")
        return (Sample(as_scan(data, where), ""),), None
    conditions = isinstance(where, (list, tuple))
    if by is not None and (valued or not (conditions or are_lakes(data, n))):
        split = _split(by, kernel)
        check_values(split.values, split.column, n)
        samples_of(data, split.column, where, n)
        return (Sample(as_scan(data, where), ""),) * n, split
    found = samples_of(data, None, where, n, f"kernel {kernel.name!r}")
    assert found is not None
    return found, None


def _split(by: Any, kernel: Kernel) -> Split:
    """The one column that defines the samples."""
    names = list(by) if isinstance(by, (list, tuple, Mapping)) else [by]
    if len(names) != 1 or not isinstance(names[0], str):
        raise ConfigError(
            f"by: with one lake it separates the samples of kernel {kernel.name!r}, so it must be one "
            f"column, not {by!r}; for groups, give a condition for each sample in where"
        )
    return Split(names[0], by[names[0]] if isinstance(by, Mapping) else None)


@dataclass(kw_only=True)
class ValuesQuestion(UStatQuestion):
    """A U-statistic of several samples defined by the values of a column of one lake; and its plan."""

    split: Split

    def plan(self, executor: Executor, progress: Progress | None) -> ValuesQuestion:
        """Check names, types and combinations, including those of the column that defines the samples."""
        super().plan(executor, progress)
        source, read = open_data(self.scans[0], self.opened[0][1].columns, self.split.column)
        source.reader(read)
        return self

    def describe(self, executor: Executor) -> dict[str, Any]:
        """The plan as if each sample had all rows, after a pass that finds the values."""
        self._plan_values(executor, None)
        return super().describe(executor)

    def run(self, executor: Executor, progress: Progress | None, run: dict[str, Any]) -> Any:
        """Find the samples; then continue as for separate lakes."""
        scan, n = self.scans[0], len(self.scans)
        column = self.opened[0][1].columns[0]
        samples, note = samples_by(scan, column, *self.split, executor, progress, n)
        scans, labels = zip(*samples, strict=True)
        question = UStatQuestion(scans, self.column, self.by, self.options, labels, rng=0)
        question.seed = self.seed  # a generator must not be used twice
        found = question.plan(executor, progress).run(executor, progress, run)
        results = list(Results.of(found))
        each = [replace(one, notes=(*one.notes, *note)) for one in results] if note else results
        return told(each, results[0].data, run, several=isinstance(found, Results))

    def _plan_values(self, executor: Executor, progress: Progress | None) -> None:
        plan_values(self.scans[0], self.opened[0][1].columns[0], self.split.column, executor, progress)
