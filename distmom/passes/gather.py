"""Gathering rows by their numbers in the lake, from the files that contain them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from distmom.cluster import Executor, Progress, Unit, UnitMerger, plan_units, run_units
from distmom.cluster.memory import in_words
from distmom.cluster.work import ReadAndReduce, SkippedFile
from distmom.errors import ResourceError
from distmom.lake import BatchReader, FileRef, ReadOptions, Source
from distmom.numerics.arrays import Ints
from distmom.numerics.samples.wanted_rows import wanted_in
from distmom.passes.census import Census, column_share, count_rows
from distmom.passes.counted import FirstPass, good_files
from distmom.reductions.rows.gather import GatheredRows, GatherRows

ROW_BYTES = 9
"""Bytes per gathered row besides its values: its number, and whether it counts."""

COPIES = 4
"""Most copies of the gathered rows in memory at once: parts, the merged whole, and derived values."""


@dataclass(frozen=True)
class RowSource:
    """Files of a lake, with their row counts, and how to read them."""

    reader: BatchReader
    files: tuple[FileRef, ...]
    rows: Ints  # rows of each file
    executor: Executor
    nan: Any = "omit"
    on_bad_file: Any = "error"
    column_share: float = 1.0  # share of a file's bytes that is read
    needed: int | None = None  # the one column whose value a row needs in order to count, if any
    separate: bool = False  # a row counts in each column in which it has a value; else in all or none

    @property
    def n_rows(self) -> int:
        """Rows of the lake."""
        return int(self.rows.sum())

    @property
    def n_columns(self) -> int:
        """Number of values in a row."""
        return len(self.reader.options.value_names)

    def check_memory(self, n: int) -> None:
        """Raise ResourceError if `n` rows, gathered at once, do not fit into memory."""
        needed = COPIES * n * (8 * self.n_columns + ROW_BYTES)
        if needed > self.executor.memory:
            raise ResourceError(
                f"{n:,} rows of {self.n_columns} values to be gathered need {in_words(needed)}, more than "
                f"the limit of {in_words(self.executor.memory)}; draw fewer rows"
            )


def row_source(
    source: Source,
    read: ReadOptions,
    plan: FirstPass,
    skipped: Sequence[SkippedFile],
    executor: Executor,
    census: Census | None = None,
) -> RowSource:
    """The good files of a first pass, with row counts, for the columns to be read.

    `census` has the rows of all files of the source, if they have been counted already.
    """
    files = good_files(plan, skipped)
    if census is None:
        counted: Any = replace(source, files=files)  # type: ignore[type-var]
        rows = count_rows(counted, executor, "error").rows
    else:
        good = {file.path for file in files}
        rows = census.rows[[file.path in good for file in source.files]]
    share = column_share(source, read)
    return RowSource(source.reader(read), files, rows, executor, plan.reduction.nan, column_share=share)


def gather_rows(
    source: RowSource, wanted: Ints, progress: Progress | None = None
) -> tuple[GatheredRows, tuple[SkippedFile, ...]]:
    """The wanted rows, in the order of their numbers, and the files that were skipped.

    Numbers are distinct and ascending: row r of a file has the number s + r if the files listed before it
    have s rows. Rows are marked if they have a missing value, if the filter drops them, or if their file was
    skipped. Only files and row groups that contain a wanted row are read. Memory depends on the wanted rows
    alone, whatever the size of the lake. Results are bit-for-bit identical on any executor, because nothing
    is computed. ValueError if a number is out of range or order; ResourceError if the rows do not fit into
    memory.
    """
    _check_numbers(wanted, source)
    reduction = GatherRows(source.reader.options.value_names, source.nan, source.needed, source.separate)
    merger: UnitMerger[GatheredRows] = UnitMerger(len(source.files), reduction.merge)
    units: list[Unit] = []
    for unit in _units(source, wanted):
        if unit.window.n_wanted:
            units.append(replace(unit, number=len(units)))
        else:
            merger.push(unit, None)
    if not units:
        return reduction.rows(0), ()
    work = ReadAndReduce(source.reader, reduction, on_bad_file=source.on_bad_file, some_rows=True)
    executor = source.executor
    found = run_units(work, units, reduction.merge, executor, progress=progress, merger=merger, grows=True)
    return found.state, found.skipped


def _check_numbers(wanted: Ints, source: RowSource) -> None:
    if wanted.size and not (
        wanted[0] >= 0 and wanted[-1] < source.n_rows and bool((wanted[1:] > wanted[:-1]).all())
    ):
        raise ValueError(f"row numbers must be distinct, ascending and within {source.n_rows} rows")
    source.check_memory(wanted.size)


def _units(source: RowSource, wanted: Ints) -> list[Unit]:
    """All units of the lake, each with the rows it has to find."""
    # a file that is bad in one part would have to be removed from the others: skip whole files only
    may_cut = source.on_bad_file != "skip"
    units = plan_units(
        source.files,
        source.rows.tolist() if may_cut else None,
        column_share=source.column_share,
        threads=source.executor.threads,
    )
    first_rows = np.concatenate([[0], np.cumsum(source.rows)])
    return [
        replace(unit, window=wanted_in(wanted, first_rows, unit.first_file, len(unit.files), unit.rows))
        for unit in units
    ]
