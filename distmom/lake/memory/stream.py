"""Rows that come as a stream of Arrow batches: record batch readers, and datasets that are no plain files."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import chain, islice
from typing import Any

import numpy as np
import pyarrow as pa

from distmom.errors import ConfigError, DataError
from distmom.lake.columns.extensions import kept, kept_schema
from distmom.lake.columns.vectors import measured
from distmom.lake.memory.memory_lake import MemoryLake, MemoryReader, refuse_several, several
from distmom.lake.messages import first_line
from distmom.lake.source import BATCH_ROWS, Batch, BatchReader, FileRef, ReadOptions, Source
from distmom.numerics.arrays import Ints

Batches = Callable[[Sequence[str], int], Iterator[pa.RecordBatch]]
"""Starts the batches of some columns, of at most so many rows where that can be chosen."""


@dataclass
class StreamLake(Source):
    """A stream of batches, read by one thread, as one file named "".

    Attributes
    ----------
    stored : pyarrow.Schema
        Columns of the batches.
    start : callable
        Gives the batches; may be called once only unless `again`.
    again : bool
        Whether the stream can be started several times.
    count : callable, optional
        Gives the number of rows.
    """

    stored: pa.Schema
    start: Batches
    again: bool = False
    count: Callable[[], int] | None = None
    files: tuple[FileRef, ...] = (FileRef("", 0, 0),)
    in_memory = True
    one_pass = True

    def schema(self) -> pa.Schema:
        """Names and types of the columns, each name once."""
        return kept_schema(pa.schema({field.name: field.type for field in self.stored}))

    def row_counts(self, files: Sequence[FileRef] | None = None) -> Ints:
        """Rows of the one file. ConfigError if the stream ends only once and does not tell."""
        if self.count is None:
            raise ConfigError(
                "data: a stream of batches is read only once, but these options need the number of rows "
                "beforehand; give a table or files, or use RandomBlocks without a size"
            )
        return np.full(len(self.files if files is None else files), self.count(), np.int64)

    def table(self, names: Sequence[str]) -> pa.Table:
        """All rows of some columns: the stream is read. DataError if it breaks or has two of one name."""
        refuse_several(names, several(self.stored.names))
        row, records = 0, []
        schema = pa.schema([self.stored.field(name) for name in names])
        try:
            for record in self.start(names, BATCH_ROWS):
                records.append(record.select(list(names)))
                row += record.num_rows
        except (pa.ArrowException, OSError) as error:
            raise broken(row, error) from error
        return pa.Table.from_batches(records, schema)

    def reader(self, options: ReadOptions) -> StreamReader:
        """A reader of these columns, after the checks that data in memory undergoes.

        ConfigError if the stream can be read only once and its type does not tell the length of its lists.
        """
        empty = {field.name: pa.chunked_array([], field.type) for field in self.schema()}
        pattern = MemoryLake(empty, 0, 0, self.files, several(self.stored.names)).checked(options)
        reader = StreamReader(pattern.options, pattern, self)
        unknown = [name for name, width in pattern.options.vectors or () if not width]
        if unknown and not self.again:
            raise ConfigError(
                f"data: a stream of batches is read only once, and its type does not give the length of the "
                f"lists in column {unknown[0]!r}; give lists of fixed size, a table or files"
            )
        if pattern.options.scales:  # times are counted from near the first ones
            reader.look_ahead()
        return measured(reader, self.files)


@dataclass
class StreamReader(BatchReader):
    """Reads the batches as they come; cannot be sent to another process."""

    options: ReadOptions
    pattern: MemoryReader
    lake: StreamLake
    _started: bool = field(default=False, init=False)
    _begun: Iterator[pa.RecordBatch] | None = field(default=None, init=False)

    def look_ahead(self) -> None:
        """Read the first batch, and count times from the day of its middle."""
        records = self.lake.start(list(self.pattern.columns), self.options.batch_rows)
        first = list(islice(records, 1))
        self._begun = chain(first, records)
        for record in first:
            times = tuple((n, s and s.near(kept(record.column(n)))) for n, s in self.options.times)
            self.options = replace(self.options, times=times)

    def batches(self, file: FileRef, start: int = 0, stop: int | None = None) -> Iterator[Batch]:
        """All rows, in batches of at most ``options.batch_rows``."""
        names = list(self.pattern.columns)
        refuse_several(names, self.pattern.n_named)
        if self._started and not self.lake.again:
            raise DataError("data: the stream of batches has been read already; give a new one")
        self._started = True
        row = 0
        try:
            records, self._begun = self._begun, None
            for record in records or self.lake.start(names, self.options.batch_rows):
                yield from self._slices(record, names, row)
                row += record.num_rows
        except (pa.ArrowException, OSError) as error:
            raise broken(row, error) from error

    def _slices(self, record: pa.RecordBatch, names: Sequence[str], row: int) -> Iterator[Batch]:
        columns = {name: pa.chunked_array([kept(record.column(name))]) for name in names}
        part = replace(
            self.pattern,
            options=self.options,
            n_rows=record.num_rows,
            n_bytes=record.nbytes,
            columns=columns,
        )
        for batch in part.batches(self.lake.files[0]):
            batch.start += row
            yield batch


def broken(row: int, error: Exception) -> DataError:
    """The error of a stream that ended before its end."""
    return DataError(f"data: the stream broke after row {row}: {first_line(error)}")


def open_stream(data: Any) -> StreamLake | list[str] | None:
    """A stream, the paths of its files, or None if the object is neither a stream nor a dataset."""
    if type(data).__module__.startswith(("pyarrow._dataset", "pyarrow.dataset")):
        return _open_dataset(data)
    if isinstance(data, pa.RecordBatchReader):
        return StreamLake(data.schema, lambda names, rows: iter(data))
    if hasattr(data, "__arrow_c_stream__") and not hasattr(data, "__len__"):
        with suppress(pa.ArrowInvalid):  # a stream of arrays, which is one column
            return open_stream(pa.RecordBatchReader.from_stream(data))
    return None


def _open_dataset(data: Any) -> StreamLake | list[str]:
    import pyarrow.dataset as ds

    if isinstance(data, ds.Scanner):
        return StreamLake(data.projected_schema, lambda names, rows: iter(data.to_batches()), again=True)
    if not isinstance(data, ds.Dataset):
        raise ConfigError(f"data: give the dataset itself, not a {type(data).__name__}")
    if _is_plain(data):
        return [str(path) for path in data.files]

    def start(names: Sequence[str], rows: int) -> Iterator[pa.RecordBatch]:
        chosen = {name: ds.field(name) for name in names}  # not by text: "a.b" would mean a field of a struct
        return iter(data.to_batches(columns=chosen, batch_size=rows))

    return StreamLake(data.schema, start, again=True, count=data.count_rows)


def _is_plain(data: Any) -> bool:
    """Whether a dataset is no more than its files: no schema, options or row groups of its own."""
    import pyarrow.dataset as ds
    import pyarrow.fs as pafs

    if not isinstance(data, ds.FileSystemDataset) or not isinstance(data.format, ds.ParquetFileFormat):
        return False
    folders = data.partitioning  # None where it was made of fragments, which may be parts of files
    if folders is None or not isinstance(data.filesystem, pafs.LocalFileSystem) or not data.files:
        return False
    if not isinstance(folders, ds.HivePartitioning) and len(folders.schema):
        return False
    if data.format.read_options != ds.ParquetReadOptions() or getattr(
        data, "_scan_options", {"unknown": True}
    ):
        return False
    with suppress(pa.ArrowException):  # types that do not go together, or a file that cannot be read
        stored = next(iter(data.get_fragments())).physical_schema
        return bool(data.schema.equals(pa.unify_schemas([stored, folders.schema])))
    return False
