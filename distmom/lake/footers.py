"""Open Parquet files: footers, physical columns, and errors that name the file."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache, lru_cache

import pyarrow as pa
import pyarrow.fs as pafs
import pyarrow.parquet as pq

from distmom.errors import BadFileError, DataError, DistmomError, ResourceError
from distmom.lake.messages import first_line
from distmom.lake.source import FileRef

BUFFER_BYTES, LOCAL_BUFFER_BYTES = 262_144, 16_384
"""A buffered stream is what bounds memory: without it a whole column chunk is loaded. What is longer than the
buffer, as most pages are, is read past it: one copy less on a local disk, more requests on a remote one."""


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
    """Physical positions of the top-level columns that are no struct or list, by exact name.

    PyArrow's own selection by name takes ``a.b`` for the field ``b`` of a struct ``a`` as well as for a
    column of that name; a flat column is one whose path is its name. A name that occurs twice is -1.
    """
    positions: dict[str, int] = {}
    schema = parquet.schema
    for position in range(len(schema)):
        column = schema.column(position)
        name = column.path
        if name == column.name:
            positions[name] = -1 if name in positions else position
    return positions


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


class _File(pq.ParquetFile):  # type: ignore[misc]  # PyArrow is not typed
    """A Parquet file that is read into a memory pool of our choice, which the parent does not offer."""

    def __init__(self, stream: pa.NativeFile, dictionaries: Sequence[str], buffer_bytes: int) -> None:
        self.reader = pq.ParquetReader(memory_pool=_pool())
        self.reader.open(
            stream,
            use_memory_map=False,
            read_dictionary=list(dictionaries) or None,
            buffer_size=buffer_bytes,
            pre_buffer=False,
        )
        self.common_metadata = None
        self._close_source = False  # whoever opened the stream closes it


@cache
def _pool() -> pa.MemoryPool:
    """Jemalloc where PyArrow has it, unless the user has chosen.

    Batches of one size come and go in turn: jemalloc gives the same memory again, still in the cache. With
    mimalloc, PyArrow's choice, decoding takes up to a quarter longer.
    """
    if "ARROW_DEFAULT_MEMORY_POOL" not in os.environ:
        with suppress(NotImplementedError):
            return pa.jemalloc_memory_pool()
    return pa.default_memory_pool()


def _parquet_file(stream: pa.NativeFile, dictionaries: Sequence[str], buffer_bytes: int) -> pq.ParquetFile:
    try:
        return _File(stream, dictionaries, buffer_bytes)
    except KeyError:  # PyArrow wants every column named there to exist
        stream.seek(0)
        known = column_positions(_File(stream, (), buffer_bytes))
        stream.seek(0)
        return _File(stream, [name for name in dictionaries if name in known], buffer_bytes)


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
