"""Open Parquet files: footers, physical columns, and errors that name the file."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from functools import cached_property
from inspect import signature
from itertools import islice
from types import MappingProxyType
from typing import Any

import pyarrow as pa
import pyarrow.fs as pafs
import pyarrow.parquet as pq
from pyarrow import types as patypes

from distmom.errors import DataError, DistmomError
from distmom.lake.columns.extensions import kept, kept_schema
from distmom.lake.extent import Chunk
from distmom.lake.files.encrypted import hidden_columns, is_signed
from distmom.lake.files.enums import with_texts
from distmom.lake.files.failures import named
from distmom.lake.files.footer_checks import check_chunks, check_footer, check_groups
from distmom.lake.files.pages import MOST_PAGES, largest_page
from distmom.lake.files.stored_object import StoredObject
from distmom.lake.files.stores import is_local
from distmom.lake.source import FileRef
from distmom.lake.tables.logged import TableColumns

DICTIONARY_BYTES = 1_500_000
"""More than writers let a dictionary grow to; beside it there are less than three bytes a value."""

LOCAL_BUFFER_BYTES = 16_384
"""A buffered stream is what bounds memory: without it a whole column chunk is loaded. What is longer than the
buffer, as most pages are, is read past it: one copy less on a local disk, more requests on a remote one."""
LEAST_BUFFER, MOST_BUFFER, ALL_BUFFERS = 262_144, 4_194_304, 33_554_432
"""Bytes of a request to an object store for each column, and of all columns together where the least allows.
At 30 ms a request, 24 MB of one column took 7.4 s by 256 kB, 2.4 by 1 MB, 0.7 by 4 MB, 0.6 by 8 MB."""
WHOLE_BYTES = 1_048_576
"""Objects up to here are read at once: a request takes as long as some hundred thousand bytes do."""
FIRST_ROWS, FIRST_BATCHES = 1_024, 1_000
READ_OPTIONS: dict[str, Any] = {
    # the type of times of Impala, Hive and Spark: nanoseconds have no room outside 1677 to 2262
    "coerce_int96_timestamp_unit": "us",
    # where a file has checksums: a flipped bit would give another number (1.6 ns a value, if not compressed)
    "page_checksum_verification": True,
}
_KNOWN = signature(pq.ParquetFile).parameters
if "schema_depth_limit" in _KNOWN:  # it was 100 for all before
    READ_OPTIONS["schema_depth_limit"] = 500
EXTENSIONS = {name: _KNOWN[name].default for name in ("arrow_extensions_enabled",) if name in _KNOWN}
"""What a file asks of a reader by default."""


def location(root: str, file: FileRef) -> str:
    """Path to open."""
    return file.location or f"{root.rstrip('/')}/{file.path}"


@contextmanager
def open_parquet(
    filesystem: pafs.FileSystem,
    root: str,
    file: FileRef,
    dictionaries: Sequence[str] = (),
    n_columns: int = 1,
    columns: TableColumns | None = None,
    checked: set[tuple[int, int]] | None = None,
) -> Iterator[pq.ParquetFile]:
    """Open a file for streaming; errors inside become one-line errors that name it.

    DataError if the file changed since it was listed, before or while it was read, is damaged, or has not as
    many rows as the table's log says.

    Parameters
    ----------
    dictionaries : sequence of str
        Text columns to be read as dictionaries; those that the file lacks are passed over.
    n_columns : int
        Columns to be read at a time: so many buffers.
    columns : TableColumns, optional
        Under whose names the file's columns go.
    checked : set of (int, int), optional
        Row groups and columns of the unchanged file whose metadata have been looked at.
    """
    path = location(root, file)
    try:
        if is_local(filesystem):
            check_unchanged(filesystem, root, file)
            with filesystem.open_input_file(path) as stream:
                parquet = parquet_file(stream, dictionaries, LOCAL_BUFFER_BYTES, columns)
                if checked is not None:
                    parquet.checked = checked
                check_footer(parquet.metadata, file)
                check_groups(parquet, file)
                yield parquet
            check_unchanged(filesystem, root, file)
            return
        with filesystem.open_input_file(path) as stream, _failures_of(stream):
            version = _version(filesystem, path, stream, file)
            # a small object comes by one request, after that for its head, which PyArrow makes whatever size
            # is known; only where that gives no MD5 sum does a third one have to tell of a change
            small = file.size <= WHOLE_BYTES
            source = pa.BufferReader(stream.read_whole()) if small else pa.PythonFile(stream, "r")
            buffer_bytes = min(MOST_BUFFER, max(LEAST_BUFFER, ALL_BUFFERS // max(1, n_columns)))
            parquet = parquet_file(source, dictionaries, buffer_bytes, columns)
            if checked is not None:
                parquet.checked = checked
            check_footer(parquet.metadata, file)
            check_groups(parquet, file)
            yield parquet
        if not stream.proved:
            _check_version(filesystem, path, version, file)
    except DistmomError:
        raise
    except FileNotFoundError as error:
        raise _gone(file) from error
    except (MemoryError, pa.ArrowException, OSError, UnicodeDecodeError) as error:
        if not isinstance(error, MemoryError):
            check_unchanged(filesystem, root, file)
        raise named(error, file) from error


@contextmanager
def _failures_of(stream: StoredObject) -> Iterator[None]:
    """Raise what a read of the store ended with, rather than what PyArrow made of it on the way."""
    try:
        yield
    except BaseException as error:
        if stream.failure is not None and stream.failure is not error:
            raise stream.failure from error
        raise


def _version(filesystem: pafs.FileSystem, path: str, stream: StoredObject, file: FileRef) -> bytes | None:
    """The ETag or generation of an open object, once size and time of change (in seconds) are as listed."""
    metadata = stream.metadata()
    try:
        text = metadata.get("Last-Modified") or metadata["updated"]  # of GCS
        changed = int(datetime.fromisoformat(text.decode()).timestamp()) * 1_000_000_000
    except (KeyError, ValueError):
        changed = whole_seconds(filesystem.get_file_info(path).mtime_ns)
    _compare(file, stream.size(), changed)
    version: bytes | None = metadata.get("ETag") or metadata.get("generation")
    return version


def _check_version(filesystem: pafs.FileSystem, path: str, version: bytes | None, file: FileRef) -> None:
    """Compare size, time and ETag with those of the object while it was read."""
    with filesystem.open_input_file(path) as stream:
        if _version(filesystem, path, stream, file) != version:
            raise DataError(f"file changed since planning: {file.path} (rewritten, same size); run again")


def check_unchanged(filesystem: pafs.FileSystem, root: str, file: FileRef) -> None:
    """Compare size and modification time (of objects, to the second) with those of the listing.

    DataError if they differ, or the file is gone.
    """
    path = location(root, file)
    if is_local(filesystem):  # twice for each file: a tenth of the time that PyArrow takes for it
        try:
            found = os.stat(path)  # noqa: PTH116  # a Path takes longer to make than the file to look at
        except (FileNotFoundError, NotADirectoryError):
            raise _gone(file) from None
        _compare(file, found.st_size, found.st_mtime_ns)
        return
    info = filesystem.get_file_info(path)
    if info.type == pafs.FileType.NotFound:
        raise _gone(file)
    _compare(file, info.size, whole_seconds(info.mtime_ns))


def _gone(file: FileRef) -> DataError:
    return DataError(f"file changed since planning: {file.path} (deleted); run again")


def whole_seconds(nanoseconds: int | None) -> int:
    """The time of a change as all answers of an object store have it: some have no fractions."""
    return (nanoseconds or 0) // 1_000_000_000 * 1_000_000_000


def _compare(file: FileRef, size: int | None, mtime_ns: int | None) -> None:
    if size == file.size and mtime_ns == file.mtime_ns:
        return
    if size != file.size:
        raise DataError(
            f"file changed since planning: {file.path} (size {file.size} -> {size} bytes); run again"
        )
    raise DataError(f"file changed since planning: {file.path} (rewritten, same size); run again")


def column_positions(schema: pa.Schema) -> dict[str, int]:
    """Physical positions of the top-level columns that have one: by exact name, no structs or maps.

    PyArrow's own selection by name takes ``a.b`` for the field ``b`` of a struct ``a`` as well as for a
    column of that name; here the leaves of the fields are counted. A name that occurs twice is -1.
    """
    positions: dict[str, int] = {}
    position = 0
    for field in schema:
        leaves = _leaves(field.type)
        if leaves == 1 and not patypes.is_struct(field.type):
            positions[field.name] = -1 if field.name in positions else position
        position += leaves
    return positions


def _leaves(type_: pa.DataType) -> int:
    """Physical columns of a type."""
    if patypes.is_struct(type_):
        return sum(_leaves(field.type) for field in type_)
    if patypes.is_map(type_):
        return _leaves(type_.key_type) + _leaves(type_.item_type)
    if patypes.is_nested(type_):
        return _leaves(type_.value_type)
    storage = getattr(type_, "storage_type", None)
    return 1 if storage is None else _leaves(storage)


def column_share(
    metadata: pq.FileMetaData, schema: pa.Schema, closed: Collection[str], names: Collection[str]
) -> float:
    """Share of the file's bytes that the chunks of some top-level columns take, by its first row group."""
    if metadata.num_row_groups == 0 or closed:
        return 1.0
    group = metadata.row_group(0)
    positions = column_positions(schema)
    sizes: list[int] = [group.column(i).total_compressed_size for i in range(group.num_columns)]
    asked: int = sum(sizes[positions[name]] for name in names if positions.get(name, -1) >= 0)
    return max(asked / max(sum(sizes), 1), 1e-3)


def first_values(
    filesystem: pafs.FileSystem, root: str, file: FileRef, name: str, columns: TableColumns | None = None
) -> pa.Array | None:
    """The first rows of a column in which it is not null; None if there are none among the first million.

    DataError as `open_parquet`.
    """
    with open_parquet(filesystem, root, file, columns=columns) as parquet:
        position = column_positions(parquet.schema_arrow).get(name, -1)
        groups = list(range(parquet.metadata.num_row_groups))
        if position < 0 or not groups:
            return None
        batches = parquet.reader.iter_batches(
            FIRST_ROWS, row_groups=groups, column_indices=[position], use_threads=False
        )
        for batch in islice(batches, FIRST_BATCHES):
            if batch.column(0).null_count < batch.num_rows:
                return kept(batch.column(0))
    return None


def largest_page_of(parquet: pq.ParquetFile, group: pq.RowGroupMetaData, position: int) -> int:
    """Bytes of the largest page of a chunk; of a large object the first, a dictionary where there is one.

    To look at a page is a request to an object store.
    """
    most = 1 if isinstance(parquet.stream, pa.PythonFile) else MOST_PAGES
    return largest_page(parquet.stream, group.column(position), most)


class _File(pq.ParquetFile):  # type: ignore[misc]  # PyArrow is not typed
    """A Parquet file, which has columns under the names that they have in its table."""

    columns: TableColumns | None = None
    hidden: frozenset[str] = frozenset()  # columns that are encrypted
    # PyArrow makes these anew whenever they are asked for; of small files that is much of the time
    metadata: pq.FileMetaData = None
    schema: pq.ParquetSchema = None
    options: Mapping[str, Any] = MappingProxyType({})  # which it was opened with

    def __init__(self, stream: pa.NativeFile, **options: Any) -> None:
        # PyArrow's own asks what a stream may be besides, which takes half as long as the footer
        self._close_source, self.reader = False, pq.core.ParquetReader()
        self.reader.open(stream, **EXTENSIONS, **options)
        self.stream = stream
        self.metadata: pq.FileMetaData = self.reader.metadata
        self.schema: pq.ParquetSchema = self.metadata.schema
        self.checked: set[tuple[int, int]] = set()  # row groups and columns whose metadata were looked at

    @cached_property
    def schema_arrow(self) -> pa.Schema:
        """Columns of the file, or of the table."""
        schema = with_texts(self, kept_schema(super().schema_arrow))
        return schema if self.columns is None else self.columns.of(schema)


def release_memory() -> None:
    """Give back to the system what the pool keeps: a worker that seems full is not given any work."""
    pa.default_memory_pool().release_unused()


def parquet_file(
    stream: pa.NativeFile, dictionaries: Sequence[str], buffer_bytes: int, columns: TableColumns | None
) -> pq.ParquetFile:
    """A file that gives those text columns as dictionaries that it has as such throughout."""
    opened = [] if columns is not None else list(dictionaries)  # it may have other names than its table
    options: dict[str, Any] = {"buffer_size": buffer_bytes, "pre_buffer": False, **READ_OPTIONS}
    try:
        found = _File(stream, read_dictionary=opened, **options)
    except KeyError:  # PyArrow wants every column named there to exist
        stream.seek(0)
        opened, found = [], _File(stream, **options)
    found.columns, found.stream, found.options = columns, stream, options
    if is_signed(stream, found.metadata):
        found.hidden = hidden_columns(found)
    if not dictionaries:
        return found
    known = column_positions(found.schema_arrow)
    stored = dict(zip(found.schema_arrow.names, found.reader.schema_arrow.names, strict=True))
    good = [
        stored[name]
        for name in dictionaries
        if name in known and name not in found.hidden and _as_dictionary(found, known[name])
    ]
    if good == opened:
        return found
    stream.seek(0)
    again = _File(stream, read_dictionary=good, metadata=found.metadata, **options)
    again.columns, again.hidden, again.stream, again.options = columns, found.hidden, stream, options
    return again


def _as_dictionary(parquet: pq.ParquetFile, position: int) -> bool:
    """Whether PyArrow can give a column as a dictionary, and should.

    It cannot where lengths or differences of texts are stored. It should not where there are more values than
    a dictionary did hold, by the first row group: it would then build the dictionary anew while it reads, and
    hand it out again with every batch.
    """
    metadata = parquet.metadata
    if position < 0 or metadata.num_row_groups == 0:
        return True
    check_chunks(parquet, range(metadata.num_row_groups), [position])
    chunks = [metadata.row_group(group).column(position) for group in range(metadata.num_row_groups)]
    if any(encoding.startswith("DELTA") for chunk in chunks for encoding in chunk.encodings):
        return False
    if any(Chunk(chunk.total_uncompressed_size, chunk.num_values).long for chunk in chunks):
        return True  # a text of 100 MB may stand in a thousand rows, of a file of 4 kB
    return bool(chunks[0].total_uncompressed_size <= DICTIONARY_BYTES + 3 * chunks[0].num_values)
