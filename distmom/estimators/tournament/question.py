"""The question behind a tournament, and its plan."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from distmom.estimators.facts import data_facts
from distmom.estimators.question import RowsQuestion
from distmom.estimators.tournament.answer import tournament_result
from distmom.estimators.tournament.candidates import Field, find_candidates
from distmom.estimators.tournament.options import TournamentOptions
from distmom.estimators.tournament.pair_candidates import find_pair_candidates
from distmom.estimators.tournament.plan import TournamentPlan, plan_tournament
from distmom.estimators.tournament.state import KIND, RoundKeeper, fingerprint
from distmom.lake import ReadOptions
from distmom.lake.filters import as_filter
from distmom.numerics.random.philox import resolve_seed
from distmom.passes.opening import Names, unit_columns
from distmom.passes.scan import Scan
from distmom.state import Checkpoint, open_checkpoint

if TYPE_CHECKING:
    from distmom.cluster import Executor, Progress
    from distmom.lake import Source


@dataclass
class TournamentQuestion(RowsQuestion):
    """Which of the candidates is the best on the rows of a scan."""

    scan: Scan
    candidates: Any
    target: str | None
    features: Names
    options: TournamentOptions
    state: Any = None
    memory_limit: int | str | None = None
    checkpoint: Checkpoint | None = field(init=False)

    def __post_init__(self) -> None:
        self.checkpoint = open_checkpoint(self.state, KIND, self.memory_limit)
        self.seed, self.shown_seed = (
            resolve_seed(self.rng) if self.checkpoint is None else self.checkpoint.seed(self.rng)
        )

    @cached_property
    def opened(self) -> tuple[Source, ReadOptions, Field]:
        """The source, all columns of all candidates, and the candidates."""
        source, options = self.scan.source, self.options
        names = source.schema().names
        if options.pairwise:
            found = find_pair_candidates(self.candidates, self.target, self.features, names, options)
        else:
            found = find_candidates(self.candidates, self.target, self.features, names, options.loss)
        units = unit_columns(options.design.columns, found.columns)
        where, batch_rows = as_filter(self.scan.where, source), self.scan.batch_rows
        read = ReadOptions(found.columns, (), where, self.scan.missing, batch_rows, None, units)
        return source, read, found

    def plan(self, executor: Executor, progress: Progress | None) -> PlannedTournament:
        """Parts and blocks; what a saved state was made of is compared."""
        source, read, found = self.opened
        keeper = RoundKeeper(self.checkpoint)
        marks = fingerprint(read, self.options, found.described(), self.seed, self.shown_seed)
        keeper.begin(self.scan.data, source, marks)
        plan = plan_tournament(source, read, found, self.options, self.seed, executor, progress)
        return PlannedTournament(self, plan, keeper)


@dataclass
class PlannedTournament:
    """The plan of a tournament, and the rounds of it that are done already."""

    question: TournamentQuestion
    rounds: TournamentPlan
    keeper: RoundKeeper

    def describe(self, executor: Executor) -> dict[str, Any]:
        """Files, bytes, units, memory, blocks; losses of pairs as if all rows of the files counted."""
        return self.rounds.describe(executor) | {"skipped": [s._asdict() for s in self.rounds.skipped]}

    def run(self, executor: Executor, progress: Progress | None, run: dict[str, Any]) -> Any:
        """Play the rounds; the result."""
        question, plan = self.question, self.rounds
        source, _, found = question.opened
        played = plan.run(executor, progress, self.keeper)
        data = data_facts(source.files, played.skipped, source) | self.keeper.facts()
        names = tuple(c.name for c in found.candidates)
        return tournament_result(names, question.options, plan.outlying, played, data, run)
