"""The question behind a robust U-statistic, and its plan, which refuses excessive work beforehand."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from distmom.checks import names_of
from distmom.cluster import Executor, Progress
from distmom.cluster.memory import told_memory
from distmom.errors import NoAnswerError
from distmom.estimators.facts import facts_of_samples, told
from distmom.estimators.mean.plan import MeanPlan
from distmom.estimators.question import RowsQuestion
from distmom.estimators.survey import BY_ROWS, PASS, Surveyor, bears
from distmom.estimators.survey_groups import GroupSurveyor
from distmom.estimators.surveyed import borne, marked
from distmom.estimators.ustat.answer import refuse_none
from distmom.estimators.ustat.cells import expected_cells
from distmom.estimators.ustat.cost import in_words, seconds_for
from distmom.estimators.ustat.draws import Draws, planned_draws
from distmom.estimators.ustat.options import UStatOptions
from distmom.estimators.ustat.partition import PartitionPlan, run_partition
from distmom.estimators.ustat.sampled import run_sampled
from distmom.estimators.ustat.samples import (
    check_samples,
    first_pass,
    numbers_of_all,
    plan_passes,
    run_passes,
)
from distmom.lake import ReadOptions, Source
from distmom.memory import Memory
from distmom.numerics.kernels.evaluate import one_by_one
from distmom.passes.census import Census, count_rows
from distmom.passes.opening import Names, open_data
from distmom.passes.riding import Rider
from distmom.passes.scan import Scan
from distmom.report import Results

ADDED = ("n_files", "n_bytes", "n_units")
"""Figures in the plans of the passes over each sample that are added up."""


@dataclass
class UStatQuestion(RowsQuestion):
    """The robust U-statistics of columns of one or several scans, with or without groups; and their plan."""

    scans: tuple[Scan, ...]
    column: Names
    by: Any
    options: UStatOptions
    labels: tuple[str, ...] = ()  # names of several samples

    @property
    def asks(self) -> str:
        """The kernel's name."""
        return self.options.kernel.name

    @cached_property
    def opened(self) -> list[tuple[Source, ReadOptions]]:
        """The source of each sample, and what to read from it."""
        rows, joint = self.options.rows, self.options.joint_rows
        return [
            open_data(scan, self.column, self.by, rows.design.columns, joint=joint, weights=rows.weights)
            for scan in self.scans
        ]

    def plan(self, executor: Executor, progress: Progress | None) -> UStatQuestion:
        """Check names, types and combinations, without reading rows."""
        check_samples(self.opened, self.options)
        return self

    def describe(self, executor: Executor) -> dict[str, Any]:
        """Blocks, tuples, passes, memory, time."""
        told, memory = self.looked(executor)
        return {**told, **told_memory(memory, executor)}

    def looked(self, executor: Executor) -> tuple[dict[str, Any], Memory]:
        """The same with the memory object, as if all rows were complete and in one group."""
        samples = [(source, replace(read, where=None)) for source, read in self.opened]
        options = numbers_of_all(samples, self.options, executor, None)
        plans = plan_passes(samples, options, self.seed, executor, None)
        begun = Begun(self, options, plans, None)
        surveyed, rider, memory = begun.surveyed, begun.rider(), Memory()
        for scan in self.scans if surveyed else ():
            survey = self._surveyor(executor, None).check(scan, plans[0].reader.options.columns)
            survey = survey if rider is None else survey + rider.memory
            memory = memory.or_larger(survey, executor.threads_per_process)
        first = [plan.describe(executor) for plan in plans]
        width = len(plans[0].reduction.columns)
        n_columns, lines = (width, 1) if options.joint_rows else (1, width)
        ahead = self._ahead(plans, self._census(executor), options)
        later = ahead.describe(options, n_columns, lines, plans[0].memory, executor)
        memory = memory.or_larger(later.pop("memory"), executor.threads_per_process)
        n_tuples = later["tuples_one_by_one"]
        seconds = in_words(seconds_for(options.kernel, n_tuples, executor.threads)) if n_tuples else None
        told = {
            **first[0],
            **{name: sum(one[name] for one in first) for name in ADDED},
            **later,
            "kernel": options.kernel.name,
            "statistic": options.statistic,
            "pairs": options.pairs.name,
            "survey": PASS if surveyed else None,
            "seconds_one_by_one": seconds,
            "pair_budget": options.pair_budget,
            "skipped": [record._asdict() for plan in plans for record in plan.skipped],
        }
        return told, memory

    def run(self, executor: Executor, progress: Progress | None, run: dict[str, Any]) -> Any:
        """Survey, count rows, form blocks, evaluate: one result for each column (set) and group."""
        found = self._run(executor, progress, run)
        refuse_none(list(Results.of(found)), self.options.kernel.degrees)
        return found

    def _run(self, executor: Executor, progress: Progress | None, run: dict[str, Any]) -> Any:
        """The results, finite or not."""
        begun = self._begin(executor, progress)
        if not begun.surveyed:
            return begun.finish(executor, progress, run)
        samples = self.opened
        rider = begun.rider()
        surveyor = self._surveyor(executor, progress, rider)
        sets = self.options.column_sets(samples[0][1])
        suspects = {name for scan in self.scans for name in surveyor.suspect(scan, sum(sets, ()))}
        if not suspects:
            return begun.finish(executor, progress, run, None if rider is None else rider.state)
        seen = {
            columns: [surveyor.survey(scan, columns) for scan in self.scans]
            for columns in sets
            if suspects.intersection(columns)
        }
        repaired = {
            columns: tuple(one.scan for one in found)
            for columns, found in seen.items()
            if any(one.scan is not scan for one, scan in zip(found, self.scans, strict=True))
        }
        each: dict[tuple[str, ...], list[Any]] = {}
        for scans, mine in [
            (self.scans, [columns for columns in sets if columns not in repaired]),
            *[(scans, [columns]) for columns, scans in repaired.items()],
        ]:
            if mine:
                question = self.about(scans=scans, column=[name for columns in mine for name in columns])
                found = list(Results.of(question._begin(executor, progress).finish(executor, progress, run)))
                n = len(found) // len(mine)  # groups
                each |= {columns: found[i * n : (i + 1) * n] for i, columns in enumerate(mine)}
        results: list[Any] = []
        for columns in sets:
            first = self._first(columns, executor, progress, run) if columns in repaired else ()
            for i, one in enumerate(each[columns]):
                told_of = [survey.of(one.group) for survey in seen.get(columns, ())]
                kept = borne(first[i], one, *told_of) if len(first) == len(each[columns]) else None
                results.append(kept or marked(one, *told_of))
        return told(results, each[sets[0]][0].data, run, several=bool(samples[0][1].by))

    def _first(
        self, columns: tuple[str, ...], executor: Executor, progress: Progress | None, run: dict[str, Any]
    ) -> Sequence[Any]:
        """The statistic of all rows in blocks of units, which may tolerate what another one leaves out."""
        if not self.options.rows.design.of_units:
            return ()
        with suppress(NoAnswerError):
            begun = self.about(column=list(columns))._begin(executor, progress)
            return list(Results.of(begun.finish(executor, progress, run)))
        return ()

    def _surveyor(
        self, executor: Executor, progress: Progress | None, rider: Rider | None = None
    ) -> Surveyor:
        """The survey that finds bad rows and files, in each group if any; a rider shares its first pass."""
        options, (source, read) = self.options, self.opened[0]
        design = options.rows.design if options.rows.design.of_units else BY_ROWS
        some, first = bears(options.rows, options.few_blocks), self.scans[0].data
        how: dict[str, Any] = {"design": design}
        how["same_files"] = len(self.scans) > 1 and all(scan.data is first for scan in self.scans)
        if names_of("by", self.by):
            return GroupSurveyor(self.seed, executor, progress, some, by=self.by, **how)
        lists = bool(source.reader(read).options.vectors)
        how["riders"] = lambda scan, _: rider if scan is self.scans[0] else None
        return Surveyor(self.seed, executor, progress, some, lists=lists, **how)

    def _begin(self, executor: Executor, progress: Progress | None) -> Begun:
        """Plan the passes, and refuse excessive work."""
        options = numbers_of_all(self.opened, self.options, executor, progress)
        plans = plan_passes(self.opened, options, self.seed, executor, progress)
        return Begun(self, options, plans, self._refuse(plans, options, executor))

    def _refuse(
        self, plans: Sequence[MeanPlan], options: UStatOptions, executor: Executor
    ) -> list[Census] | None:
        """Refuse excessive work, judged by footers, before reading; return the row counts, if known.

        Footers do not cover filters and groups.
        """
        n_columns = len(plans[0].reduction.columns) if options.joint_rows else 1
        slow = options.complete and one_by_one(options.kernel, n_columns, weighted=options.weighted)
        plain = all(read.where is None and not read.by for _, read in self.opened)
        if not plain or not (slow or options.sampled or options.by_paper):
            return None
        census = self._census(executor)
        if all((one.rows > 0).any() for one in census):  # otherwise a pass reports why there are no rows
            self._ahead(plans, census, options).check(options, executor.threads)
        return census

    def _census(self, executor: Executor) -> list[Census]:
        """The rows of the files of each sample."""
        return [count_rows(source, executor, self.options.rows.on_bad_file) for source, _ in self.opened]

    def _ahead(
        self, plans: Sequence[MeanPlan], census: Sequence[Census], options: UStatOptions
    ) -> PartitionPlan | Draws:
        """What follows the first passes if all rows are complete and in one group."""
        plan, file_rows = plans[0], [np.maximum(one.rows, 0) for one in census]
        n_rows = [int(rows.sum()) for rows in file_rows]
        if options.sampled:
            return planned_draws(options, plan, file_rows, n_rows, self.seed)
        return PartitionPlan(plan, expected_cells(plans, n_rows, options.kernel.degrees), self.in_memory)


@dataclass(frozen=True)
class Begun:
    """A question with planned passes that was not refused."""

    question: UStatQuestion
    options: UStatOptions
    plans: list[MeanPlan]
    census: list[Census] | None

    @property
    def surveyed(self) -> bool:
        """Whether bad rows are left out; not for lists in groups, whose elements cannot have conditions."""
        reads = [plan.reader.options for plan in self.plans]
        return not reads[0].by or all(r.columns == r.value_names for r in reads)

    def rider(self) -> Rider | None:
        """The first pass, if it can share that of the survey: for one sample without groups or units."""
        plan, *others = self.plans
        read, reduction = plan.reader.options, plan.reduction
        if others or read.by or read.units or plan.skipped or reduction.layout.window is not None:
            return None
        return Rider(read.columns, *first_pass(plan, self.options))

    def finish(
        self, executor: Executor, progress: Progress | None, run: dict[str, Any], known: Any = None
    ) -> Any:
        """Count rows, form blocks, evaluate; `known` is the result of the first pass, if it is finished."""
        samples, options, seed = self.question.opened, self.options, self.question.seed
        passes = run_passes(samples, self.plans, options, executor, progress, known)
        if options.sampled:
            results = run_sampled(passes, self.census, options, seed, executor, progress)
        else:
            results = run_partition(passes, options, executor, progress)
        for one in results:  # in place, as there may be many
            vars(one).update(samples=self.question.labels)
        data = facts_of_samples([scan.data for scan in self.question.scans], passes)
        return told(results, data, run, several=bool(samples[0][1].by))
