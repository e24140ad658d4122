"""A tournament after the survey: what is bad is left out before the matches, and risks are robust means.

The mean is computed of the columns that losses read, and of the losses, including the least of all
candidates, which is large only if no candidate predicts a row. Anything bad in target, features or the least
loss is bad data. What stands apart in predictions or in the losses of some candidates may be damage, or a
property of the candidate: it is left out as well, but the matches are also played with it. Data that stands
apart and is kept may be bad: the matches are also played without it. A candidate that wins in only one of
these is not decided.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from typing import TYPE_CHECKING, Any

from distmom.checks import names_of
from distmom.designs.blocks import RandomBlocks
from distmom.errors import ConfigError, DataError, NoAnswerError
from distmom.estimators.mean.plan import worth_compiling
from distmom.estimators.survey import BORNE, PASS, Surveyor, unrepaired, within
from distmom.estimators.surveyed import Survey
from distmom.estimators.tournament.answer import (
    Before,
    TournamentOutcome,
    not_worse,
    tournament_result,
)
from distmom.estimators.tournament.row_oracle import STATES, declare
from distmom.lake.filters import as_filter
from distmom.memory import Held, Memory
from distmom.passes.census import column_share
from distmom.passes.losses import COMMON, Losses, LossSource
from distmom.passes.riding import Rider
from distmom.reductions.losses.block_losses import beside
from distmom.status import Status

if TYPE_CHECKING:
    from distmom.cluster import Executor, Progress
    from distmom.estimators.tournament.options import TournamentOptions
    from distmom.estimators.tournament.plan import TournamentPlan
    from distmom.estimators.tournament.question import TournamentQuestion
    from distmom.passes.scan import Scan
    from distmom.reductions.losses.block_losses import BlockLossState
    from distmom.report import TournamentResult

TOGETHER = COMMON + 2
"""Columns whose means are taken in one pass, as their samples take memory: the target, the least loss, and
the losses that it is of, which are then computed once."""

PREDICTIONS = 64
"""With more candidates, predictions are seen only through their losses."""


WITH = "with the rows or files that stand apart in predictions or losses of some candidates alone"
WITHOUT = "without the rows reported as far out"
"""Tournaments that are played beside the one that answers."""


@dataclass(frozen=True)
class Seen:
    """What the survey found: in all columns, and the rows without what is bad as data alone."""

    survey: Survey
    data: Scan
    means: Sequence[Any] = ()
    riders: tuple[Rider, ...] = ()

    @property
    def known(self) -> BlockLossState | None:
        """The block losses of all candidates on all rows, if they rode on the survey's passes."""
        states = [one.state for one in self.riders]
        return None if not states or any(state is None for state in states) else reduce(beside, states)

    @property
    def alternatives(self) -> dict[str, Scan]:
        """Rows on which others may win: with what may be good, or without what may be bad."""
        told = {one.column: one for one in self.survey.far if one.action == "told" and one.column is not None}
        return {
            **({WITH: self.data} if self.survey.scan is not self.data else {}),
            **({WITHOUT: within(self.survey.scan, told)} if told else {}),
        }


@dataclass(frozen=True)
class Contest:
    """The plan of a tournament: a survey, and matches on the remaining rows."""

    question: TournamentQuestion
    matches: TournamentPlan

    def describe(self, executor: Executor) -> dict[str, Any]:
        """What the matches read and hold, and the survey."""
        survey = Memory()
        if self.surveyed:
            data, own = self._columns()
            survey = self._surveyor(executor, None).check(self.scan, [*data, *own])
        return {**self.matches.describe(executor, survey), "survey": PASS if self.surveyed else None}

    def run(self, executor: Executor, progress: Progress | None, run: dict[str, Any]) -> TournamentResult:
        """Survey, play all rounds; the result.

        NoAnswerError if a part has no rows, no candidate has a finite loss, or the level that was given is
        too low.
        """
        seen = self._seen(executor, progress)
        known = seen.known if seen.survey.scan is self.scan else None
        plan, played = self._play(seen.survey.scan, executor, progress, "what is left ", known)
        others = dict[str, TournamentOutcome]()
        for words, scan in seen.alternatives.items() if not seen.survey.beyond else ():
            with suppress(NoAnswerError):
                others[words] = self._play(scan, executor, progress, f"{words} ")[1]
        champions = {words: one.decided.champions for words, one in others.items()}
        before = self._before(seen, executor, progress, champions)
        if self.matches.options.rows.contamination is None:
            before = before.with_doubts(self._names, played.decided.champions)
        if before.survey.beyond and WITHOUT in others:
            scan, without = seen.alternatives[WITHOUT], others[WITHOUT]
            before = replace(before, settled=self._settled(scan, without, executor, progress))
        return tournament_result(plan, played, run, before)

    @property
    def _names(self) -> tuple[str, ...]:
        return tuple(one.name for one in self.matches.field.candidates)

    def _settled(
        self, scan: Scan, found: TournamentOutcome, executor: Executor, progress: Progress | None
    ) -> tuple[int, ...]:
        """The champion of the rows of a scan if these alone decide, and bear what is bad in them."""
        champions = found.decided.champions
        if len(champions) != 1 or not_worse(found, champions[0], self.matches.options):
            return ()
        columns = self.losses.candidates
        try:
            means: list[Any] = self._surveyor(executor, progress).means(scan, list(columns))
        except (ConfigError, DataError, NoAnswerError):
            return ()
        told = {columns[one.column].name: one for one in means}
        then = Before(Survey(scan), told, by_rule=True).with_doubts(self._names, champions)
        return () if then.survey.beyond else champions

    @property
    def surveyed(self) -> bool:
        """Whether bad rows are left out: not if files are blocks, which tolerate them, or rows pass once."""
        return not (self.matches.options.design.by_file or self.question.scan.source.one_pass)

    def _play(
        self,
        scan: Scan,
        executor: Executor,
        progress: Progress | None,
        rounds: str,
        known: BlockLossState | None = None,
    ) -> tuple[TournamentPlan, TournamentOutcome]:
        """The matches on the rows of a scan, whose rounds are kept under names of their own."""
        if scan is self.scan:
            return self.matches, replace(self.matches, known=known).play(executor, progress)
        where = as_filter(scan.where, scan.source)
        source, read, found = self.question.opened
        again = self.question.about(scan=scan)
        vars(again)["opened"] = scan.source, replace(read, where=where), found
        plan = again.planned(self.matches.keeper.named(rounds), executor, progress)
        return replace(plan, every=source), plan.play(executor, progress)

    @cached_property
    def scan(self) -> Scan:
        """The rows, with losses among their columns if single rows have them."""
        scan, source = self.question.scan, self.question.opened[0]
        new = replace(scan, nan="omit")
        pairwise = self.matches.options.pairwise
        vars(new)["source"] = source if pairwise else LossSource(source, self.losses, source.files)
        return new

    @cached_property
    def losses(self) -> Losses:
        """The losses of all candidates, under names that no column has."""
        source, read, found = self.question.opened
        names = source.schema().names

        def free(name: str) -> str:
            return name if name not in names else free(f"{name} (loss)")

        by_name = {free(f"the loss of {one.name}"): one for one in found.candidates}
        loss, common = self.matches.options.row_loss(), free("the least loss of all candidates")
        compiled = worth_compiling(source.files, column_share(source, read))
        return Losses(by_name, common, loss, found.columns, compiled)

    def _columns(self) -> tuple[list[str], list[str]]:
        """Columns of data, and those of single candidates."""
        question, found = self.question, self.question.opened[2]
        data = {question.target, *names_of("features", question.features)}
        for one in found.candidates:
            scorer = getattr(one, "scorer", one)
            data |= set(scorer.features) if scorer is not None else set()
        own = [name for name in found.columns if name not in data]
        own = own if len(own) <= PREDICTIONS else []
        shared = [name for name in found.columns if name in data]
        if self.matches.options.pairwise:
            return shared, own
        losses = self.losses
        return [*shared, losses.common], [*losses.candidates, *own]

    def _rider(self, columns: Sequence[str]) -> Rider | None:
        """The block losses of the candidates whose losses are among these columns of all rows.

        None if the matches sum other rows than the survey, or rounds are done already.
        """
        matches = self.matches
        apart = matches.options.pairwise or matches.options.design.of_units or matches.skipped
        if apart or matches.keeper.begun:
            return None
        chosen = [i for i, name in enumerate(self.losses.candidates) if name in columns]
        if not chosen:
            return None
        read, of = declare(matches, matches.source, chosen)
        remedy = "use fewer candidates or columns"
        held = Held("losses of blocks", STATES * of.state_bytes(), remedy=remedy)
        return Rider(read.columns, of, Memory((held,)))

    def _surveyor(
        self, executor: Executor, progress: Progress | None, riders: list[Rider] | None = None
    ) -> Surveyor:
        options = self.matches.options

        def ride(scan: Scan, columns: Sequence[str]) -> Rider | None:
            rider = None if riders is None or scan is not self.scan else self._rider(columns)
            if riders is not None and rider is not None:
                riders.append(rider)
            return rider

        return Surveyor(
            self.question.seed,
            executor,
            progress,
            bears=bears(options),
            design=options.rows.design,
            confidence_level=options.rows.confidence_level,
            together=TOGETHER,
            riders=ride,
        )

    def _seen(self, executor: Executor, progress: Progress | None) -> Seen:
        """What is bad in the data, then in the remaining rows of single candidates."""
        scan = self.scan
        if not self.surveyed:
            return Seen(Survey(scan), scan)
        riders = list[Rider]()
        (data, own), surveyor = self._columns(), self._surveyor(executor, progress, riders)
        try:
            means: list[Any] = list(surveyor.means(scan, [*data, *own]))
        except (ConfigError, DataError, NoAnswerError):  # the tournament itself has the words for it
            return Seen(Survey(scan), scan)
        if not any(surveyor.worth(one) for one in means):
            return Seen(Survey(scan), scan, means, tuple(riders))
        first = self._found(surveyor, scan, data)
        then = self._found(surveyor, first.scan, own)
        options = self.matches.options
        means = [*first.means, *then.means]
        if not options.pairwise or options.kind == "ranking":  # no column of theirs alone decides much
            means = [one for one in means if Status.FILES_DISAGREE in one.flags]
        wrong = tuple(unrepaired(means)) if options.rows.contamination is None else ()
        both = (first, then) if options.pairwise else ()  # losses of rows have statuses of their own
        correlated = tuple(name for one in both for name in one.correlated)
        survey = Survey(
            then.scan,
            tuple(sorted((*first.files, *then.files))),
            (*first.far, *(far for far in then.far if far.action == "screened out")),
            wrong,
            (Status.ROWS_CORRELATED,) if correlated else (),
            correlated,
        )
        return Seen(survey, first.scan, then.means, tuple(riders))

    def _found(self, surveyor: Surveyor, scan: Scan, columns: list[str]) -> Survey:
        """What is bad in some columns, each of which is named."""
        if not columns:
            return Survey(scan)
        found = surveyor.survey(scan, columns)
        return replace(found, far=tuple(replace(one, column=one.column or columns[0]) for one in found.far))

    def _before(
        self, seen: Seen, executor: Executor, progress: Progress | None, others: dict[str, tuple[int, ...]]
    ) -> Before:
        """What is known before the matches: risks too, if blocks are automatic."""
        options, survey = self.matches.options, seen.survey
        if options.pairwise:
            return Before(survey, {}, by_rule=False, others=others)
        by_rule = options.design.number is None and options.rows.contamination is None
        names = {name: one.name for name, one in self.losses.candidates.items()}
        means: list[Any] = list(seen.means)
        if by_rule and options.rows.design != RandomBlocks() and not survey.scan.source.one_pass:
            surveyor = self._surveyor(executor, progress)
            with suppress(ConfigError, DataError, NoAnswerError):
                means = surveyor.means(survey.scan, list(names), options.rows.design)
        told = {names[one.column]: one for one in means if one.column in names}
        if not self.surveyed:  # files that a mean cannot bear may be few enough for majorities
            told = {
                name: one for name, one in told.items() if Status.BREAKDOWN_POINT_EXCEEDED not in one.flags
            }
        return Before(survey, told, by_rule, self.losses.names, others)


def bears(options: TournamentOptions) -> Callable[[int], float] | None:
    """How many of a number of far rows the blocks tolerate; None if their number is not given."""
    given, number = options.rows.contamination, options.design.number
    if given is not None:
        return lambda n: given * n if isinstance(given, float) else given
    if options.design.sampled:
        return lambda n: 0
    return None if number is None else lambda n: options.n_parts * number // BORNE
