"""The work of a shuffle: look at the files, spill their rows by buckets, join and order each bucket."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from distmom.cluster import Unit, UnitOutcome, check_stopped
from distmom.lake.columns.dictionaries import Dictionaries, DictionaryNotes
from distmom.lake.files import footers
from distmom.lake.keys.row_hashes import batch_checksum
from distmom.lake.saved.parquet_out import WriteStyle, plain_batches, write_parquet
from distmom.lake.saved.spill import Spill, SpillWriter, bucket_batches
from distmom.lake.whole_rows import WholeRows, plain_array, plain_type
from distmom.numerics.random.row_hash import add_checksums
from distmom.numerics.random.shuffle import bucket_order, row_buckets


@dataclass(frozen=True)
class Survey:
    """Rows of each file, and whether values may be missing in the same columns of all."""

    rows: NDArray[np.int64]
    same_nullable: bool

    def followed_by(self, other: Survey) -> Survey:
        """These files and then the other ones."""
        return Survey(np.concatenate([self.rows, other.rows]), self.same_nullable and other.same_nullable)


@dataclass(frozen=True)
class SurveyFiles:
    """Work of one unit: its files' footers, whose columns must be those of the first file."""

    reader: WholeRows

    def __call__(self, unit: Unit) -> UnitOutcome:
        """Read the footers."""
        rows, same = [], True
        for file in unit.files:
            with footers.open_parquet(self.reader.filesystem, self.reader.root, file) as parquet:
                same &= self.reader.check(parquet, file)
                rows.append(parquet.metadata.num_rows)
        return UnitOutcome(Survey(np.array(rows, np.int64), same))


@dataclass(frozen=True)
class Spilled:
    """Rows that have been spilled, in the order of the lake."""

    spills: tuple[Spill, ...]
    checksum: int
    dictionaries: Dictionaries

    @property
    def n_rows(self) -> int:
        """Rows in all files."""
        return sum(spill.n_rows for spill in self.spills)

    @property
    def n_bytes(self) -> int:
        """Bytes of all files."""
        return sum(spill.n_bytes for spill in self.spills)

    def followed_by(self, other: Spilled) -> Spilled:
        """These rows and then the other ones."""
        return Spilled(
            self.spills + other.spills,
            add_checksums(self.checksum, other.checksum),
            self.dictionaries.followed_by(other.dictionaries),
        )


@dataclass(frozen=True)
class SpillRows:
    """Work of one unit: its rows, each in its random bucket, to one file sorted by buckets.

    Attributes
    ----------
    reader : WholeRows
    folder : str
        Where the files go.
    seed : int
    bits : int
        There are 2**bits buckets.
    compiled : bool
    """

    reader: WholeRows
    folder: str
    seed: int
    bits: int
    compiled: bool

    def __call__(self, unit: Unit) -> UnitOutcome:
        """Read and spill."""
        notes = DictionaryNotes()
        total = n_rows = 0
        schema = spill_schema(self.reader.schema)
        with SpillWriter(self.folder, unit.number, schema, 1 << self.bits) as writer:
            for number, file in enumerate(unit.files, unit.first_file):
                row, stop = unit.rows or (0, None)
                for stored in self.reader.batches(file, row, stop):
                    check_stopped()
                    notes.note(stored)
                    columns = [plain_array(column) for column in stored.columns]
                    batch = pa.RecordBatch.from_arrays(columns, schema=schema)
                    total = add_checksums(total, batch_checksum(batch, compiled=self.compiled))
                    writer.add(batch, self._buckets(number, row, batch.num_rows))
                    row, n_rows = row + batch.num_rows, n_rows + batch.num_rows
        found = Spilled((writer.spill(),), total, notes.result())
        return UnitOutcome(found, n_rows, unit.n_bytes)

    def _buckets(self, file: int, row: int, n_rows: int) -> NDArray[np.uint16]:
        return row_buckets(self.seed, file, row, n_rows, self.bits, compiled=self.compiled)


def spill_schema(schema: pa.Schema) -> pa.Schema:
    """The schema on the way: anything may be null, and nothing is said of it."""
    return pa.schema([pa.field(field.name, field.type) for field in schema])


@dataclass(frozen=True)
class Written:
    """Files that have been written."""

    n_rows: int
    n_files: int
    n_bytes: int
    checksum: int

    def followed_by(self, other: Written) -> Written:
        """Both."""
        return Written(
            self.n_rows + other.n_rows,
            self.n_files + other.n_files,
            self.n_bytes + other.n_bytes,
            add_checksums(self.checksum, other.checksum),
        )


@dataclass(frozen=True)
class WriteBucket:
    """Work of one unit, whose number is that of its bucket: its rows in random order, to a Parquet file.

    Attributes
    ----------
    spills : tuple of Spill
        All files, in the order of the lake.
    folder : str
        Where the file goes.
    seed, bits : int
    schema : pyarrow.Schema
        Of the file.
    dictionaries : Dictionaries
    style : WriteStyle
    compiled : bool
    """

    spills: tuple[Spill, ...]
    folder: str
    seed: int
    bits: int
    schema: pa.Schema
    dictionaries: Dictionaries
    style: WriteStyle
    compiled: bool

    def __call__(self, unit: Unit) -> UnitOutcome:
        """Join, order, write, and read again what was written."""
        bucket = unit.number
        rows = self._ordered(bucket)
        n_rows = rows.num_rows
        if n_rows == 0 and bucket > 0:
            return UnitOutcome(Written(0, 0, 0, 0))
        path = Path(self.folder) / f"part-{bucket:05}.parquet"
        attempt = path.with_suffix(f".{uuid4().hex}")
        try:
            n_bytes = write_parquet(attempt, rows, self.style)
            del rows
            total = 0
            for batch in plain_batches(attempt):
                check_stopped()
                total = add_checksums(total, batch_checksum(batch, compiled=self.compiled))
            attempt.replace(path)
        except BaseException:
            attempt.unlink(missing_ok=True)
            raise
        footers.release_memory()
        return UnitOutcome(Written(n_rows, 1, n_bytes, total), n_rows, unit.n_bytes)

    def _ordered(self, bucket: int) -> pa.Table:
        """Rows of a bucket in random order, with the types of the lake."""
        batches: list[pa.RecordBatch] = []
        for spill in self.spills:
            check_stopped()
            batches += bucket_batches(spill, bucket, 1 << self.bits)
        rows = pa.Table.from_batches(batches, spill_schema(self._plain()))
        order = bucket_order(self.seed, bucket, rows.num_rows, compiled=self.compiled)
        del batches
        rows = rows.combine_chunks().take(pa.array(order))
        columns = []
        for field, column in zip(self.schema, rows.columns, strict=True):
            columns.append(self.dictionaries.restored(_whole(column), field.name, field.type))
        return pa.Table.from_arrays(columns, schema=self.schema)

    def _plain(self) -> pa.Schema:
        return pa.schema([field.with_type(plain_type(field.type)) for field in self.schema])


def _whole(column: pa.ChunkedArray) -> pa.Array:
    """All rows of a column as one array."""
    chunks = column.combine_chunks()
    return chunks if isinstance(chunks, pa.Array) else pa.concat_arrays(chunks.chunks)
