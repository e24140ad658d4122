"""Losses of pairs on whole blocks of rows in two parts, or on samples of rows or of pairs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from dataclasses import field as attribute
from typing import TYPE_CHECKING, Any

import numpy as np

from distmom.errors import ConfigError, NoAnswerError
from distmom.estimators.mean.answer import groups_of
from distmom.estimators.mean.mean import run_plan
from distmom.estimators.mean.partition import row_and_cell_blocks
from distmom.estimators.mean.plan import plan_mean
from distmom.estimators.options import MOST_BLOCKS
from distmom.estimators.tournament.options import TournamentOptions
from distmom.estimators.tournament.pair_candidates import PairField
from distmom.estimators.tournament.plan import contaminated_parts, number_of
from distmom.estimators.ustat.cost import in_words
from distmom.estimators.ustat.sampled_blocks import block_rows, evaluated
from distmom.estimators.ustat.sampled_tuples import MOST_ROWS
from distmom.numerics.arrays import Bools, Ints
from distmom.numerics.random.part_rows import rows_of_part
from distmom.numerics.random.philox import stream_key
from distmom.numerics.random.tuple_draws import sample_tuples
from distmom.numerics.samples.row_samples import RowSamples
from distmom.numerics.samples.wanted_rows import distinct
from distmom.passes.block_pass import Counted, Question, run_blocks
from distmom.passes.cell_map import CellMap, given_numbers, map_blocks
from distmom.passes.census import column_share, count_rows
from distmom.passes.gather import RowSource, gather_rows, row_source
from distmom.passes.opening import refuse_times
from distmom.reductions.losses.block_by_block import BlockLossTable
from distmom.reductions.losses.pair_losses import PairLosses
from distmom.theory import default_tuples, joined_blocks
from distmom.theory.parts import AUTOMATIC

if TYPE_CHECKING:
    from distmom.cluster import Executor, Progress
    from distmom.cluster.work import SkippedFile
    from distmom.lake import ReadOptions, Source

PAIR_ROWS = 4
"""Times as many rows as blocks of single rows have at least, since pairs of few rows are alike."""

SAMPLED_ROWS = 256
"""Rows of a sampled block unless another number is given."""

RATE = 3e7
"""Losses a second on one thread, roughly."""


@dataclass
class BlockArena:
    """Where candidates meet on blocks whose rows are together: evaluates those of a part.

    Attributes
    ----------
    source : Source
    read : ReadOptions
    field : PairField
    options : TournamentOptions
    seed : int
    executor : Executor
    progress : Progress or None
    counted : Counted
        The first pass; its cells are the blocks of both parts, one part after the other.
    n_blocks : int
        Of a part.
    rows : RowSource or None
        Where samples are drawn from.
    drawn : int or None
        Rows or pairs of a sampled block.
    outlying : int or None
        Rows (or units) that may be arbitrary.
    """

    source: Source
    read: ReadOptions
    field: PairField
    options: TournamentOptions
    seed: int
    executor: Executor
    progress: Progress | None
    counted: Counted
    n_blocks: int
    rows: RowSource | None = None
    drawn: int | None = None
    outlying: int | None = None
    more_skipped: dict[SkippedFile, None] = attribute(default_factory=dict)

    @property
    def skipped(self) -> list[SkippedFile]:
        """Files that were left out."""
        return list(dict.fromkeys([*self.counted.skipped, *self.more_skipped]))

    @property
    def tally(self) -> tuple[int, int, int, int]:
        """Rows that passed the filter, and of these the nulls, NaNs and infinities."""
        state = self.counted.state
        null, nan, inf = (int(n) for n in state.counts.reshape(-1, 3)[0])
        return int(state.n_rows.sum()), null, nan, inf

    def losses(self, part: int) -> BlockLossTable:
        """Losses of all candidates on the blocks of a part; of the first one the means of their roots too."""
        return self._run(part, PairLosses(self.field.candidates, part == 0, self._by_pairs))

    def distances(self, pairs: Sequence[tuple[int, int]]) -> BlockLossTable:
        """Distances of candidates on the blocks of the first part."""
        chosen, places = np.unique(np.array(pairs, np.int32).reshape(-1, 2), return_inverse=True)
        mine = tuple(self.field.candidates[i] for i in chosen.tolist())
        return self._run(0, PairLosses(mine, False, self._by_pairs, places.reshape(-1, 2).astype(np.int32)))

    @property
    def _by_pairs(self) -> bool:
        return self.options.pairs == "incomplete"

    def _run(self, part: int, work: PairLosses) -> BlockLossTable:
        if self.drawn is None or self.rows is None:
            mine = self.counted._replace(cells=_of_part(self.counted.cells, part, self.n_blocks))
            found: BlockLossTable
            (found,) = run_blocks([Question((mine,), work)], self.executor, self.progress)
            return found
        rows = self.rows
        state: BlockLossTable | None = None
        step = max(1, MOST_ROWS // (self.drawn * (2 if self._by_pairs else 1)))
        for first in range(0, self.n_blocks, step):
            numbers = self._draw(part, first, min(step, self.n_blocks - first), rows.rows)
            wanted = distinct(numbers)
            gathered, bad = gather_rows(rows, wanted, self.progress)
            self.more_skipped |= dict.fromkeys(bad)
            if self._by_pairs:
                numbers = _whole_pairs(numbers, wanted, gathered.used)
            blocks = block_rows(gathered.values, gathered.used, wanted, numbers)
            more = evaluated(work, work.merge, [blocks], self.executor)
            state = more if state is None else work.merge(state, more)
        assert state is not None
        return state

    def _draw(self, part: int, first: int, n: int, file_rows: Ints) -> Any:
        """Row numbers of some sampled blocks of a part; of pairs the first rows, then the second ones."""
        assert self.drawn is not None
        n_parts = self.options.n_parts
        n_part = int(file_rows.sum()) // n_parts
        again = self.options.scheme == "monte_carlo"
        first += part * self.n_blocks  # samples of the parts are independent
        if self._by_pairs:
            key = stream_key(self.seed, "pairs")
            pairs = [
                sample_tuples(key, b, (n_part,), (2,), self.drawn, replace=again)
                for b in range(first, first + n)
            ]
            places = np.array([np.concatenate(sides) for sides in pairs])
        else:
            samples = RowSamples(self.seed, np.array([n_part]), self.drawn, again)
            places = samples.numbers(first, n)
        return rows_of_part(self.seed, n_parts, part, places)

    def describe(self) -> dict[str, Any]:
        """Numbers for people who look before they run."""
        plan, n_losses = self.counted.plan, self.n_losses()
        return {
            "n_files": len(self.source.files),
            "n_bytes": plan.n_bytes,
            "n_rows": self.tally[0],
            "n_candidates": len(self.field.candidates),
            "n_parts": self.options.n_parts,
            "n_blocks": self.n_blocks,
            "scheme": self.options.scheme,
            "drawn": self.drawn,
            "contamination": self.outlying,
            "n_losses": n_losses,
            "seconds": round(n_losses / (RATE * self.executor.threads), 1),
            "threads": self.executor.threads,
        }

    def n_losses(self) -> int:
        """Losses to be evaluated, distances apart."""
        if self.drawn is None:
            sizes = self.counted.cells.sizes.astype(object)
            n_pairs = int((sizes * (sizes - 1) // 2).sum())
        else:
            each = self.drawn if self._by_pairs else self.drawn * (self.drawn - 1) // 2
            n_pairs = self.options.n_parts * self.n_blocks * each
        return n_pairs * len(self.field.candidates)


def open_block_arena(
    source: Source,
    read: ReadOptions,
    field: PairField,
    options: TournamentOptions,
    seed: int,
    executor: Executor,
    progress: Progress | None,
) -> BlockArena:
    """Count the rows, and lay the blocks of both parts out.

    Raises
    ------
    ConfigError
        More losses than `pair_budget` would be evaluated, or there are more blocks than are allowed.
    NoAnswerError
        There are too few rows for two parts.
    """
    # names and types are told before anything is counted
    refuse_times(source.reader(read).options, "losses take numbers")
    wanted, outlying = AUTOMATIC if options.n_blocks == "auto" else int(options.n_blocks), None
    if options.contamination is not None:
        rows = count_rows(source, executor, options.on_bad_file).rows.tolist()
        n_rows = number_of(source, read, options, [max(n, 0) for n in rows], executor, progress)
        wanted, outlying = contaminated_parts(options, n_rows)
    n_parts = options.n_parts
    if n_parts * wanted > MOST_BLOCKS:
        raise ConfigError(f"n_blocks: {n_parts} parts of {wanted:,} blocks exceed {MOST_BLOCKS:,}; lower it")
    blank = replace(
        options.common,
        n_blocks=n_parts * wanted,
        contamination=None,
        joint="coordinatewise",
        interval="none",
    )
    plan = plan_mean(source, read, blank, seed, executor, progress, column_share(source, read))
    state, skipped = run_plan(plan, 0, executor, progress)
    groups_of(plan, state, ())  # there are rows
    count = row_and_cell_blocks(plan, state.moments)[0].count[0]
    n = int(count.sum())
    if n < 2 * n_parts:
        raise NoAnswerError(f"{n:,} rows that count are too few for {n_parts} parts; use more rows")
    if options.n_blocks == "auto" and options.contamination is None and options.block_by is None:
        wanted = joined_blocks(n // (n_parts * PAIR_ROWS))
    numbers, lowered = given_numbers(count.sum(axis=1), n_parts * wanted, 2)
    n_blocks = wanted if options.sampled else int(numbers[0]) // n_parts
    cells = map_blocks(count, np.array([n_parts * n_blocks]), lowered)
    counted = Counted(source, plan, state, skipped, cells, plan.reader.options.value_names)
    arena = BlockArena(source, read, field, options, seed, executor, progress, counted, n_blocks)
    arena.outlying = outlying
    if options.sampled:
        rows_of_all = row_source(source, read, plan, skipped, executor)
        arena.rows = replace(rows_of_all, reader=source.reader(read))
        arena.drawn = _drawn(options, arena.rows.n_rows, n, n_blocks, len(field.candidates))
    _check_budget(arena)
    return arena


def _drawn(options: TournamentOptions, n_rows: int, n_used: int, n_blocks: int, m: int) -> int:
    """Rows or pairs to draw for a sampled block: more than are asked for, as some rows will not count."""
    n_parts = options.n_parts
    n_part, n_good, share = n_rows // n_parts, n_used // n_parts, n_used / n_rows
    again = options.scheme == "monte_carlo"
    if options.pairs == "incomplete":
        most = max(1, options.pair_budget // (n_parts * n_blocks * m))
        default = default_tuples(n_good, n_parts * n_blocks, replacement=again)
        drawn = math.ceil((options.n_pairs or min(most, default)) / share**2)
        return drawn if again else min(drawn, n_part * (n_part - 1) // 2)
    size = options.block_size or min(SAMPLED_ROWS, n_good)
    if not again and size > n_good:
        raise ConfigError(
            f"block_size: {size:,} rows without replacement from a part of {n_good:,} cannot be drawn; "
            "use fewer"
        )
    drawn = math.ceil(size / share)
    return drawn if again else min(n_part, drawn)


def _check_budget(arena: BlockArena) -> None:
    n, budget = arena.n_losses(), arena.options.pair_budget
    if n > budget:
        raise ConfigError(
            f"{len(arena.field.candidates):,} candidates on all pairs of the blocks are {n:.2g} losses, "
            f"{in_words(n / (RATE * arena.executor.threads))} or so on {arena.executor.threads} threads and "
            f"more than pair_budget={budget:.2g}; use scheme='swor' with a block_size, pairs='incomplete', "
            "more blocks, or a larger pair_budget"
        )


def _of_part(cells: CellMap, part: int, n_blocks: int) -> CellMap:
    """The blocks of one part, numbered from 0; others are nobody's."""
    mine = cells.cells - part * n_blocks
    inside = (mine >= 0) & (mine < n_blocks)
    sizes = cells.sizes[part * n_blocks : (part + 1) * n_blocks]
    return CellMap(np.array([n_blocks]), np.where(inside, mine, -1), sizes, cells.lowered)


def _whole_pairs(numbers: Any, wanted: Ints, used: Bools) -> Any:
    """Both rows of a pair or none: where one does not count, a row that does not stands for both."""
    if used.all():
        return numbers
    counts = used[np.searchsorted(wanted, numbers)].reshape(len(numbers), 2, -1).all(axis=1)
    absent = wanted[np.flatnonzero(~used)[0]]
    return np.where(np.concatenate([counts, counts], axis=1), numbers, absent)
