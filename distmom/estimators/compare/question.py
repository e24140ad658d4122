"""The question behind a comparison of two samples, and its plan."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

from distmom.checks import names_of
from distmom.cluster import Executor, Progress
from distmom.cluster.memory import told_memory
from distmom.errors import ConfigError
from distmom.estimators.compare.answer import adjusted, compared
from distmom.estimators.compare.options import Compared, CompareOptions
from distmom.estimators.compare.permuted import Tested, bandwidth_of, draw_rows, permuted_test
from distmom.estimators.facts import facts_of_samples, told
from distmom.estimators.question import RowsQuestion
from distmom.estimators.samples import Sample, plan_values, samples_by
from distmom.estimators.survey import PASS, Surveyor
from distmom.estimators.surveyed import Survey, marked
from distmom.estimators.ustat.answer import refuse_none
from distmom.estimators.ustat.partition import PartitionQuestions, sample_question
from distmom.estimators.ustat.question import UStatQuestion
from distmom.estimators.ustat.samples import Pass, check_samples, plan_passes, run_passes
from distmom.lake import ReadOptions, Source
from distmom.memory import Memory
from distmom.numerics.kernels.catalogue import auc
from distmom.passes.block_pass import run_blocks
from distmom.passes.opening import Names, open_data
from distmom.passes.scan import Scan
from distmom.report import CompareResult, Results

Opened = Sequence[tuple["Source", "ReadOptions"]]


@dataclass
class CompareQuestion(RowsQuestion):
    """Whether columns have one distribution in two samples; and the plan of the answer."""

    asks: ClassVar[str] = "compare"

    samples: tuple[Sample, ...]  # both; or the whole, of which two values of the column `by` make the samples
    column: Names
    by: str | None
    values: Sequence[Any] | None  # these values, where there are more than two
    options: CompareOptions

    @cached_property
    def opened(self) -> Opened:
        """The rows of each sample."""
        return self.open(self.samples)

    def open(self, samples: Sequence[Sample]) -> Opened:
        """The rows of each of these samples."""
        units = self.options.means.rows.design.columns
        opened = [open_data(one.scan, self.column, None, units) for one in samples]
        if any(source.one_pass for source, _ in opened):
            raise ConfigError(
                "data: a comparison reads its rows several times, and a stream can be read only once; "
                "give a table, or write the stream to Parquet files"
            )
        columns = opened[0][1].columns
        if names_of("column", self.column) == () and any(read.columns != columns for _, read in opened):
            raise ConfigError("column: the samples have different columns; name those to compare")
        return opened

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that are compared."""
        return self.opened[0][1].columns

    def plan(self, executor: Executor, progress: Progress | None) -> CompareQuestion:
        """Names, types and combinations are checked; no row is read."""
        check_samples(self.opened, self.options.means)
        if self.by is not None:  # its name and type too
            source, read = open_data(self.samples[0].scan, self.columns[0], self.by)
            source.reader(read)
        return self

    def describe(self, executor: Executor) -> dict[str, Any]:
        """The plan of the first column's difference of means; with `by` as if both samples had all rows."""
        options = self.options
        scans = tuple(one.scan for one in self.samples) * (1 if self.by is None else 2)
        memory = Memory()
        if self.by is not None:  # what its pass needs is refused here too
            memory = plan_values(scans[0], self.columns[0], self.by, executor, None).memory
        survey = Surveyor(self.seed, executor, None).check(scans[0], self.columns)
        first = UStatQuestion(scans, self.columns[0], None, options.means, rng=self.seed)
        plan, means = first.plan(executor, None).looked(executor)
        for other in (survey, means, self._of_ranks(scans, executor)):
            memory = memory.or_larger(other, executor.threads_per_process)
        plan.pop("kernel")
        return {
            **plan,
            **told_memory(memory, executor),
            "survey": PASS,
            "columns": list(self.columns),
            "statistics": [one.name for one in options.statistics],
            "test_rows": options.test.rows,
            "n_permutations": options.test.n,
        }

    def _of_ranks(self, scans: tuple[Scan, ...], executor: Executor) -> Memory:
        """What the pass takes that brings rows of blocks together: for all but differences of means."""
        kernels = [auc() for one in self.options.statistics if one.name != "mean"]
        if not kernels:
            return Memory()
        ranks = UStatQuestion(scans, self.columns, None, replace(self.options.means, kernel=kernels[0]))
        return ranks.plan(executor, None).looked(executor)[1].times(len(kernels), "rows of blocks")

    def run(
        self, executor: Executor, progress: Progress | None, run: dict[str, Any]
    ) -> CompareResult | Results[CompareResult]:
        """Find the samples, count their rows, draw those of the test, evaluate blocks."""
        samples = self.samples
        more: tuple[str, ...] = ()
        if self.by is not None:
            samples, more = samples_by(
                samples[0].scan, self.columns[0], self.by, self.values, executor, progress
            )
        columns, seen = self.columns, self._survey(samples, executor, progress)
        each: dict[str, list[CompareResult]] = {}
        every: list[Pass] = []
        repaired = {
            name: tuple(s._replace(scan=f.scan) for s, f in zip(samples, found, strict=True))
            for name, found in seen.items()
            if any(s.scan is not f.scan for s, f in zip(samples, found, strict=True))
        }
        as_they_are = tuple(name for name in columns if name not in repaired)
        for mine in [*((name,) for name in repaired), as_they_are]:
            if mine:
                now = repaired.get(mine[0], samples)
                question = self.about(samples=now, by=None, column=list(mine))
                results, passes = question._compared(executor, progress)
                each |= {name: [r for r in results if r.column == name] for name in mine}
                every += passes
        found_all = adjusted([one for name in columns for one in each[name]])
        refuse_none(found_all, (1, 1))
        told_all = [
            marked(replace(one, notes=(*one.notes, *more)), *seen.get(one.column, ())) for one in found_all
        ]
        return told(told_all, facts_of_samples([one.scan.data for one in samples], every), run)  # type: ignore[no-any-return]

    def _survey(
        self, samples: Sequence[Sample], executor: Executor, progress: Progress | None
    ) -> dict[str, list[Survey]]:
        """What is bad in the columns with something bad in either sample."""
        design, same = self.options.means.rows.design, samples[0].scan.data is samples[1].scan.data
        surveyor = Surveyor(self.seed, executor, progress, experiment=True, design=design, same_files=same)
        suspects = {name for one in samples for name in surveyor.suspect(one.scan, self.columns)}
        return {
            name: [surveyor.survey(one.scan, [name]) for one in samples]
            for name in self.columns
            if name in suspects
        }

    def _compared(
        self, executor: Executor, progress: Progress | None
    ) -> tuple[list[CompareResult], list[Pass]]:
        """The results, not yet adjusted for each other, and the passes that they are from."""
        samples, opened, means = self.samples, self.opened, self.options.means
        plans = plan_passes(opened, means, self.seed, executor, progress)
        passes = run_passes(opened, plans, means, executor, progress)
        asked, tests = self._asked(passes, executor, progress)
        states = run_blocks([question for one in asked for question in one.questions], executor, progress)
        results = []
        for (name, statistic, tested, place), one, state in zip(tests, asked, states, strict=True):
            (found,) = one.results([state], name)
            results.append(compared(found, statistic, samples, tested, place, self.options.test.n))
        return results, passes

    def _asked(
        self, passes: Sequence[Pass], executor: Executor, progress: Progress | None
    ) -> tuple[list[PartitionQuestions], list[tuple[str, Compared, Tested, int]]]:
        """What the blocks of every column are asked for each statistic, and what its test says."""
        options, seed = self.options, self.seed
        asked, tests = [], []
        for c, name in enumerate(self.columns):
            mine = [one.column(c) for one in passes]
            plans = [
                replace(
                    one.plan,
                    reader=one.source.reader(replace(one.read, columns=(name,))),
                    reduction=replace(one.plan.reduction, seed=seed),  # units have one hash in both samples
                )
                for one in mine
            ]
            rows = draw_rows(plans, options.test.rows, seed, executor, progress)
            width = bandwidth_of(rows)
            statistics = [one.at(width) for one in options.statistics]
            by_units = options.means.rows.design.of_units
            tested = permuted_test(rows, statistics, options.test.n, seed, by_units=by_units)
            for place, one in enumerate(statistics):
                asked.append(sample_question(mine, options.of(one), executor))
                tests.append((name, one, tested, place))
        return asked, tests
