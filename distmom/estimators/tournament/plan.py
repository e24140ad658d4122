"""A tournament as a plan with rounds; everything refused is refused here, before a row is read."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from distmom.designs.design import MOST_BLOCKS
from distmom.errors import ConfigError
from distmom.estimators.mean.blocks import PLENTY
from distmom.estimators.mean.contamination import counted_as, outlying_number
from distmom.estimators.tournament.pair_oracle import PairOracle, check_budget, describe_pairs
from distmom.estimators.tournament.row_oracle import RowOracle, describe_rows
from distmom.passes.census import column_share, count_rows, count_valid
from distmom.passes.opening import refuse_times
from distmom.solvers.tournament import play_tournament
from distmom.theory.planning import AUTOMATIC, part_blocks, part_outlying

if TYPE_CHECKING:
    from distmom.cluster import Executor, Progress
    from distmom.cluster.work import SkippedFile
    from distmom.estimators.tournament.answer import TournamentOutcome
    from distmom.estimators.tournament.candidates import Field
    from distmom.estimators.tournament.options import TournamentOptions
    from distmom.estimators.tournament.question import TournamentQuestion
    from distmom.estimators.tournament.state import RoundKeeper
    from distmom.lake import ReadOptions, Source
    from distmom.memory import Memory
    from distmom.reductions.losses.block_losses import BlockLossState

LARGE_FILE = 64_000_000


@dataclass(frozen=True)
class TournamentPlan:
    """Who meets, on which rows, in which parts and blocks."""

    every: Source  # as it is listed,
    source: Source  # and without the files that cannot even be opened
    read: ReadOptions  # with the columns of all candidates
    field: Field
    options: TournamentOptions
    seed: int
    keeper: RoundKeeper  # of the rounds that are done already
    n_blocks: int  # of a part, at most: where they are automatic they may be fewer
    rows: tuple[int, ...] | None  # rows of each file where they are known
    skipped: tuple[SkippedFile, ...]
    outlying: int | None  # rows (or units) that may be arbitrary
    known: BlockLossState | None = None  # the losses of all candidates, where another pass has summed them up

    def play(self, executor: Executor, progress: Progress | None) -> TournamentOutcome:
        """Play all rounds; returns what they leave behind.

        NoAnswerError if a part has no rows, or the level that was given is too low.
        """
        oracle = (PairOracle if self.options.pairwise else RowOracle)(self, executor, progress)
        return oracle.outcome(play_tournament(oracle, self.options.match.beta_r))

    def describe(self, executor: Executor, survey: Memory) -> dict[str, Any]:
        """Files, bytes, units, memory, blocks; losses of pairs as if all rows of the files counted.

        The memory is that of the `survey` before, if that takes more.
        """
        files = self.source.files
        told = {
            "skipped": [s._asdict() for s in self.skipped],
            "n_files": len(files),
            "n_bytes": int(sum(f.size for f in files) * column_share(self.source, self.read)),
            "n_rows": None if self.rows is None else sum(self.rows),
            "n_candidates": len(self.field.candidates),
            "n_parts": self.options.n_parts,
            "n_blocks": self.n_blocks,
            "contamination": self.outlying,
            "threads": executor.threads,
        }
        if self.options.pairwise:
            return told | describe_pairs(self, executor)
        return told | describe_rows(self, executor, survey)


def plan_tournament(
    asked: TournamentQuestion, keeper: RoundKeeper, executor: Executor, progress: Progress | None
) -> TournamentPlan:
    """Count rows where blocks depend on them, and lay the parts out.

    ConfigError if there are too many blocks or losses of pairs, or if arbitrary rows could be the majority;
    DataError if a column holds times; NoAnswerError if there are too few rows.
    """
    (source, read, field), options, common = asked.opened, asked.options, asked.options.rows
    every, design = source, options.design
    # names and types are told before anything is counted
    refuse_times(source.reader(read).options, "losses take numbers")
    once = bool(getattr(source, "one_pass", False))
    if once and options.pairwise:
        raise ConfigError(
            f"loss={options.loss_name!r} reads its rows several times, and a stream can be read only once; "
            "give a table, or write the stream to Parquet files"
        )
    rows: tuple[int, ...] | None = None
    skipped: tuple[SkippedFile, ...] = ()
    large = any(f.size > LARGE_FILE for f in source.files)
    by_rows = options.pairwise or (common.contamination is not None and not design.of_units)
    if by_rows or large or (source.in_memory and not once):
        good, census = count_rows(source, executor, common.on_bad_file).good(source.files)
        rows, skipped = tuple(census.rows.tolist()), census.bad
        source = replace(source, files=good) if skipped else source  # type: ignore[type-var]
    n_blocks, outlying = design.number or AUTOMATIC, None
    if common.contamination is not None:
        if design.of_units:
            n_rows = len(source.files) if design.by_file else PLENTY
        elif read.where is None:
            n_rows = sum(rows or ())
        else:
            n_rows = count_valid(source, read, source.files, executor, common.on_bad_file, progress)
        n_blocks, outlying = _contaminated(options, n_rows)
    if options.n_parts * n_blocks > MOST_BLOCKS:
        raise ConfigError(
            f"blocks: {options.n_parts} parts of {n_blocks:,} blocks exceed {MOST_BLOCKS:,}; lower "
            "contamination or their number, or filter out the worst rows with where"
        )
    plan = TournamentPlan(
        every, source, read, field, options, asked.seed, keeper, n_blocks, rows, skipped, outlying
    )
    if options.pairwise:  # as if all rows counted, unless a filter decides which do
        needed = describe_pairs(plan, executor)["n_losses"]
        if read.where is None:
            check_budget(plan, needed, executor.threads)
    return plan


def _contaminated(options: TournamentOptions, n_rows: int) -> tuple[int, int]:
    """Blocks of a part, and how many rows or units of all may be arbitrary."""
    common, n_parts, given = options.rows, options.n_parts, options.design.number
    assert common.contamination is not None
    o, what = outlying_number(common.contamination, n_rows), counted_as(common)
    try:
        best = part_blocks(n_rows, n_parts, common.delta, o)
    except (ConfigError, ValueError) as error:
        raise ConfigError(
            f"contamination: {o:,} arbitrary {what} of {n_rows:,} could outvote the blocks of one of "
            f"{n_parts} parts; lower it, or use more rows"
        ) from error
    if given is None:
        return best, o
    most = part_outlying(o, n_parts, common.delta)
    if given <= 2 * most:
        raise ConfigError(
            f"contamination: of {o:,} arbitrary {what} up to {most:,} fall into one part and may outvote "
            f"{given:,} blocks; use more than {2 * most:,} blocks, or none ({best:,} are best)"
        )
    return given, o
