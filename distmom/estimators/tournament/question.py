"""The question behind a tournament."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

from distmom.estimators.question import RowsQuestion
from distmom.estimators.tournament.candidates import Field, find_candidates
from distmom.estimators.tournament.contest import Contest
from distmom.estimators.tournament.options import TournamentOptions
from distmom.estimators.tournament.plan import TournamentPlan, plan_tournament
from distmom.estimators.tournament.state import KIND, SUMS, RoundKeeper
from distmom.lake import ReadOptions
from distmom.lake.filters import as_filter
from distmom.numerics.random.philox import resolve_seed
from distmom.passes.opening import Names, unit_columns
from distmom.passes.scan import Scan
from distmom.state import Checkpoint, Fingerprint, open_checkpoint, shown, shown_filter

if TYPE_CHECKING:
    from distmom.cluster import Executor, Progress
    from distmom.lake import Source


@dataclass
class TournamentQuestion(RowsQuestion):
    """Which of the candidates is the best on the rows of a scan."""

    asks: ClassVar[str] = "tournament"

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
        seed_of = resolve_seed if self.checkpoint is None else self.checkpoint.seed
        self.seed, self.shown_seed = seed_of(self.rng)

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

    def plan(self, executor: Executor, progress: Progress | None) -> Contest:
        """Parts and blocks; what a saved state was made of is compared."""
        keeper = RoundKeeper(self.checkpoint, self.scan.data, self.opened[0], self._fingerprint())
        return Contest(self, self.planned(keeper, executor, progress))

    def planned(self, keeper: RoundKeeper, executor: Executor, progress: Progress | None) -> TournamentPlan:
        """The matches on the rows of this question, whose rounds are kept so."""
        return plan_tournament(self, keeper, executor, progress)

    def _fingerprint(self) -> Fingerprint:
        """What the sums of the rounds depend on beside the files."""
        (_, read, found), options = self.opened, self.options
        candidates = found.described()
        question = {
            "target": read.columns[0],
            "where": shown_filter(read.where),
            "missing": options.rows.missing,
        }
        design = {
            "loss": options.loss_name,
            "distance": options.measured,
            "version of the sums": SUMS,
            "loss_parameter": options.loss_parameter,
            "beta_r": options.match.beta_r,
            "contamination": options.rows.contamination,
            "confidence_level": options.rows.confidence_level,
            "blocks": repr(options.design),
            "pairs": repr(options.pairs),
            "candidates": shown(candidates, [name for name, *_ in candidates]),
        }
        return Fingerprint.of(question, design, self.seed, self.shown_seed)
