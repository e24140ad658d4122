"""Rows regrouped by way of the disk: every unit is read once and sorted by ranges of blocks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa

from distmom.cluster import Unit, UnitMerger, UnitOutcome, check_stopped, run_units
from distmom.cluster.work import ReadAndReduce
from distmom.lake.files.footers import release_memory
from distmom.lake.saved.spill import Spill, SpillWriter, bucket_batches
from distmom.numerics.arrays import Floats, Ints
from distmom.numerics.pairs.regroup import CellRows
from distmom.reductions.rows.keep_rows import KeepEach, KeepRows, rows_changed
from distmom.reductions.rows.sort_rows import BlockBuckets, Buckets, Labels, SortEach

if TYPE_CHECKING:
    from pathlib import Path

    from distmom.cluster import Executor, Progress


class Sorting(NamedTuple):
    """How the rows of one sample are read and sorted.

    Attributes
    ----------
    read : ReadAndReduce
        Whose reduction is a `KeepEach` of all questions.
    units : tuple of Unit
        All its files, or parts of them, in the order of the lake.
    buckets : tuple of BlockBuckets
        Of each question.
    """

    read: ReadAndReduce
    units: tuple[Unit, ...]
    buckets: tuple[BlockBuckets, ...]


@dataclass(frozen=True)
class SortedUnit:
    """Files of sorted rows: of each sample one for each unit, in the order of the lake."""

    files: tuple[tuple[Spill, ...], ...]

    def followed_by(self, other: SortedUnit) -> SortedUnit:
        """These files and then the other ones."""
        pairs = zip(self.files, other.files, strict=True)
        return SortedUnit(tuple(mine + more for mine, more in pairs))


def spill_schema(n_columns: int, labels: np.dtype[np.generic]) -> pa.Schema:
    """A row on disk: the place of its block in the bucket, and its values."""
    values = [pa.field(str(c), pa.float64()) for c in range(n_columns)]
    return pa.schema([pa.field("block", pa.from_numpy_dtype(labels)), *values])


@dataclass(frozen=True)
class SortUnits:
    """Callable on a `Unit` whose window has the number of a sample, and a unit of it; picklable.

    Attributes
    ----------
    samples : tuple of (ReadAndReduce, tuple of BlockBuckets)
    schema : pyarrow.Schema
    n_buckets : int
    folder : str
        Where the files go.
    room : int
        Bytes of rows that are sorted together.
    """

    samples: tuple[tuple[ReadAndReduce, tuple[BlockBuckets, ...]], ...]
    schema: pa.Schema
    n_buckets: int
    folder: str
    room: int

    def __call__(self, unit: Unit) -> UnitOutcome:
        """Read the unit, and write its rows to one file."""
        number, mine = unit.window
        read, buckets = self.samples[number]
        assert isinstance(read.reduction, KeepEach)
        with SpillWriter(self.folder, unit.number, self.schema, self.n_buckets, self.room) as writer:

            def put(columns: Sequence[Floats], labels: Labels, targets: Buckets) -> None:
                arrays = [pa.array(labels), *(pa.array(x) for x in columns)]
                writer.add(pa.RecordBatch.from_arrays(arrays, schema=self.schema), targets)

            sort = replace(read, reduction=SortEach(read.reduction, buckets, put))
            outcome: UnitOutcome = sort(mine)
        files = tuple((writer.spill(),) if s == number else () for s in range(len(self.samples)))
        return replace(outcome, state=SortedUnit(files))


def sort_rows(
    samples: Sequence[Sorting],
    n_columns: int,
    n_buckets: int,
    room: int,
    folder: Path,
    executor: Executor,
    progress: Progress | None,
) -> SortedUnit:
    """Read every unit of all samples once, and leave its rows on disk, sorted by buckets."""
    labels = samples[0].buckets[0].label.dtype
    work = SortUnits(
        tuple((sample.read, sample.buckets) for sample in samples),
        spill_schema(n_columns, labels),
        n_buckets,
        str(folder),
        room,
    )
    mine = [(s, unit) for s, sample in enumerate(samples) for unit in sample.units]
    units = [
        Unit(i, 0, i, unit.files[:1], n_bytes=unit.n_bytes, window=(s, unit))
        for i, (s, unit) in enumerate(mine)
    ]
    merger: UnitMerger[SortedUnit] = UnitMerger(len(units), SortedUnit.followed_by)
    found: SortedUnit = run_units(
        work, units, SortedUnit.followed_by, executor, progress=progress, merger=merger
    ).state
    return found


class FromBucket(NamedTuple):
    """The blocks of one bucket: its number, the rows of each block, and the number of the first block."""

    bucket: int
    sizes: Ints
    first: int


@dataclass(frozen=True)
class ReadSorted:
    """Callable on a `Unit` whose window has a `FromBucket` for each of some questions; picklable.

    Attributes
    ----------
    parts : tuple of KeepRows
        Of these questions.
    files : tuple of Spill
        All rows of a sample, in the order of the lake.
    n_buckets : int
    """

    parts: tuple[KeepRows, ...]
    files: tuple[Spill, ...]
    n_buckets: int

    def __call__(self, unit: Unit) -> UnitOutcome:
        """The rows of the blocks, in the order of files and rows."""
        kept = tuple(self._rows(*both) for both in zip(self.parts, unit.window, strict=True))
        n_rows = sum(int(rows.starts[-1]) for rows in kept)
        release_memory()
        return UnitOutcome(kept, n_rows, unit.n_bytes)

    def _rows(self, part: KeepRows, wanted: FromBucket) -> CellRows:
        cells = part.cells(wanted.sizes, wanted.first)
        for file in self.files:
            check_stopped()
            for batch in bucket_batches(file, wanted.bucket, self.n_buckets):
                labels, *columns = (column.to_numpy() for column in batch.columns)
                try:
                    cells.add(columns, None, labels.astype(np.int64))
                except ValueError as error:
                    raise rows_changed("the data") from error
        if not cells.whole:
            raise rows_changed("the data")
        return cells
