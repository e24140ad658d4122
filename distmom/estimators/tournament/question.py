"""The question behind a tournament."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from distmom.estimators.question import RowsQuestion
from distmom.estimators.tournament.candidates import Field, find_candidates
from distmom.estimators.tournament.options import TournamentOptions
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
        found = find_candidates(self.candidates, self.target, self.features, names, options)
        units = unit_columns(options.design.columns, found.columns)
        where, batch_rows = as_filter(self.scan.where, source), self.scan.batch_rows
        read = ReadOptions(found.columns, (), where, self.scan.missing, batch_rows, None, units)
        return source, read, found

    def plan(self, executor: Executor, progress: Progress | None) -> TournamentPlan:
        """Parts and blocks; what a saved state was made of is compared."""
        source, read, found = self.opened
        keeper = RoundKeeper(self.checkpoint)
        marks = fingerprint(read, self.options, found.described(), self.seed, self.shown_seed)
        keeper.begin(self.scan.data, source, marks)
        return plan_tournament(source, read, found, self.options, self.seed, keeper, executor, progress)
