"""Counting rows before the main pass, if block sizes or row positions depend on the counts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from distmom.cluster import Executor, Unit, UnitOutcome, plan_units, run_units
from distmom.cluster.runner import Progress
from distmom.cluster.work import ReadAndReduce, SkippedFile
from distmom.errors import BadFileError
from distmom.lake import FileRef, ReadOptions, Source
from distmom.numerics.arrays import Ints
from distmom.reductions.counting import RowCount

ON_CLIENT = 64
"""Up to this many footers are read here: sending them to workers would take longer."""


@dataclass(frozen=True)
class Census:
    """Rows of each file, and the files whose footer cannot be read."""

    rows: Ints
    bad: tuple[SkippedFile, ...] = ()

    def good(self, files: tuple[FileRef, ...]) -> tuple[tuple[FileRef, ...], Census]:
        """The files with a readable footer, and the census of these files alone."""
        if not self.bad:
            return files, self
        keep = self.rows >= 0
        return tuple(f for f, k in zip(files, keep, strict=True) if k), Census(self.rows[keep], self.bad)


@dataclass(frozen=True)
class CountRows:
    """Work of one unit: rows of each of its files, -1 for a bad one under ``on_bad_file="skip"``."""

    source: Source
    on_bad_file: str
    step: ClassVar[str] = "count"

    def __call__(self, unit: Unit) -> UnitOutcome:
        """Read the unit's footers."""
        rows: list[int] = []
        bad: list[SkippedFile] = []
        for file in unit.files:
            try:
                rows.append(int(self.source.row_counts((file,))[0]))
            except BadFileError as error:
                if self.on_bad_file != "skip":
                    raise
                rows.append(-1)
                bad.append(SkippedFile(file.path, str(error)))
        return UnitOutcome(np.array(rows, np.int64), skipped=tuple(bad))


def count_rows(source: Source, executor: Executor, on_bad_file: str) -> Census:
    """Rows of each file, from footers: read here if there are few, else on the executor, 500 files per task.

    Footers are not read if the log of a table has all row counts.
    """
    files = source.files
    if source.in_memory or all(file.n_rows is not None for file in files):  # known from a table's log
        return Census(source.row_counts())
    work = CountRows(replace(source, files=()), on_bad_file)  # type: ignore[type-var]
    if len(files) <= ON_CLIENT:
        one = work(Unit(0, 0, 0, tuple(files)))
        return Census(one.state, one.skipped)
    # footers are small whatever the size of the files: cut by number of files alone
    units = plan_units(files, unit_bytes=1 << 62, threads=executor.threads)
    found = run_units(work, units, _joined, executor)
    return Census(found.state, found.skipped)


def _joined(left: Ints, right: Ints) -> Ints:
    return np.concatenate([left, right])


def count_valid(
    source: Source,
    read: ReadOptions,
    files: Sequence[FileRef],
    executor: Executor,
    on_bad_file: Any,
    progress: Progress | None,
) -> int:
    """Rows of some files that pass the filter."""
    reader = source.reader(replace(read, columns=(), by=(), units=()))
    units = plan_units(files, threads=executor.threads)
    work = ReadAndReduce(reader, RowCount(), on_bad_file=on_bad_file)
    found = run_units(work, units, RowCount().merge, executor, progress=progress)
    return int(found.state or 0)


def count_passing(
    source: Source, read: ReadOptions, executor: Executor, on_bad_file: Any, progress: Progress | None
) -> int:
    """Rows that pass the filter; from the footers if there is no filter."""
    if read.where is None:
        return int(np.maximum(count_rows(source, executor, on_bad_file).rows, 0).sum())
    return count_valid(source, read, source.files, executor, on_bad_file, progress)


def column_share(source: Source, read: ReadOptions) -> float:
    """Share of a file's bytes in the requested columns, from the first readable footer."""
    measure = getattr(source, "column_share", None)
    return 1.0 if measure is None else float(measure(read.names))
