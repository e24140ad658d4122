"""Means in blocks of a given number or design, without the bad files and rows that these do not bear.

A given number of blocks, unlike the automatic rule, cannot be answered by files: random blocks all hold rows
of the bad ones. Blocks of units and samples keep neither cells of files nor the large sample of rows. So the
survey says what is bad, and the blocks are those of the rest.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from distmom.cluster import Executor, Progress
from distmom.designs.blocks import RandomBlocks
from distmom.estimators.facts import told
from distmom.estimators.mean.question import MeanQuestion, PlannedMean
from distmom.estimators.survey import BY_ROWS, PASS, Surveyor, bears
from distmom.estimators.surveyed import Survey, borne, marked
from distmom.memory import Memory
from distmom.report import Results
from distmom.report.of_many import accusing
from distmom.status import Status


@dataclass
class SurveyedMean(MeanQuestion):
    """The means of a scan; what is bad is left out where the blocks do not see to that."""

    def plan(self, executor: Executor, progress: Progress | None) -> PlannedMean:
        """The pass, with the survey around it."""
        plan = super().plan(executor, progress)
        return SurveyedPlan(self, plan.pass_, plan.filter_counts)

    @property
    def blind(self) -> bool:
        """Whether the pass of these blocks sees neither bad files nor bad shares of rows."""
        stays = not self.opened[0].one_pass and self.keeper is None and not self.opened[1].by
        return stays and self.options.design.blind

    @property
    def surveyed(self) -> bool:
        """Whether there may be a survey: not where the automatic rule repairs what can be repaired."""
        plain = self.options.design == RandomBlocks() and self.options.contamination is None
        return self.blind or (self.rereads and not plain and not self.opened[1].by)


@dataclass
class SurveyedPlan(PlannedMean):
    """The plan of means, and of the survey where their blocks ask for one."""

    question: SurveyedMean

    def describe(self, executor: Executor) -> dict[str, Any]:
        """As without a survey, and whether there is one."""
        return {**super().describe(executor), "survey": PASS if self.question.blind else None}

    def other_memory(self, executor: Executor) -> Memory:
        """That of the survey."""
        if not self.question.blind:
            return Memory()
        return self._surveyor(executor, None).check(self.question.scan, self._columns)

    def run(self, executor: Executor, progress: Progress | None, run: dict[str, Any]) -> Any:
        """The means of all rows, and again of the good ones where these blocks do not bear the others."""
        found = super().run(executor, progress, run)
        question, columns = self.question, self._columns
        if question.opened[1].by and question.rereads:
            return self._without_named(found, executor, progress, run)
        if not question.surveyed:
            return found
        results: list[Any] = list(Results.of(found))
        surveyor = self._surveyor(executor, progress)
        if question.blind:
            bad = set(surveyor.suspect(question.scan, columns))
        else:
            beyond = [Status.BREAKDOWN_POINT_EXCEEDED in one.flags for one in results]
            bad = {name for name, one in zip(columns, beyond * len(columns), strict=False) if one}
        joint = bool(question.options.joint)
        for place, names in enumerate([columns] if joint else [(name,) for name in columns]):
            if bad.intersection(names):
                first = again = results[place]
                seen = replace(surveyor.survey(question.scan, names), passed_on=(), correlated=())
                if seen.scan is not question.scan:
                    good = question.about(scan=seen.scan, column=list(names))
                    plan = MeanQuestion.plan(good, executor, progress)
                    rest: list[Any] = list(Results.of(plan.run(executor, progress, run)))
                    again = replace(rest[0], plain_estimate=first.plain_estimate)
                kept = borne(first, again, seen) if question.blind and again is not first else None
                results[place] = kept or marked(again, seen)
        return told(results, found.data, run, several=isinstance(found, Results))

    def _without_named(self, found: Any, executor: Executor, progress: Progress | None, run: Any) -> Any:
        """The groups without the files that stand out alone; a group that has no other rows as it is."""
        if not any(r.files_named for r in accusing(Results.of(found)).values()):
            return found
        results: list[Any] = list(Results.of(found))
        for name in self._columns:
            mine = [r for r in results if r.column == name]
            bad = sorted({file for r in mine if r.files_named for file in r.accused_files})
            if not bad:
                continue
            good = self.question.about(scan=self.question.scan.without(bad), column=[name])
            plan = MeanQuestion.plan(good, executor, progress)
            rest: list[Any] = list(Results.of(plan.run(executor, progress, run)))
            again = {tuple(r.group.items()): r for r in rest}
            survey = Survey(good.scan, files=tuple(bad))
            for place, first in enumerate(results):
                one = again.get(tuple(first.group.items())) if first.column == name else None
                if one is not None and one.n_rows < first.n_rows:
                    results[place] = marked(replace(one, plain_estimate=first.plain_estimate), survey)
                elif one is not None:
                    results[place] = one
        return told(results, found.data, run, several=isinstance(found, Results))

    @property
    def _columns(self) -> tuple[str, ...]:
        read = self.pass_.reader.options
        return read.columns if self.question.options.weights is None else read.columns[:-1]

    def _surveyor(self, executor: Executor, progress: Progress | None) -> Surveyor:
        options, lists = self.question.options, bool(self.pass_.reader.options.vectors)
        design = options.design if options.design.of_units else BY_ROWS
        return Surveyor(self.question.seed, executor, progress, bears(options), design=design, lists=lists)
