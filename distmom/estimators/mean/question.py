"""The question behind a robust mean, and its plan: what `distmom.mean` asks, explains and runs."""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import chain
from typing import TYPE_CHECKING, Any, ClassVar

from distmom.checks import names_of
from distmom.cluster import run_units
from distmom.cluster.memory import give_back
from distmom.cluster.work import ReadAndReduce, SkippedFile
from distmom.errors import ConfigError
from distmom.estimators.command import explaining
from distmom.estimators.describe.named_files import name_files
from distmom.estimators.facts import data_facts, told
from distmom.estimators.mean.answer import in_one, results_of
from distmom.estimators.mean.blocks import needs_passing_rows
from distmom.estimators.mean.checkpoint import Keeper
from distmom.estimators.mean.counts import check_state
from distmom.estimators.mean.far_groups import GroupsLook, cuts_of_groups, look_at_groups
from distmom.estimators.mean.far_rows import cuts_of, looks_of
from distmom.estimators.mean.plan import MeanPlan, plan_mean
from distmom.estimators.mean.state import KIND
from distmom.estimators.options import MeanOptions
from distmom.estimators.question import RowsQuestion
from distmom.estimators.whose import whose
from distmom.inference.share.look import Look
from distmom.lake.keys.ranges import KeyRange
from distmom.memory import Memory
from distmom.numerics.random.philox import resolve_seed
from distmom.passes.key_ranges import most_groups, next_range
from distmom.passes.opening import Names, open_data
from distmom.passes.scan import Scan
from distmom.reductions.ranged import RangedMeans
from distmom.report import Results
from distmom.state import open_checkpoint

if TYPE_CHECKING:
    from distmom.cluster import Executor, Progress
    from distmom.estimators.mean.manifest import Ledger
    from distmom.lake import ReadOptions, Source
    from distmom.reductions.state import Key, MeanState


SECOND = "a second pass follows if rows are screened out"
"""What plans say of data that can be read again."""


@dataclass
class MeanQuestion(RowsQuestion):
    """The robust means of columns of a scan, in groups or not.

    Attributes
    ----------
    scan : Scan
    column, by : names
    options : MeanOptions
    rng : object
    state : str, path or State, optional
    memory_limit : int or str, optional
        Of the process that keeps the state.
    few_groups : bool
        Each group gets as many blocks as a whole lake.
    """

    asks: ClassVar[str] = "mean"

    scan: Scan
    column: Names
    by: Names
    options: MeanOptions
    state: Any = None
    memory_limit: int | str | None = None
    few_groups: bool = False
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
        """The source, and what to read of it; a saved state has been compared with both."""
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
        """Whether all rows can, and may, be read once more."""
        source, _ = self.opened
        if source.one_pass or self.keeper is not None:
            return False
        return source.in_memory or self.options.passes != 1

    @property
    def ledger(self) -> Ledger | None:
        """What of the source a saved state holds already."""
        return None if self.keeper is None else self.keeper.ledger

    def plan(self, executor: Executor, progress: Progress | None) -> PlannedMean:
        """The pass, its blocks and units; without the filter where blocks depend on how many rows pass."""
        source, read = self.opened
        later = needs_passing_rows(self.options) and read.where is not None
        if later:
            source.reader(read)  # names and the condition are checked with the filter still in place
        ledger = self.ledger
        if later and not explaining():  # what the state holds is taken up by the plan that runs
            ledger = copy.deepcopy(ledger)
        first = self.planned(executor, None, replace(read, where=None) if later else read, ledger)
        return PlannedMean(self, first, filter_counts=later)

    def planned(
        self, executor: Executor, progress: Progress | None, read: ReadOptions, ledger: Ledger | None
    ) -> MeanPlan:
        """The pass over what is read and not in the ledger yet."""
        source = self.opened[0]
        how = {"few_groups": self.few_groups, "pooled": True}
        return plan_mean(source, read, self.options, self.seed, executor, progress, self.share, ledger, **how)


@dataclass
class PlannedMean:
    """The plan of a robust mean; `filter_counts` where rows that pass the filter are counted first."""

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
        """What other passes hold, or nothing where these are the same."""
        return Memory()

    def run(self, executor: Executor, progress: Progress | None, run: dict[str, Any]) -> Any:
        """Read the rows; the result or results."""
        question = self.question
        source, read = question.opened
        plan = (
            question.planned(executor, progress, read, question.ledger) if self.filter_counts else self.pass_
        )
        if self._by_ranges(plan):
            parts, skipped = self._ranges(plan, executor, progress)
        else:
            found, skipped = run_plan(plan, len(read.by), executor, progress, question.keeper)
            looks = self._looks(plan, looks_of(found, plan.options.window))
            groups = look_at_groups(looks, found.keys, found.keys) if read.by else []
            second = self._second_pass(plan, found, looks, groups, executor, progress)
            parts = [results_of(plan, found, looks, groups, second)]
        data = data_facts(plan.files, skipped, source)
        if question.keeper is not None:
            data["state"] = question.keeper.facts()
        listed = question.column is not None and not isinstance(question.column, str)
        results = in_one(plan, parts, data, run, listed=listed)
        if source.one_pass or question.keeper is not None:
            return results
        several = isinstance(results, Results)
        named = name_files(question.scan, Results.of(results), question.seed, executor, progress)
        return told(named, data, run, several=several)

    def _by_ranges(self, plan: MeanPlan) -> bool:
        """Whether groups may be summed up range by range: rows come one by one and can be read again."""
        means = plan.reduction
        return means.grouped and means.rowwise and means.count_units is None and self.question.rereads

    def _ranges(
        self, plan: MeanPlan, executor: Executor, progress: Progress | None
    ) -> tuple[list[Any], list[SkippedFile]]:
        """The results of the groups of each range of keys, and the files that were left out.

        The first pass is over all groups unless these turn out to be too many. It alone samples the rows of
        whole columns, so what stands apart does not depend on the ranges.
        """
        n_keys, means = len(self.question.opened[1].by), plan.reduction
        later = replace(plan, reduction=replace(means, pool_size=0))
        parts: list[Any] = []
        skipped: list[SkippedFile] = []
        looks: tuple[Look, ...] = ()
        first: tuple[Key, ...] | None = None
        within, n_done = KeyRange(0), 0
        while first is None or within.low is not None:
            sizes = (means.state_bytes(), len(plan.units), n_done, len(means.columns))
            within = replace(within, most=most_groups(executor, plan.memory, *sizes))
            now = plan if first is None else later
            found, left_out = run_plan(now, n_keys, executor, progress, within=within)
            if first is None:
                first, skipped = found.pools.keys, left_out
                looks = self._looks(plan, tuple(Look(pool.in_order()) for pool in found.pools.pools))
            groups = look_at_groups(looks, first, found.state.keys)
            mine = replace(within, high=found.high)
            second = self._second_pass(plan, found.state, looks, groups, executor, progress, mine)
            parts.append(results_of(plan, found.state, looks, groups, second))
            n_done += len(found.state.keys)
            if found.high is None:
                return parts, skipped
            within = next_range(found, first, within, within.most)
            del found, groups, second
            give_back()
        raise AssertionError("unreachable")  # pragma: no cover

    def _looks(self, plan: MeanPlan, looks: tuple[Look, ...]) -> tuple[Look, ...]:
        """What stands apart in each column, and whose it is."""
        source, read = self.question.opened
        both = zip(looks, plan.reduction.columns, strict=False)
        return tuple(
            replace(look, whose=partial(whose, source, read, plan.files, column)) for look, column in both
        )

    def _second_pass(
        self,
        plan: MeanPlan,
        found: MeanState,
        looks: tuple[Look, ...],
        groups: Sequence[GroupsLook],
        executor: Executor,
        progress: Progress | None,
        within: KeyRange | None = None,
    ) -> MeanState | None:
        """The rows within the cuts, where rows stand apart and all can be read once more."""
        n_keys = len(self.question.opened[1].by)
        if not self.question.rereads or not looks:
            return None
        own: list[int] = []
        if n_keys:
            cuts, own = cuts_of_groups(groups)
        else:
            cuts = cuts_of(looks)
        if all(map(math.isinf, chain.from_iterable(chain.from_iterable(cuts)))):
            return None
        kept = replace(plan, reduction=replace(plan.reduction, cuts=cuts, pool_size=0))
        known = tuple(found.keys[g] for g in own)
        state, _ = run_plan(kept, n_keys, executor, progress, known=known, within=within)
        return state if within is None else state.state  # type: ignore[no-any-return]


def run_plan(
    plan: MeanPlan,
    n_keys: int,
    executor: Executor,
    progress: Progress | None,
    keeper: Keeper | None = None,
    known: tuple[Key, ...] = (),
    within: KeyRange | None = None,
) -> tuple[Any, list[SkippedFile]]:
    """Run the units; the merged state, and the files that were left out.

    Groups with `known` keys have the first numbers in each unit. The state is a `RangedState` if only keys
    `within` a range are asked for.
    """
    reduction: Any = plan.reduction
    if within is not None:
        reduction = RangedMeans(replace(reduction, most_bytes=None), within.most)
    work = ReadAndReduce(
        plan.reader,
        reduction,
        n_keys,
        plan.options.on_bad_file,  # type: ignore[arg-type]
        unit_seed=plan.reduction.seed if plan.reader.options.units else None,
        compiled=plan.reduction.compiled,
        known=known,
        within=within,
    )
    if keeper is None:
        merge, grows = reduction.merge, plan.reduction.grouped
        found = run_units(work, plan.units, merge, executor, progress=progress, grows=grows)
        state, skipped = found.state, [*plan.skipped, *found.skipped]
    else:
        state, skipped = keeper.run(plan, work, executor, progress)
    check_state(state, skipped, filtered=plan.reader.options.where is not None)
    return state, skipped
