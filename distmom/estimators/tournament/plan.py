"""The passes of a tournament over the data: which rows, in which parts and blocks, on which units of work."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from distmom.cluster import check_memory, plan_units, run_units
from distmom.cluster.memory import in_words
from distmom.cluster.work import ReadAndReduce, SkippedFile
from distmom.designs.blocks import MOST_BLOCKS
from distmom.errors import ConfigError
from distmom.estimators.mean.blocks import FINE_OF_GROUP, LEAST_FILES, PLENTY
from distmom.estimators.mean.contamination import counted_as, outlying_number
from distmom.estimators.mean.plan import worth_compiling
from distmom.estimators.mean.question import check_state
from distmom.estimators.tournament.candidates import Field
from distmom.estimators.tournament.options import TournamentOptions
from distmom.lake import ReadOptions
from distmom.numerics.blocks.leaf import LEAF_ROWS
from distmom.passes.census import column_share, count_rows, count_valid
from distmom.passes.opening import refuse_times
from distmom.reductions.losses.block_distances import BlockDistances
from distmom.reductions.losses.block_losses import BlockLosses, BlockLossState
from distmom.reductions.parts import Parts
from distmom.theory.parts import AUTOMATIC, part_blocks

if TYPE_CHECKING:
    from distmom.cluster import Executor, Progress
    from distmom.lake import Source

TOGETHER = 128
"""Candidates whose losses are summed in one pass: more are taken in turns, so that memory does not grow."""

BATCH_BYTES = 16_000_000
LEAST_BATCH_ROWS = 8_192
PAIRS_TOGETHER = 65_536
COLUMNS_TOGETHER = 512
"""Candidates from which the first ones of pairs are, and the second ones, whose distances one pass sums."""

COLUMN_BYTES = 2_500_000
"""Memory of a reader for each column: its buffer and the page being decoded."""

LARGE_FILE = 64_000_000


@dataclass
class Arena:
    """Where candidates meet: runs a pass for losses, or for distances.

    Attributes
    ----------
    source : Source
    read : ReadOptions
        With the columns of all candidates.
    field : Field
    options : TournamentOptions
    parts : Parts
    executor : Executor
    progress : Progress or None
    rows : list of int or None
        Rows of each file where they are known.
    skipped : list of SkippedFile
    outlying : int or None
        Rows (or units) that may be arbitrary.
    n_file_cells : int
        Cells of whole files, by which bad files are heard; 0 where files are few, or blocks of units.
    """

    source: Source
    read: ReadOptions
    field: Field
    options: TournamentOptions
    parts: Parts
    executor: Executor
    progress: Progress | None
    rows: list[int] | None
    skipped: list[SkippedFile]
    outlying: int | None = None
    n_file_cells: int = 0

    def losses(self, chosen: Sequence[int]) -> BlockLossState:
        """Block losses of some of the candidates, in one pass."""
        read, reduction = self._declare(chosen)
        found = self._run(read, reduction, reduction.state_bytes(), reduction)
        assert isinstance(found, BlockLossState)
        return found

    def distances(self, pairs: Sequence[tuple[int, int]]) -> NDArray[np.float64]:
        """Sums of the distances of pairs over the blocks of the first part; shape (n, n_blocks)."""
        asked = np.array(pairs, np.int32).reshape(-1, 2)
        sums = np.empty((len(asked), self.parts.n_blocks))
        tiles = asked // COLUMNS_TOGETHER
        for tile in np.unique(tiles, axis=0):
            inside = np.flatnonzero((tiles == tile).all(axis=1))
            for start in range(0, inside.size, PAIRS_TOGETHER):
                mine = inside[start : start + PAIRS_TOGETHER]
                chosen, places = np.unique(asked[mine], return_inverse=True)
                read, of = self._declare(chosen.tolist())
                reduction = BlockDistances(of, places.reshape(-1, 2).astype(np.int32))
                sums[mine] = self._run(read, reduction, reduction.state_bytes(), of)
        return sums

    def _declare(self, chosen: Sequence[int]) -> tuple[ReadOptions, BlockLosses]:
        field = self.field.of(chosen)
        most = max(LEAST_BATCH_ROWS, BATCH_BYTES // (8 * len(field.columns)))
        read = replace(
            self.read, columns=field.columns, batch_rows=min(self.read.batch_rows, most, LEAF_ROWS)
        )
        share = column_share(self.source, read)
        loss, measured = self.options.row_loss(), self.options.measured
        compiled = worth_compiling(self.source.files, share)
        return read, BlockLosses(field.candidates, loss, measured, self.parts, 0, compiled, self.n_file_cells)

    def _run(self, read: ReadOptions, reduction: Any, state_bytes: int, of: BlockLosses) -> Any:
        files = self.source.files
        share = column_share(self.source, read)
        may_cut = self.options.on_bad_file != "skip"
        units = plan_units(
            files,
            self.rows if may_cut else None,
            column_share=share,
            threads=self.executor.threads,
            leaf_rows=LEAF_ROWS,
        )
        worst = max(units, key=lambda u: u.n_bytes, default=None)
        check_memory(
            unit_memory(read, of, state_bytes),
            self.executor.threads_per_process,
            self.executor.memory,
            "the data" if worst is None else worst.name,
        )
        reader = self.source.reader(read)
        work = ReadAndReduce(
            reader,
            reduction,
            on_bad_file=self.options.on_bad_file,  # type: ignore[arg-type]
            unit_seed=self.parts.seed if read.units else None,
            compiled=of.compiled,
        )
        found = run_units(work, units, reduction.merge, self.executor, progress=self.progress)
        self._leave_out(found.skipped)
        check_state(found.state, self.skipped, filtered=read.where is not None)
        return found.state

    def _leave_out(self, skipped: Sequence[SkippedFile]) -> None:
        """Files that could not be read in one pass are not read in the next one."""
        if not skipped:
            return
        self.skipped += skipped
        bad = {s.file for s in skipped}
        self.source = replace(  # type: ignore[type-var]
            self.source, files=tuple(f for f in self.source.files if f.path not in bad)
        )

    def describe(self) -> dict[str, Any]:
        """Numbers for people who look before they run."""
        read, of = self._declare(range(min(TOGETHER, len(self.field.candidates))))
        share = column_share(self.source, self.read)
        n_bytes = sum(f.size for f in self.source.files)
        each = unit_memory(read, of, of.state_bytes())
        units = plan_units(self.source.files, self.rows, column_share=share, threads=self.executor.threads)
        return {
            "n_files": len(self.source.files),
            "n_bytes": int(n_bytes * share),
            "n_rows": None if self.rows is None else sum(self.rows),
            "n_units": len(units),
            "n_candidates": len(self.field.candidates),
            "n_passes_for_losses": -(-len(self.field.candidates) // TOGETHER),
            "n_parts": self.parts.n_parts,
            "n_blocks": self.parts.n_blocks,
            "contamination": self.outlying,
            "projected_memory_per_process": in_words(each * self.executor.threads_per_process),
            "threads": self.executor.threads,
            "engine": "compiled" if of.compiled else "numpy",
        }


def unit_memory(read: ReadOptions, of: BlockLosses, state_bytes: int) -> int:
    """Projected bytes of one unit at work: batches being decoded, leaves of features, and states."""
    width = 8 * (len(read.columns) + 3 * len(read.units)) + 8
    rows = 3 * read.batch_rows
    if any(c.computed for c in of.candidates):
        rows += 3 * LEAF_ROWS
    predictions = 8 * LEAF_ROWS * len(of.candidates) if any(c.computed for c in of.candidates) else 0
    return rows * width + predictions + 16 * state_bytes + COLUMN_BYTES * len(read.columns)


def open_arena(
    source: Source,
    read: ReadOptions,
    field: Field,
    options: TournamentOptions,
    seed: int,
    executor: Executor,
    progress: Progress | None,
) -> Arena:
    """Count rows where blocks depend on them, and lay the parts out."""
    # names and types are told before anything is counted
    refuse_times(source.reader(read).options, "losses take numbers")
    skipped: list[SkippedFile] = []
    rows: list[int] | None = None
    once = bool(getattr(source, "one_pass", False))
    large = any(f.size > LARGE_FILE for f in source.files)
    by_rows = options.contamination is not None and options.block_by is None
    if by_rows or large or (source.in_memory and not once):
        census = count_rows(source, executor, options.on_bad_file)
        good = [f for f, n in zip(source.files, census.rows.tolist(), strict=True) if n >= 0]
        rows = [n for n in census.rows.tolist() if n >= 0]
        source = replace(source, files=tuple(good)) if census.bad else source  # type: ignore[type-var]
        skipped += census.bad
    n_blocks, outlying = AUTOMATIC if options.n_blocks == "auto" else int(options.n_blocks), None
    if options.contamination is not None:
        n_rows = number_of(source, read, options, rows, executor, progress)
        n_blocks, outlying = contaminated_parts(options, n_rows)
    n_parts = options.n_parts
    if n_parts * n_blocks > MOST_BLOCKS:
        raise ConfigError(
            f"blocks: {n_parts} parts of {n_blocks:,} blocks exceed {MOST_BLOCKS:,}; lower contamination "
            "or n_blocks, or take the worst rows out by where"
        )
    unit = None if options.block_by is None else "file" if options.block_by == "file" else "columns"
    parts = Parts(seed, n_parts, n_blocks, options.chunk_rows, unit)
    cells = FINE_OF_GROUP if unit is None and len(source.files) >= LEAST_FILES else 0
    return Arena(source, read, field, options, parts, executor, progress, rows, skipped, outlying, cells)


def number_of(
    source: Source,
    read: ReadOptions,
    options: TournamentOptions,
    rows: list[int] | None,
    executor: Executor,
    progress: Progress | None,
) -> int:
    """Rows that pass the filter, or units."""
    if options.block_by is not None:
        return len(source.files) if options.block_by == "file" else PLENTY
    if read.where is None:
        assert rows is not None
        return sum(rows)
    bare = source.reader(replace(read, columns=(), units=()))
    return count_valid(bare, source.files, executor, options.on_bad_file, progress)


def contaminated_parts(options: TournamentOptions, n_rows: int) -> tuple[int, int]:
    """Blocks of a part, and how many rows or units of all may be arbitrary."""
    assert options.contamination is not None
    common = options.common
    what = counted_as(common)
    o, n_parts = outlying_number(options.contamination, n_rows), options.n_parts
    try:
        best = part_blocks(n_rows, n_parts, common.delta, o)
    except (ConfigError, ValueError) as error:
        raise ConfigError(
            f"contamination: {o:,} arbitrary {what} of {n_rows:,} could outvote the blocks of one of "
            f"{n_parts} parts; lower it, or use more rows"
        ) from error
    if options.n_blocks == "auto":
        return best, o
    given = int(options.n_blocks)
    from distmom.theory import part_outlying

    most = part_outlying(o, n_parts, common.delta)
    if given <= 2 * most:
        raise ConfigError(
            f"contamination: of {o:,} arbitrary {what} up to {most:,} fall into one part and may outvote "
            f"{given:,} blocks; use more than {2 * most:,} blocks, or leave the number to us ({best:,} are best)"
        )
    return given, o
