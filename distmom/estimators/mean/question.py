"""The question behind a robust mean, and its plan: what `distmom.mean` plans, explains and runs."""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import chain
from typing import TYPE_CHECKING, Any, ClassVar

from distmom.checks import names_of
from distmom.cluster.work import SkippedFile
from distmom.errors import ConfigError
from distmom.estimators.command import explaining
from distmom.estimators.describe.named_files import name_files
from distmom.estimators.facts import data_facts, told
from distmom.estimators.mean.answer import AnswerColumns, in_one, results_of
from distmom.estimators.mean.blocks import needs_passing_rows
from distmom.estimators.mean.checkpoint import Keeper
from distmom.estimators.mean.far_groups import GroupsLook, cuts_of_groups, look_at_groups
from distmom.estimators.mean.far_rows import cuts_of, looks_of
from distmom.estimators.mean.plan import MeanPlan, plan_mean
from distmom.estimators.mean.run.passes import OwnCuts, mounted, run_plan, run_with, within_cuts
from distmom.estimators.mean.run.ranges import answers_by_ranges
from distmom.estimators.mean.state import KIND
from distmom.estimators.options import MeanOptions
from distmom.estimators.question import RowsQuestion
from distmom.estimators.whose import whose
from distmom.inference.share.look import Look
from distmom.memory import Memory
from distmom.numerics.random.philox import resolve_seed
from distmom.passes.key_ranges import most_groups
from distmom.passes.opening import Names, open_data
from distmom.passes.riding import Rider
from distmom.passes.scan import Scan
from distmom.reductions.block_means import TooManyGroups
from distmom.report import Results
from distmom.state import open_checkpoint

if TYPE_CHECKING:
    from distmom.cluster import Executor, Progress
    from distmom.estimators.mean.manifest import Ledger
    from distmom.lake import ReadOptions, Source


SECOND = "a second pass follows if rows are screened out"
"""The remark in plans on data that can be read again."""


@dataclass
class MeanQuestion(RowsQuestion):
    """The robust means of columns of a scan, with or without groups.

    Attributes
    ----------
    scan : Scan
    column, by : names
    options : MeanOptions
    rng : object
    state : str, path or State, optional
    memory_limit : int or str, optional
        Memory limit of the process that keeps the state.
    few_groups : bool
        Whether each group gets as many blocks as a whole lake.
    rider : Rider, optional
        Further sums in the same pass, for data without groups that can be read again.
    """

    asks: ClassVar[str] = "mean"

    scan: Scan
    column: Names
    by: Names
    options: MeanOptions
    state: Any = None
    memory_limit: int | str | None = None
    few_groups: bool = False
    rider: Rider | None = None
    keeper: Keeper | None = field(init=False)

    def __post_init__(self) -> None:
        if self.state is not None and self.options.passes == 2:
            raise ConfigError(
                "passes=2 cannot be combined with state: a state does not hold the rows; drop one"
            )
        if not names_of("by", self.by):
            self.options = self.options.by_window()
        checkpoint = open_checkpoint(self.state, KIND, self.memory_limit)
        self.keeper = None if checkpoint is None else Keeper(checkpoint)
        seed = resolve_seed if checkpoint is None else checkpoint.seed
        self.seed, self.shown_seed = seed(self.rng)

    @cached_property
    def opened(self) -> tuple[Source, ReadOptions]:
        """The source, and what to read from it; both have been compared with the saved state, if any."""
        joint = bool(self.options.joint)
        source, read = open_data(
            self.scan,
            self.column,
            self.by,
            self.options.design.columns,
            joint=joint,
            weights=self.options.weights,
        )
        if self.keeper is not None:
            read = self.keeper.begin(self.scan.data, source, read, self.options, self.seed, self.shown_seed)
        return source, read

    @property
    def rereads(self) -> bool:
        """Whether all rows can, and may, be read again."""
        source, _ = self.opened
        if source.one_pass or self.keeper is not None:
            return False
        return source.in_memory or self.options.passes != 1

    @property
    def ledger(self) -> Ledger | None:
        """The part of the source that a saved state contains already."""
        return None if self.keeper is None else self.keeper.ledger

    def plan(self, executor: Executor, progress: Progress | None) -> PlannedMean:
        """The pass, its blocks and units; without the filter if blocks depend on how many rows pass."""
        source, read = self.opened
        later = needs_passing_rows(self.options) and read.where is not None
        if later:
            source.reader(read)  # names and the condition are checked with the filter still in place
        ledger = self.ledger
        if later and not explaining():  # the content of the state is taken up by the plan that runs
            ledger = copy.deepcopy(ledger)
        first = self.planned(executor, None, replace(read, where=None) if later else read, ledger)
        return PlannedMean(self, first, filter_counts=later)

    def planned(
        self, executor: Executor, progress: Progress | None, read: ReadOptions, ledger: Ledger | None
    ) -> MeanPlan:
        """The pass over the data that is not in the ledger yet."""
        source = self.opened[0]
        how = {"few_groups": self.few_groups, "pooled": True}
        return plan_mean(source, read, self.options, self.seed, executor, progress, self.share, ledger, **how)


@dataclass
class PlannedMean:
    """The plan of a robust mean; with `filter_counts`, rows that pass the filter are counted first."""

    question: MeanQuestion
    pass_: MeanPlan
    filter_counts: bool

    def describe(self, executor: Executor) -> dict[str, Any]:
        """Files, bytes, units, memory, blocks."""
        told = self.pass_.describe(executor, self.other_memory(executor))
        keeper = self.question.keeper
        if keeper is not None:
            keeper.check(self.pass_)
            told["n_files_to_read"] = len(keeper.ledger.unread())
        told["skipped"] = [s._asdict() for s in self.pass_.skipped]
        told["filter"] = (
            "the rows that pass the filter are counted when it runs; the numbers here are those without it"
            if self.filter_counts
            else None
        )
        told["second_pass"] = SECOND if self.question.rereads else None
        return told

    def other_memory(self, executor: Executor) -> Memory:
        """Memory of other passes; nothing if it is the same."""
        return Memory()

    def run(self, executor: Executor, progress: Progress | None, run: dict[str, Any]) -> Any:
        """Read the rows; the result or results."""
        question = self.question
        source, read = question.opened
        plan = (
            question.planned(executor, progress, read, question.ledger) if self.filter_counts else self.pass_
        )
        ranges: dict[str, Any] = {}
        if self._by_ranges(plan):
            sizes = plan.reduction.state_bytes(), len(plan.units)
            few = most_groups(executor, plan.memory, *sizes)
            limited = replace(plan, reduction=replace(plan.reduction, most_groups=few))
            try:
                parts, skipped = self._at_once(limited, executor, progress)
            except TooManyGroups:
                found = answers_by_ranges(
                    plan, len(read.by), executor, progress, partial(self._looks, plan), self._cuts
                )
                parts, skipped = found.parts, found.skipped
                ranges = {"keys": found.keys, "let_go": found.let_go}
        else:
            parts, skipped = self._at_once(plan, executor, progress)
        data = data_facts(plan.files, skipped, source)
        if question.keeper is not None:
            data["state"] = question.keeper.facts()
        listed = question.column is not None and not isinstance(question.column, str)
        results = in_one(plan, parts, data, run, listed=listed, **ranges)
        if source.one_pass or question.keeper is not None:
            return results
        several = isinstance(results, Results)
        named = name_files(question.scan, Results.of(results), question.seed, executor, progress)
        return told(named, data, run, several=several)

    def _by_ranges(self, plan: MeanPlan) -> bool:
        """Whether groups may be summed range by range: rows are taken one by one and can be read again."""
        means = plan.reduction
        return means.grouped and means.rowwise and means.count_units is None and self.question.rereads

    def _at_once(
        self, plan: MeanPlan, executor: Executor, progress: Progress | None
    ) -> tuple[list[list[AnswerColumns]], list[SkippedFile]]:
        """The results of all groups from one pass over them, and the skipped files."""
        n_keys = len(self.question.opened[1].by)
        rider = self.question.rider
        if rider is None or not mounted(rider, plan, self.question.opened[0], executor):
            found, skipped = run_plan(plan, n_keys, executor, progress, self.question.keeper)
        else:
            found, skipped = run_with(rider, plan, executor, progress)
        looks = self._looks(plan, looks_of(found, plan.options.window))
        groups = look_at_groups(looks, len(found.keys)) if n_keys else []
        cuts = self._cuts(looks, groups)
        second = None
        if cuts is not None:
            known = tuple(found.keys[g] for g in cuts.own)
            second, _ = run_plan(within_cuts(plan, cuts), n_keys, executor, progress, known=known)
        return [results_of(plan, found, looks, groups, second)], skipped

    def _looks(self, plan: MeanPlan, looks: tuple[Look, ...]) -> tuple[Look, ...]:
        """What stands apart in each column, and the files or units it belongs to."""
        source, read = self.question.opened
        both = zip(looks, plan.reduction.columns, strict=False)
        return tuple(
            replace(look, whose=partial(whose, source, read, plan.files, column)) for look, column in both
        )

    def _cuts(self, looks: tuple[Look, ...], groups: Sequence[GroupsLook]) -> OwnCuts | None:
        """Cuts for a second pass, if rows stand apart and all can be read again."""
        if not self.question.rereads or not looks:
            return None
        found = OwnCuts(*cuts_of_groups(groups)) if groups else OwnCuts(cuts_of(looks), [])
        ends = chain.from_iterable(chain.from_iterable(found.cuts))
        return None if all(map(math.isinf, ends)) else found
