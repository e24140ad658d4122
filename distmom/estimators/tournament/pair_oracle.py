"""Losses of pairs, on blocks whose rows are brought together: whole ones, samples of rows or of pairs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, cast

import numpy as np

from distmom.errors import NoAnswerError
from distmom.estimators.mean.counts import groups_of
from distmom.estimators.mean.partition import row_and_cell_blocks
from distmom.estimators.mean.plan import MeanPlan, plan_mean
from distmom.estimators.mean.question import run_plan
from distmom.estimators.tournament.outcome import Outcome, numbered, round_of
from distmom.estimators.tournament.pair_blocks import blocks_of_part, check_budget, n_losses, rows_drawn
from distmom.estimators.ustat.files import disagreeing_columns, disagreement_note
from distmom.numerics.arrays import Floats, Ints
from distmom.numerics.losses.duels import least_distances
from distmom.numerics.median import lower_median
from distmom.numerics.random.part_rows import rows_of_part
from distmom.numerics.random.philox import stream_key
from distmom.passes.block_pass import Counted, Question, run_blocks
from distmom.passes.cell_map import CellMap, map_blocks
from distmom.passes.census import column_share
from distmom.passes.drawn_blocks import evaluate_draws
from distmom.passes.draws import DrawPlan, draw_rows, draw_tuples
from distmom.passes.gather import RowSource, row_source
from distmom.reductions.losses.pair_losses import BlockLossTable, PairLosses
from distmom.solvers.tournament import DISTANCE_PART, Decided, Pair

if TYPE_CHECKING:
    from distmom.cluster import Executor, Progress
    from distmom.estimators.tournament.plan import TournamentPlan
    from distmom.estimators.tournament.state import RoundKeeper


class PairOracle:
    """Answers a tournament of pairs of rows: they are counted first, then a round evaluates each part."""

    def __init__(
        self, plan: TournamentPlan, executor: Executor, progress: Progress | None, keeper: RoundKeeper
    ) -> None:
        self._plan, self._executor, self._progress, self._keeper = plan, executor, progress, keeper
        self.n_parts = plan.options.n_parts
        self._counted, self._n_blocks = _counted(plan, executor, progress)
        self._rows: RowSource | None = None
        if plan.options.sampled:
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
        return _values(self._tables[part].losses[self._filled[part]].T)

    def bounds(self) -> Floats:
        """Lower bounds of all distances, from block means of roots of losses."""
        first, some = self._tables[DISTANCE_PART], self._filled[DISTANCE_PART]
        return least_distances(first.roots[some].T, first.reach[some].max(axis=0))

    def distances(self, pairs: Sequence[Pair]) -> Floats:
        """Distances of pairs, from the round that asked for just these."""
        found = self._keeper.round(round_of("gaps", pairs), lambda: {"gaps": self._gaps(pairs)})
        gaps = np.asarray(found["gaps"], np.float64)
        return lower_median(_values(gaps[self._filled[DISTANCE_PART]].T))

    def outcome(self, decided: Decided) -> Outcome:
        """What there is to say of the rows."""
        state = self._counted.state
        n, (null, nan, inf) = int(state.n_rows.sum()), (int(k) for k in state.counts.reshape(-1, 3)[0])
        # bad files are heard by the means of the columns, as U-statistics hear them
        (columns,) = disagreeing_columns(cast("MeanPlan", self._counted.plan), state) or ((),)
        note = disagreement_note(columns) if columns else None
        with np.errstate(over="ignore"):
            plain = np.concatenate(decided.losses, axis=1).mean(axis=1)
        return Outcome(
            decided,
            (n, n - null - nan, null, nan, inf),
            plain,
            np.sum([table.missing.sum(axis=0) for table in self._tables], axis=0),
            tuple(self._counted.skipped),
            (note,) * len(plain),
            intervals=self._drawn is None,
            cells=np.max([table.cells.max(axis=0) for table in self._tables], axis=0),
        )

    def _table(self, part: int) -> BlockLossTable:
        """Losses of all candidates on the blocks of a part; of the first one the means of their roots too."""
        work = PairLosses(self._plan.field.candidates, part == DISTANCE_PART, self._by_pairs)
        return BlockLossTable(**self._keeper.round(f"pairs {part}", lambda: vars(self._run(part, work))))

    def _gaps(self, pairs: Sequence[Pair]) -> Floats:
        """Mean distances of pairs of candidates on the blocks of the first part."""
        chosen, places = numbered(pairs)
        mine = tuple(self._plan.field.candidates[i] for i in chosen)
        return self._run(DISTANCE_PART, PairLosses(mine, False, self._by_pairs, places)).gaps

    @property
    def _by_pairs(self) -> bool:
        return self._plan.options.pairs.name == "incomplete"

    def _run(self, part: int, work: PairLosses) -> BlockLossTable:
        """What is made of the blocks of a part."""
        if self._drawn is None or self._rows is None:
            mine = self._counted._replace(cells=_of_part(self._counted.cells, part, self._n_blocks))
            found: BlockLossTable
            (found,) = run_blocks([Question((mine,), work)], self._executor, self._progress)
            return found
        degree = 2 if self._by_pairs else 1
        found = evaluate_draws(
            work, work.merge, self._draws(part), [self._rows], self._progress, degree=degree
        )
        return found

    def _draws(self, part: int) -> DrawPlan:
        """Sampled blocks of a part: rows, or pairs of which both rows count or none."""
        assert self._drawn is not None and self._rows is not None
        seed, n_part = self._plan.seed, self._rows.n_rows // self.n_parts
        again, whole = self._plan.options.design.replace, self.n_parts * self._n_blocks
        if self._by_pairs:
            key = stream_key(seed, "pairs")
            drawn = draw_tuples(key, (n_part,), (2,), whole, self._drawn, replace=again, compiled=False)
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
    common = options.common
    blank = replace(
        common,
        design=common.design.with_number(n_parts * plan.n_blocks),
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


def _values(means: Floats) -> Floats:
    """What is not finite counts as +infinity."""
    return np.where(np.isfinite(means), means, np.inf)
