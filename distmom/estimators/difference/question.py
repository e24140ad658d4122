"""The question behind a difference of variants, and its plan."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

from distmom.cluster import Executor, Progress
from distmom.errors import NoAnswerError
from distmom.estimators.difference.answer import differences
from distmom.estimators.difference.crossover import without_crossover
from distmom.estimators.facts import data_facts, told
from distmom.estimators.mean.plan import MeanPlan, plan_mean
from distmom.estimators.mean.run.passes import run_plan
from distmom.estimators.options import MeanOptions
from distmom.estimators.question import RowsQuestion
from distmom.estimators.survey import PASS, Surveyor
from distmom.estimators.survey_groups import GroupSurveyor
from distmom.estimators.surveyed import marked
from distmom.lake import ReadOptions, Source
from distmom.memory import Held, Memory
from distmom.passes.opening import open_data, refuse_times
from distmom.passes.scan import Scan
from distmom.report import DifferenceResult, Results
from distmom.words import counted

LIBRARIES = 25_000_000
"""Bytes of pandas, which PyArrow loads, where it is installed, for the value of a variant."""

FINDING = "one pass more finds the units in several variants, and takes 16 bytes for each unit"


@dataclass
class DifferenceQuestion(RowsQuestion):
    """How far the variants of an experiment are from their control in one metric."""

    asks: ClassVar[str] = "difference"

    scan: Scan
    metric: str
    by: str
    denominator: str | None
    control: Any
    options: MeanOptions
    crossover: str = "keep"

    @cached_property
    def opened(self) -> tuple[Source, ReadOptions]:
        """The source, and what to read of it."""
        columns = (self.metric,) if self.denominator is None else (self.metric, self.denominator)
        return open_data(self.scan, columns, self.by, self.options.design.columns)

    def plan(self, executor: Executor, progress: Progress | None) -> PlannedDifference:
        """The pass over all variants; refuses metrics that are times."""
        source, read = self.opened
        plan = plan_mean(
            source, read, self.options, self.seed, executor, progress, self.share, few_groups=True
        )
        refuse_times(plan.reader.options, "compare numbers, such as seconds")
        libraries = Memory((Held("libraries of differences", LIBRARIES, each=False),))
        return PlannedDifference(self, replace(plan, memory=plan.check_memory(executor, libraries)))


@dataclass
class PlannedDifference:
    """The plan of a difference: one pass, after the survey."""

    question: DifferenceQuestion
    pass_: MeanPlan

    def describe(self, executor: Executor) -> dict[str, Any]:
        """Files, bytes, units, memory, blocks."""
        survey = self._surveyor(executor, None).check(self.question.scan, self.question.opened[1].columns)
        return {
            **self.pass_.describe(executor, survey),
            "survey": PASS,
            **({"crossover": FINDING} if self.question.crossover == "omit" else {}),
            "skipped": [s._asdict() for s in self.pass_.skipped],
        }

    def run(
        self, executor: Executor, progress: Progress | None, run: dict[str, Any]
    ) -> DifferenceResult | Results[DifferenceResult]:
        """Read the rows; the result or results."""
        question, plan = self.question, self.pass_
        if question.crossover != "omit":
            return self._told(question, plan, executor, progress, run)
        scan, n = without_crossover(question.scan, plan, executor, progress)
        question = question.about(scan=scan, crossover="keep")
        plan = question.plan(executor, progress).pass_
        more = (f"left out: {counted(n, 'unit')} in several variants",) if n else ()
        try:
            return self._told(question, plan, executor, progress, run, more)
        except NoAnswerError as error:
            if not n:
                raise
            raise NoAnswerError(
                f"crossover: 'omit' leaves out {counted(n, 'unit')} in several variants, and the remaining "
                "rows are too few for a difference; keep them, or check unit and by"
            ) from error

    def _told(
        self,
        question: DifferenceQuestion,
        plan: MeanPlan,
        executor: Executor,
        progress: Progress | None,
        run: dict[str, Any],
        more: tuple[str, ...] = (),
    ) -> DifferenceResult | Results[DifferenceResult]:
        """The result or results of the rows that a question means, with `more` notes."""
        seen = self._surveyor(executor, progress).survey(question.scan, question.opened[1].columns)
        if seen.scan is not question.scan:
            question = question.about(scan=seen.scan)
            plan = question.plan(executor, progress).pass_
        found, skipped = run_plan(plan, 1, executor, progress)
        answers = differences(plan, found, question.control, question.denominator)
        data = data_facts(plan.files, skipped, question.opened[0])
        by = question.by
        sides = [(seen.of({by: one.control}), seen.of({by: one.variant})) for one in answers]
        answers = [marked(one, *both) for one, both in zip(answers, sides, strict=True)]
        answers = [replace(one, notes=(*more, *one.notes)) for one in answers] if more else answers
        return told(answers, data, run)  # type: ignore[no-any-return]

    def _surveyor(self, executor: Executor, progress: Progress | None) -> Surveyor:
        """Who knows what is bad in the metric, or its denominator, of each variant."""
        question = self.question
        return GroupSurveyor(
            question.seed,
            executor,
            progress,
            experiment=True,
            design=question.options.design,
            same_files=True,
            by=question.by,
        )
