"""Losses of pairs, on blocks whose rows are gathered: whole blocks, or samples of rows or of pairs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from distmom.errors import ConfigError, NoAnswerError
from distmom.estimators.mean.counts import groups_of
from distmom.estimators.mean.plan import plan_mean
from distmom.estimators.mean.rule.answers import row_and_cell_blocks
from distmom.estimators.mean.run.passes import run_plan
from distmom.estimators.tournament.answer import TournamentOutcome
from distmom.estimators.tournament.state import numbered, round_of
from distmom.estimators.ustat.cost import in_words
from distmom.numerics.arrays import Floats, Ints
from distmom.numerics.losses.duels import least_distances
from distmom.numerics.median import lower_median
from distmom.numerics.random.part_rows import rows_of_part
from distmom.numerics.random.philox import stream_key
from distmom.passes.block_pass import run_blocks
from distmom.passes.census import column_share
from distmom.passes.counted import BlockQuestion, CellMap, Counted, given_numbers, map_blocks
from distmom.passes.draws import DrawPlan, draw_rows, draw_tuples, evaluate_draws
from distmom.passes.gather import RowSource, row_source
from distmom.reductions.losses.pair_losses import BlockLossTable, PairLosses
from distmom.solvers.tournament import DISTANCE_PART, Decided, Pair
from distmom.theory.planning import joined_blocks
from distmom.theory.tuples import default_tuples

if TYPE_CHECKING:
    from distmom.cluster import Executor, Progress
    from distmom.estimators.tournament.plan import TournamentPlan

PAIR_ROWS = 4
"""Times as many rows as blocks of single rows have at least, since pairs of few rows are alike."""

SAMPLED_ROWS = 256
"""Rows of a sampled block by default."""

RATE = 3e7
"""Approximate losses per second on one thread."""


class PairOracle:
    """Answers a tournament of pairs of rows: they are counted first, then a round evaluates each part."""

    def __init__(self, plan: TournamentPlan, executor: Executor, progress: Progress | None) -> None:
        self._plan, self._executor, self._progress = plan, executor, progress
        self.n_parts = plan.options.n_parts
        self._counted, self._n_blocks = _counted(plan, executor, progress)
        self._rows: RowSource | None = None
        if plan.options.design.sampled:
            counted = self._counted
            self._rows = row_source(plan.source, plan.read, counted.plan, counted.skipped, executor)
        sizes = self._counted.cells.sizes
        n_rows = 0 if self._rows is None else self._rows.n_rows
        self._drawn = rows_drawn(plan, n_rows, int(sizes.sum()), self._n_blocks)
        check_budget(plan, n_losses(plan, sizes, self._drawn), executor.threads)
        self._tables = [self._table(part) for part in range(self.n_parts)]
        self._filled = [table.sizes >= 2 for table in self._tables]
        if not all(some.any() for some in self._filled):
            raise NoAnswerError("a part has too few rows: use more rows, or units that are smaller")

    def losses(self, part: int) -> Floats:
        """Block losses of the candidates in a part."""
        return self._values(self._tables[part].losses, part)

    def bounds(self) -> Floats:
        """Lower bounds of all distances, from block means of roots of losses."""
        first, some = self._tables[DISTANCE_PART], self._filled[DISTANCE_PART]
        return least_distances(first.roots[some].T, first.reach[some].max(axis=0))

    def distances(self, pairs: Sequence[Pair]) -> Floats:
        """Distances of pairs, from the round that asked for just these."""
        found = self._plan.keeper.round(round_of(pairs), lambda: {"gaps": self._gaps(pairs)})
        return lower_median(self._values(np.asarray(found["gaps"], np.float64), DISTANCE_PART))

    def _values(self, means: Floats, part: int) -> Floats:
        """Of the blocks with pairs, shape (m, K); what is not finite counts as +infinity."""
        some = means[self._filled[part]].T
        return np.where(np.isfinite(some), some, np.inf)

    def outcome(self, decided: Decided) -> TournamentOutcome:
        """The remarks on the rows."""
        state = self._counted.state
        n, (null, nan, inf) = int(state.n_rows.sum()), (int(k) for k in state.counts.reshape(-1, 3)[0])
        with np.errstate(over="ignore"):
            plain = np.concatenate(decided.losses, axis=1).mean(axis=1)
        return TournamentOutcome(
            decided,
            {"n_rows": n, "n_used": n - null - nan, "n_null": null, "n_nan": nan, "n_inf": inf},
            plain,
            np.sum([table.missing.sum(axis=0) for table in self._tables], axis=0),
            tuple(self._counted.skipped),
            intervals=self._drawn is None,
            cells=np.max([table.cells.max(axis=0) for table in self._tables], axis=0),
        )

    def _table(self, part: int) -> BlockLossTable:
        """Losses of all candidates on the blocks of a part; of the first part also the means of roots."""
        work = PairLosses(self._plan.field.candidates, part == DISTANCE_PART, self._plan.options.by_pairs)
        return BlockLossTable(**self._plan.keeper.round(f"pairs {part}", lambda: vars(self._run(part, work))))

    def _gaps(self, pairs: Sequence[Pair]) -> Floats:
        """Mean distances of pairs of candidates on the blocks of the first part."""
        chosen, places = numbered(pairs)
        mine = tuple(self._plan.field.candidates[i] for i in chosen)
        return self._run(DISTANCE_PART, PairLosses(mine, False, self._plan.options.by_pairs, places)).gaps

    def _run(self, part: int, work: PairLosses) -> BlockLossTable:
        """What is made of the blocks of a part."""
        if self._drawn is None or self._rows is None:
            mine = self._counted._replace(cells=_of_part(self._counted.cells, part, self._n_blocks))
            found: BlockLossTable
            (found,) = run_blocks([BlockQuestion((mine,), work)], self._executor, self._progress)
            return found
        degrees = (2,) if self._plan.options.by_pairs else ()
        (found,) = evaluate_draws(work, self._draws(part), [self._rows], self._progress, degrees=degrees)
        return found

    def _draws(self, part: int) -> DrawPlan:
        """Sampled blocks of a part: rows, or pairs of which both rows count or none."""
        assert self._drawn is not None and self._rows is not None
        seed, n_part = self._plan.seed, self._rows.n_rows // self.n_parts
        again, whole = self._plan.options.design.replace, self.n_parts * self._n_blocks
        if self._plan.options.by_pairs:
            key = stream_key(seed, "pairs")
            drawn = draw_tuples(key, (n_part,), (2,), whole, self._drawn, replace=again)
        else:
            n = np.array([n_part])
            drawn = draw_rows([n], [seed], whole, [self._drawn], replace=again, compiled=False)

        def draw(first: int, n: int) -> list[Ints]:
            # samples of the parts are independent
            (places,) = drawn.draw(part * self._n_blocks + first, n)
            return [rows_of_part(seed, self.n_parts, part, np.array(places))]

        return replace(drawn, n_rows=(self._rows.n_rows,), n_blocks=self._n_blocks, draw=draw)


def _counted(plan: TournamentPlan, executor: Executor, progress: Progress | None) -> tuple[Counted, int]:
    """The first pass, its cells the blocks of one part after the other; and how many a part has."""
    source, read, options, n_parts = plan.source, plan.read, plan.options, plan.options.n_parts
    blank = replace(
        options.rows,
        design=options.rows.design.with_number(n_parts * plan.n_blocks),
        contamination=None,
        joint="coordinatewise",
        interval="none",
    )
    first = plan_mean(source, read, blank, plan.seed, executor, progress, column_share(source, read))
    state, skipped = run_plan(first, 0, executor, progress)
    groups_of(first, state, ())  # there are rows
    count = row_and_cell_blocks(first, state.moments)[0].count[0]
    n_blocks, lowered = blocks_of_part(plan, int(count.sum()))
    cells = map_blocks(count, np.array([n_parts * n_blocks]), np.array([lowered]))
    every = list(dict.fromkeys([*plan.skipped, *skipped]))
    return Counted(source, first, state, every, cells, first.reader.options.value_names), n_blocks


def _of_part(cells: CellMap, part: int, n_blocks: int) -> CellMap:
    """The blocks of one part, numbered from 0; others are nobody's."""
    mine = cells.cells - part * n_blocks
    inside = (mine >= 0) & (mine < n_blocks)
    sizes = cells.sizes[part * n_blocks : (part + 1) * n_blocks]
    return CellMap(np.array([n_blocks]), np.where(inside, mine, -1), sizes, cells.lowered)


def blocks_of_part(plan: TournamentPlan, n_used: int) -> tuple[int, bool]:
    """How many blocks of a part so many rows can fill, and whether they are fewer than were asked for.

    NoAnswerError if that is none.
    """
    options, n_parts, wanted = plan.options, plan.options.n_parts, plan.n_blocks
    if n_used < 2 * n_parts:
        raise NoAnswerError(f"{n_used:,} usable rows are too few for {n_parts} parts; use more rows")
    if options.design.number is None and options.rows.contamination is None and not options.design.of_units:
        wanted = joined_blocks(n_used // (n_parts * PAIR_ROWS))
    numbers, lowered = given_numbers(np.array([n_used]), n_parts * wanted, 2)
    return wanted if options.design.sampled else int(numbers[0]) // n_parts, bool(lowered[0])


def rows_drawn(plan: TournamentPlan, n_rows: int, n_used: int, n_blocks: int) -> int | None:
    """Rows or pairs to draw for a sampled block: more than requested, as some rows will not count.

    ConfigError if a part has fewer.
    """
    options, n_parts, m = plan.options, plan.options.n_parts, len(plan.field.candidates)
    if not options.design.sampled:
        return None
    n_part, n_good, share = n_rows // n_parts, n_used // n_parts, n_used / n_rows
    again = options.design.replace
    if options.by_pairs:
        most = max(1, options.pair_budget // (n_parts * n_blocks * m))
        default = default_tuples(n_good, n_parts * n_blocks, replacement=again)
        drawn = math.ceil((options.pairs.n or min(most, default)) / share**2)
        return drawn if again else min(drawn, n_part * (n_part - 1) // 2)
    size = options.design.size or min(SAMPLED_ROWS, n_good)
    if not again and size > n_good:
        raise ConfigError(
            f"blocks: size: {size:,} rows without replacement from a part of {n_good:,} cannot be drawn; "
            "use fewer"
        )
    drawn = math.ceil(size / share)
    return drawn if again else min(n_part, drawn)


def n_losses(plan: TournamentPlan, sizes: Ints, drawn: int | None) -> int:
    """Losses to be evaluated on blocks of these sizes, or as large as was drawn; distances apart."""
    if drawn is None:
        exact = sizes.astype(object)
        n_pairs = int((exact * (exact - 1) // 2).sum())
    else:
        n_pairs = len(sizes) * (drawn if plan.options.by_pairs else drawn * (drawn - 1) // 2)
    return n_pairs * len(plan.field.candidates)


def check_budget(plan: TournamentPlan, n: int, threads: int) -> None:
    """ConfigError if more losses than the budget would be evaluated."""
    budget = plan.options.pair_budget
    if n > budget:
        raise ConfigError(
            f"{len(plan.field.candidates):,} candidates on all pairs of the blocks need {n:.2g} losses, "
            f"about {in_words(n / (RATE * threads))} on {threads} threads, which exceeds "
            f"the budget of {budget:.2g}; use SampledBlocks(size=…), SampledPairs(n), more blocks, or a "
            "larger budget"
        )


def describe_pairs(plan: TournamentPlan, executor: Executor) -> dict[str, Any]:
    """What the blocks cost, if all rows of the files count.

    ConfigError if a sample is larger than a part; NoAnswerError if there are too few rows.
    """
    assert plan.rows is not None
    n = sum(plan.rows)
    n_blocks, _ = blocks_of_part(plan, n)
    drawn, cells = rows_drawn(plan, n, n, n_blocks), plan.options.n_parts * n_blocks
    needed = n_losses(plan, np.full(cells, n // cells), drawn)
    return {
        "n_blocks": n_blocks,
        "scheme": plan.options.design.scheme,
        "drawn": drawn,
        "n_losses": needed,
        "seconds": round(needed / (RATE * executor.threads), 1),
    }
