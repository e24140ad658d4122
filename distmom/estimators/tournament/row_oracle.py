"""Losses of single rows: sums over the blocks of all parts in one pass, those of distances in one more."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial, reduce
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from distmom.cluster import check_memory, plan_units, run_units
from distmom.cluster.memory import program, told_memory
from distmom.cluster.work import ReadAndReduce
from distmom.errors import NoAnswerError
from distmom.estimators.mean.counts import check_state
from distmom.estimators.mean.plan import worth_compiling
from distmom.estimators.tournament.answer import TournamentOutcome
from distmom.estimators.tournament.state import numbered, round_of
from distmom.memory import Held, Memory
from distmom.numerics.arrays import Floats, Ints
from distmom.numerics.blocks.leaf import LEAF_ROWS
from distmom.numerics.losses.duels import block_values, least_distances
from distmom.numerics.median import lower_median
from distmom.passes.census import column_share
from distmom.passes.losses import batch_rows_of_losses
from distmom.passes.memory import reading_memory
from distmom.reductions.losses.block_distances import BlockDistances
from distmom.reductions.losses.block_losses import (
    BlockLosses,
    BlockLossState,
    beside,
    of_some,
)
from distmom.reductions.parts import Parts
from distmom.solvers.tournament import DISTANCE_PART, Decided, Pair
from distmom.theory.planning import joined_blocks

if TYPE_CHECKING:
    from distmom.cluster import Executor, Progress, Unit
    from distmom.estimators.tournament.plan import TournamentPlan
    from distmom.lake import ReadOptions, Source

TOGETHER = 128
"""Candidates whose losses are summed in one pass; more take several passes, so that memory does not grow."""

TALLIED = ("n_rows", "n_null", "n_nan", "n_inf")
"""The name in results of the rows that the first pass counts."""

PAIRS_TOGETHER = 65_536
COLUMNS_TOGETHER = 512
"""First and second candidates of the pairs whose distances one pass sums."""

STATES = 16
"""States of losses: at work, waiting, being merged."""


class RowOracle:
    """Answers a tournament of single rows, by passes over the lake whose rounds are kept."""

    def __init__(self, plan: TournamentPlan, executor: Executor, progress: Progress | None) -> None:
        self._plan, self._executor, self._progress = plan, executor, progress
        self._source, self._skipped = plan.source, list(plan.skipped)
        self.n_parts = plan.options.n_parts
        self._state = self._all_losses()
        counts = self._state.counts.reshape(self.n_parts, -1)
        self._width = _width(plan, counts)
        self._counts = self._joined(counts)

    def losses(self, part: int) -> Floats:
        """Block losses of the candidates in a part."""
        sums = self._state.losses.reshape(len(self._state.losses), self.n_parts, -1)[:, part]
        return block_values(self._joined(sums), self._counts[part])

    def bounds(self) -> Floats:
        """Lower bounds of all distances, from block means of what distances are measured by."""
        sums, counts = self._joined(self._state.measures), self._counts[DISTANCE_PART]
        with np.errstate(invalid="ignore"):
            means = sums[:, counts > 0] / counts[counts > 0]
        return least_distances(means, self._state.reach)

    def distances(self, pairs: Sequence[Pair]) -> Floats:
        """Distances of pairs, from the round that asked for just these."""
        found = self._plan.keeper.round(round_of(pairs), lambda: {"sums": self._sums(pairs)})
        sums = self._joined(np.asarray(found["sums"], np.float64))
        return lower_median(block_values(sums, self._counts[DISTANCE_PART]))

    def outcome(self, decided: Decided) -> TournamentOutcome:
        """The remarks on the rows."""
        state = self._state
        n_used = int(state.counts.sum())
        with np.errstate(over="ignore", invalid="ignore"):
            plain = state.losses.sum(axis=1) / n_used
        return TournamentOutcome(
            decided,
            {"n_used": n_used, **dict(zip(TALLIED, state.tally.tolist(), strict=True))},
            np.where(np.isfinite(plain), plain, np.inf),
            state.missing,
            tuple(self._skipped),
        )

    def _joined(self, sums: NDArray[Any]) -> NDArray[Any]:
        """Sums over neighbouring blocks, along the last axis."""
        if self._width == 1:
            return sums
        with np.errstate(over="ignore", invalid="ignore"):
            return np.asarray(sums.reshape(*sums.shape[:-1], -1, self._width).sum(axis=-1))

    def _all_losses(self) -> BlockLossState:
        """Block losses of all candidates, some of them in one pass."""
        m = len(self._plan.field.candidates)
        states = []
        for start in range(0, m, TOGETHER):
            play = partial(self._losses_of, range(start, min(m, start + TOGETHER)))
            states.append(BlockLossState(**self._plan.keeper.round(f"losses {start}", play)))
        state = reduce(beside, states)
        if not state.counts.any():
            raise NoAnswerError(
                "no rows with a target: all are null, NaN or filtered; check target and where"
            )
        return state

    def _losses_of(self, chosen: Sequence[int]) -> dict[str, NDArray[Any]]:
        """Block losses of some neighbouring candidates, in one pass unless another one has them."""
        if self._plan.known is not None:
            return vars(of_some(self._plan.known, slice(chosen[0], chosen[-1] + 1)))
        read, of = declare(self._plan, self._source, chosen)
        found: BlockLossState = self._run(read, of, of)
        return vars(found)

    def _sums(self, pairs: Sequence[Pair]) -> Floats:
        """Sums of the distances of pairs over the blocks of the first part; shape (n, n_blocks)."""
        asked = np.array(pairs, np.int32).reshape(-1, 2)
        sums = np.empty((len(asked), self._plan.n_blocks))
        tiles = asked // COLUMNS_TOGETHER
        for tile in np.unique(tiles, axis=0):
            inside = np.flatnonzero((tiles == tile).all(axis=1))
            for start in range(0, inside.size, PAIRS_TOGETHER):
                mine = inside[start : start + PAIRS_TOGETHER]
                chosen, places = numbered(asked[mine].tolist())
                read, of = declare(self._plan, self._source, chosen)
                sums[mine] = self._run(read, BlockDistances(of, places), of)
        return sums

    def _run(self, read: ReadOptions, reduction: Any, of: BlockLosses) -> Any:
        """One pass over the files that could be read so far."""
        options, executor = self._plan.options, self._executor
        needed = unit_memory(self._source, read, of, reduction.state_bytes(), executor)
        units = units_that_fit(self._plan, self._source, read, needed, executor)
        work = ReadAndReduce(
            self._source.reader(read),
            reduction,
            on_bad_file=options.rows.on_bad_file,  # type: ignore[arg-type]
            unit_seed=self._plan.seed if read.units else None,
            compiled=of.compiled,
        )
        found = run_units(work, units, reduction.merge, executor, progress=self._progress)
        if found.skipped:  # what could not be read in one pass is not read in the next one
            self._skipped += found.skipped
            bad = {s.file for s in found.skipped}
            left = tuple(f for f in self._source.files if f.path not in bad)
            self._source = replace(self._source, files=left)  # type: ignore[type-var]
        check_state(found.state, self._skipped, filtered=read.where is not None)
        return found.state


def units_that_fit(
    plan: TournamentPlan, source: Source, read: ReadOptions, needed: Memory, executor: Executor
) -> tuple[Unit, ...]:
    """The units of one pass; ResourceError if the memory does not suffice for them."""
    units = plan_units(
        source.files,
        plan.rows if plan.options.rows.on_bad_file != "skip" else None,
        column_share=column_share(source, read),
        threads=executor.threads,
        leaf_rows=LEAF_ROWS,
    )
    worst = max(units, key=lambda u: u.n_bytes, default=None)
    name = "the data" if worst is None else worst.name
    check_memory(needed, executor, name)
    return units


def declare(plan: TournamentPlan, source: Source, chosen: Sequence[int]) -> tuple[ReadOptions, BlockLosses]:
    """What to read for some candidates, and what to keep of it."""
    options, field = plan.options, plan.field.of(chosen)
    n_rows = min(plan.read.batch_rows, batch_rows_of_losses(len(field.columns)))
    read = replace(plan.read, columns=field.columns, batch_rows=n_rows)
    unit = ("file" if options.design.by_file else "columns") if options.design.of_units else None
    parts = Parts(plan.seed, options.n_parts, plan.n_blocks, options.design.chunk_rows, unit)
    compiled = worth_compiling(source.files, column_share(source, read))
    loss = options.row_loss()
    return read, BlockLosses(field.candidates, loss, options.measured, parts, 0, compiled)


def unit_memory(
    source: Source, read: ReadOptions, of: BlockLosses, state_bytes: int, executor: Executor
) -> Memory:
    """What is decoded, leaves of features and predictions, and states of blocks."""
    extent = source.extent(read.names)
    rows = LEAF_ROWS if extent is None else min(LEAF_ROWS, extent.rows)
    computed = any(c.computed for c in of.candidates)
    remedy = "use fewer candidates or columns"
    predictions = 8 * rows * (3 * len(read.columns) + len(of.candidates)) if computed else 0
    more = Memory(
        (
            Held("predictions", predictions, remedy=remedy),
            Held("losses of blocks", STATES * state_bytes, remedy=remedy),
        )
    )
    return program(executor, compiled=of.compiled) + reading_memory(read, extent, by_leaf=computed) + more


def describe_rows(plan: TournamentPlan, executor: Executor, survey: Memory) -> dict[str, Any]:
    """What the passes read and hold, or the survey before them."""
    m = len(plan.field.candidates)
    read, of = declare(plan, plan.source, range(min(TOGETHER, m)))
    needed = unit_memory(plan.source, read, of, of.state_bytes(), executor)
    return {
        "n_units": len(units_that_fit(plan, plan.source, read, needed, executor)),
        "n_passes_for_losses": -(-m // TOGETHER),
        **told_memory(needed.or_larger(survey, executor.threads_per_process), executor),
        "engine": "compiled" if of.compiled else "numpy",
    }


def _width(plan: TournamentPlan, counts: Ints) -> int:
    """How many neighbouring blocks are merged if their number is automatic and rows are few."""
    per_part = counts.sum(axis=1)
    empty = np.flatnonzero(per_part == 0)
    if empty.size:
        raise NoAnswerError(
            f"part {empty[0] + 1} of {len(counts)} has no rows: {int(counts.sum()):,} in all are too few "
            "for a tournament; use more rows, or units that are smaller"
        )
    if plan.options.design.number is not None or plan.options.rows.contamination is not None:
        return 1
    return int(counts.shape[1]) // joined_blocks(int(per_part.min()))
