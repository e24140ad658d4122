"""Open Parquet files: footers, physical columns, and errors that name the file."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from itertools import islice

import pyarrow as pa
import pyarrow.fs as pafs
import pyarrow.parquet as pq
from pyarrow import types as patypes

from distmom.errors import BadFileError, DataError, DistmomError, ResourceError
from distmom.lake.messages import first_line
from distmom.lake.source import FileRef

DICTIONARY_BYTES = 1_500_000
"""More than writers let a dictionary grow to; beside it there are less than three bytes a value."""

BUFFER_BYTES, LOCAL_BUFFER_BYTES = 262_144, 16_384
"""A buffered stream is what bounds memory: without it a whole column chunk is loaded. What is longer than the
buffer, as most pages are, is read past it: one copy less on a local disk, more requests on a remote one."""
FIRST_ROWS, FIRST_BATCHES = 1_024, 1_000


def location(root: str, file: FileRef) -> str:
    """Path to open."""
    return file.location or f"{root.rstrip('/')}/{file.path}"


@contextmanager
def open_parquet(
    filesystem: pafs.FileSystem, root: str, file: FileRef, dictionaries: Sequence[str] = ()
) -> Iterator[pq.ParquetFile]:
    """Open a file for streaming; errors inside become one-line errors that name it.

    Parameters
    ----------
    dictionaries : sequence of str
        Text columns to be read as dictionaries; those that the file lacks are passed over.

    Raises
    ------
    DataError
        If the file changed since it was listed, before or while it was read, or is damaged.
    """
    try:
        check_unchanged(filesystem, root, file)
        with filesystem.open_input_file(location(root, file)) as stream:
            local = isinstance(filesystem, pafs.LocalFileSystem)
            yield _parquet_file(stream, dictionaries, LOCAL_BUFFER_BYTES if local else BUFFER_BYTES)
        check_unchanged(filesystem, root, file)
    except DistmomError:
        raise
    except (MemoryError, pa.ArrowException, OSError, UnicodeDecodeError) as error:
        if not isinstance(error, MemoryError):
            check_unchanged(filesystem, root, file)
        raise _named(error, file) from error


def check_unchanged(filesystem: pafs.FileSystem, root: str, file: FileRef) -> None:
    """Compare size and modification time with those of the listing.

    Raises
    ------
    DataError
        If they differ, or the file is gone.
    """
    info = filesystem.get_file_info(location(root, file))
    if info.size == file.size and info.mtime_ns == file.mtime_ns:
        return
    if info.type == pafs.FileType.NotFound:
        raise DataError(f"file changed since planning: {file.path} (it is gone); run again")
    if info.size != file.size:
        raise DataError(
            f"file changed since planning: {file.path} (size {file.size} -> {info.size} bytes); run again"
        )
    raise DataError(f"file changed since planning: {file.path} (rewritten, same size); run again")


def column_positions(parquet: pq.ParquetFile) -> dict[str, int]:
    """Physical positions of the top-level columns that have one: by exact name, no structs or maps.

    PyArrow's own selection by name takes ``a.b`` for the field ``b`` of a struct ``a`` as well as for a
    column of that name; here the leaves of the fields are counted. A name that occurs twice is -1.
    """
    positions: dict[str, int] = {}
    position = 0
    for field in parquet.schema_arrow:
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


def column_share(parquet: pq.ParquetFile, names: Collection[str]) -> float:
    """Share of the file's bytes that the chunks of some top-level columns take, by its first row group."""
    metadata = parquet.metadata
    if metadata.num_row_groups == 0:
        return 1.0
    group = metadata.row_group(0)
    positions = column_positions(parquet)
    sizes: list[int] = [group.column(i).total_compressed_size for i in range(group.num_columns)]
    asked: int = sum(sizes[positions[name]] for name in names if positions.get(name, -1) >= 0)
    return max(asked / max(sum(sizes), 1), 1e-3)


def first_values(filesystem: pafs.FileSystem, root: str, file: FileRef, name: str) -> pa.Array | None:
    """The first rows of a column in which it is not null; None if there are none among the first million.

    Raises
    ------
    DataError
        As `open_parquet`.
    """
    with open_parquet(filesystem, root, file) as parquet:
        position = column_positions(parquet).get(name, -1)
        groups = list(range(parquet.metadata.num_row_groups))
        if position < 0 or not groups:
            return None
        batches = parquet.reader.iter_batches(
            FIRST_ROWS, row_groups=groups, column_indices=[position], use_threads=False
        )
        for batch in islice(batches, FIRST_BATCHES):
            if batch.column(0).null_count < batch.num_rows:
                return batch.column(0)
    return None


def check_codecs(parquet: pq.ParquetFile, groups: Sequence[int], positions: Sequence[int], file: str) -> int:
    """Check that the compression of every column chunk to be read is available.

    Returns
    -------
    int
        Compressed bytes of these chunks.

    Raises
    ------
    DataError
        Otherwise; it names codec, file and PyArrow's version.
    """
    n_bytes = 0
    for group in groups:
        metadata = parquet.metadata.row_group(group)
        for position in positions:
            chunk = metadata.column(position)
            n_bytes += chunk.total_compressed_size
            codec = chunk.compression
            if not _codec_available(codec):
                raise BadFileError(
                    f"file {file}: its codec {codec} is not available in pyarrow {pa.__version__}; "
                    "rewrite the file (zstd, snappy) or install a build of pyarrow that has it"
                )
    return n_bytes


@lru_cache(maxsize=32)
def _codec_available(codec: str) -> bool:
    if codec == "UNCOMPRESSED":
        return True
    try:
        return bool(pa.Codec.is_available({"LZ4_RAW": "lz4_raw"}.get(codec, codec.lower())))
    except (ValueError, pa.ArrowException):
        return False


def _parquet_file(stream: pa.NativeFile, dictionaries: Sequence[str], buffer_bytes: int) -> pq.ParquetFile:
    options = {"buffer_size": buffer_bytes, "pre_buffer": False, "memory_map": False}
    try:
        found = pq.ParquetFile(stream, read_dictionary=list(dictionaries) or None, **options)
        good = [name for name in dictionaries if not _outgrown(found, name)]
        if len(good) == len(dictionaries):
            return found
    except KeyError:  # PyArrow wants every column named there to exist
        stream.seek(0)
        found = pq.ParquetFile(stream, **options)
        known = column_positions(found)
        good = [name for name in dictionaries if name in known and not _outgrown(found, name)]
    stream.seek(0)
    return pq.ParquetFile(stream, read_dictionary=good or None, metadata=found.metadata, **options)


def _outgrown(parquet: pq.ParquetFile, name: str) -> bool:
    """Whether a column has so many values that its dictionary did not hold them, by its first row group.

    PyArrow would then build the dictionary anew while it reads, and hand it out again with every batch.
    """
    position = column_positions(parquet).get(name, -1)
    if position < 0 or parquet.metadata.num_row_groups == 0:
        return False
    chunk = parquet.metadata.row_group(0).column(position)
    return bool(chunk.total_uncompressed_size > DICTIONARY_BYTES + 3 * chunk.num_values)


def problem(error: Exception, damage: str) -> str:
    """What is wrong with a file: ``damage``, or a feature of the format that PyArrow does not read."""
    if isinstance(error, pa.ArrowNotImplementedError):
        return f"cannot be read by pyarrow {pa.__version__}: {first_line(error)}"
    return f"is {damage}: {first_line(error)}"


def _named(error: Exception, file: FileRef) -> Exception:
    """One of PyArrow's errors as one line that names the file.

    Errors of the operating system (a disk or a network that fails) stay ``OSError``, with the file's name,
    since trying again may help; PyArrow reports damaged data as ``OSError`` without an error number.
    """
    if isinstance(error, MemoryError):
        return ResourceError(
            f"file {file.path}: memory does not suffice to read it ({first_line(error)}); "
            "use fewer threads, or rewrite the file if it is damaged"
        )
    if isinstance(error, PermissionError):
        return BadFileError(f"file {file.path}: permission denied; allow reading it")
    number = getattr(error, "errno", None)
    if isinstance(error, OSError) and number is not None:
        return type(error)(number, f"file {file.path}: {first_line(error)}")
    return BadFileError(f"file {file.path} {problem(error, 'damaged or no Parquet file')}")
