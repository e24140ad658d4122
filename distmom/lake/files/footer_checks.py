"""Whether a footer agrees with itself, and with the table's log: numbers of rows and of columns."""

from __future__ import annotations

import io
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from distmom.errors import BadFileError
from distmom.lake.source import FileRef

FEW_CHUNKS = 8
"""So many are looked at one by one."""


def rows_of(metadata: pq.FileMetaData) -> int:
    """Rows of all row groups, which are those that are read."""
    return sum(metadata.row_group(number).num_rows for number in range(metadata.num_row_groups))


def check_footer(metadata: pq.FileMetaData, file: FileRef) -> None:
    """Refuse a footer that contradicts itself or the table's log: rows are counted by one of these numbers.

    Some writers leave the number of a file's rows at 0; then those of the row groups count.

    BadFileError that names the file and both numbers.
    """
    n_rows, n_columns = 0, metadata.num_columns
    for number in range(metadata.num_row_groups):
        group = metadata.row_group(number)
        if group.num_rows < 0:
            raise BadFileError(
                f"file {file.path} is damaged: row group {number} has {group.num_rows:,} rows by its footer"
            )
        if group.num_columns != n_columns:
            raise BadFileError(
                f"file {file.path} is damaged: its schema has {n_columns} stored columns, "
                f"row group {number} has {group.num_columns}"
            )
        n_rows += group.num_rows
    if metadata.num_rows not in (0, n_rows):
        raise BadFileError(
            f"file {file.path} is damaged: its footer reports {metadata.num_rows:,} rows, its row groups "
            f"{n_rows:,}"
        )
    if file.n_rows is not None and file.n_rows != n_rows:
        raise BadFileError(
            f"file {file.path} has {n_rows} rows, but the table's log says {file.n_rows}; "
            "restore the file, or repair the table"
        )


def check_chunks(parquet: Any, groups: Iterable[int], positions: Sequence[int]) -> None:
    """Raise PyArrow's error over metadata of columns in row groups that it cannot take apart.

    Asked for it by ``row_group(g).column(i)`` it ends the process (C++ ``terminate``): over levels that are
    not those of the schema, as under an unknown repetition, or where a key is missing. So batches of no row
    are asked for first, for which it takes it apart as well, and reads nothing.

    What has been looked at is not looked at again while the file is open.

    OSError or ArrowException, which `open_parquet` makes one line that names the file.
    """
    groups = list(groups)
    every = ((group, position) for group in groups for position in positions)
    unknown = [chunk for chunk in every if chunk not in parquet.checked]
    if len(unknown) > FEW_CHUNKS and _all_sound(parquet, groups, positions):
        parquet.checked.update(unknown)
        return
    for group, position in unknown:
        next(_batches(parquet.reader, [group], [position]), None)
        parquet.checked.add((group, position))


def _batches(reader: Any, groups: Sequence[int], positions: Sequence[int]) -> Iterator[Any]:
    batches: Iterator[Any] = reader.iter_batches(
        0, row_groups=groups, column_indices=positions, use_threads=False
    )
    return batches


class _Reached(Exception):
    """Bytes are asked for."""


class _NoBytes(io.RawIOBase):
    """Stands for a file of some size of which nothing may be read."""

    def __init__(self, size: int) -> None:
        self._size = size

    def seekable(self) -> bool:
        return True

    def readable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        return self._size if whence == io.SEEK_END else offset

    def tell(self) -> int:
        return self._size

    def read(self, size: int = -1) -> bytes:
        raise _Reached


def _all_sound(parquet: Any, groups: Sequence[int], positions: Sequence[int]) -> bool:
    """Whether PyArrow can take the metadata of these columns apart in all groups; False if it is not known.

    Told to read them ahead it takes all apart at once, before it asks for the first byte, and gets none.
    """
    reader = pq.core.ParquetReader()
    source = pa.PythonFile(_NoBytes(parquet.stream.size()), "r")
    try:
        reader.open(source, metadata=parquet.metadata, pre_buffer=True)
        next(_batches(reader, groups, positions), None)
    except _Reached:
        return True
    except (OSError, pa.ArrowException):
        return False
    return False


def damaged_columns(parquet: Any) -> frozenset[str]:
    """Names of the top-level columns whose metadata PyArrow cannot take apart, in any row group.

    PyArrow's error, as of `check_chunks`, where there is no other column.
    """
    groups = range(parquet.metadata.num_row_groups)
    errors = {position: _error_of(parquet, groups, position) for position in _open_columns(parquet)}
    failures = [error for error in errors.values() if error is not None]
    if failures and len(failures) == len(errors):
        raise failures[0]
    return frozenset(_top(parquet, position) for position, error in errors.items() if error is not None)


def _error_of(parquet: Any, groups: Iterable[int], position: int) -> Exception | None:
    try:
        check_chunks(parquet, groups, [position])
    except MemoryError:
        raise
    except (OSError, pa.ArrowException) as error:
        return error
    return None


def _top(parquet: Any, position: int) -> str:
    name: str = parquet.schema.column(position).path.partition(".")[0]
    return name


def _open_columns(parquet: Any) -> list[int]:
    """Physical columns that are not encrypted."""
    every = range(parquet.metadata.num_columns)
    if not parquet.hidden:
        return list(every)
    return [at for at in every if _top(parquet, at) not in parquet.hidden]


def check_groups(parquet: Any, file: FileRef) -> None:
    """Refuse a footer that names a row group twice, whose rows would be counted twice.

    Of units that have parts of a file none may see both: so it is looked at as a whole, by its first column
    that can be asked for.
    """
    metadata = parquet.metadata
    groups = [number for number in range(metadata.num_row_groups) if metadata.row_group(number).num_rows]
    columns = (at for at in _open_columns(parquet) if _error_of(parquet, groups, at) is None)
    for position in islice(columns, 1 if len(groups) > 1 else 0):
        offsets = [metadata.row_group(number).column(position).data_page_offset for number in groups]
        if len(set(offsets)) == len(groups):
            continue
        places: dict[int, int] = {}
        for number, offset in zip(groups, offsets, strict=True):
            first = places.setdefault(offset, number)
            if first != number:
                raise BadFileError(
                    f"file {file.path} is damaged: row group {number} is row group {first} once more"
                )


class ReadGroups:
    """The row groups of a file that a reader has reached: checked, and how many bytes they store.

    They are asked when they have been read, not before: PyArrow ends the process over some damaged ones.

    Parameters
    ----------
    groups : sequence of int
        In the order in which they are read.
    positions : sequence of int
        Physical columns.
    """

    def __init__(
        self, parquet: pq.ParquetFile, groups: Sequence[int], positions: Sequence[int], file: FileRef
    ) -> None:
        self._metadata, self._groups, self._file = parquet.metadata, groups, file
        columns = [(position, parquet.schema.column(position)) for position in positions]
        self._columns = [(at, one.path, one.physical_type, one.max_repetition_level) for at, one in columns]
        self._ends, self._bytes = [0], [0]
        self._places: dict[int, int] = {}

    def bytes_of(self, n_rows: int) -> int:
        """Bytes that the first so many rows store, which have been read.

        BadFileError if their chunks are not those of the schema, or hold other numbers of rows.
        """
        while self._ends[-1] < n_rows:
            self._reach(self._groups[len(self._ends) - 1])
        at = bisect_left(self._ends, n_rows)
        if at == 0:
            return 0
        (first, last), (low, high) = self._ends[at - 1 : at + 1], self._bytes[at - 1 : at + 1]
        return low + (high - low) * (n_rows - first) // (last - first)

    def _reach(self, number: int) -> None:
        group, stored = self._metadata.row_group(number), 0
        n_rows, places = group.num_rows, self._places
        for position, path, kind, repeated in self._columns:
            chunk = group.column(position)
            if (
                chunk.path_in_schema != path
                or chunk.physical_type != kind
                or (repeated == 0 and chunk.num_values != n_rows)
                or places.setdefault(chunk.data_page_offset, number) != number
            ):
                raise self._damaged(chunk, (path, kind, repeated), number, n_rows)
            stored += chunk.total_compressed_size
        self._ends.append(self._ends[-1] + n_rows)
        self._bytes.append(self._bytes[-1] + stored)

    def _damaged(self, chunk: Any, column: tuple[str, str, int], number: int, n_rows: int) -> BadFileError:
        path, kind, repeated = column
        if (chunk.path_in_schema, chunk.physical_type) != (path, kind):
            told = f"{chunk.path_in_schema} {chunk.physical_type}"
            wrong = f"has {told} where its schema has {path} {kind}"
        elif repeated == 0 and chunk.num_values != n_rows:
            wrong = f"has {n_rows:,} rows according to its footer, but {chunk.num_values:,} values of {path}"
        else:
            wrong = f"is row group {self._places[chunk.data_page_offset]} once more"
        return BadFileError(f"file {self._file.path} is damaged: row group {number} {wrong}")
