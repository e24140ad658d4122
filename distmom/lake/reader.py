"""Read the asked columns of one Parquet file as batches, in memory bounded by the batch."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.fs as pafs
import pyarrow.parquet as pq

from distmom.errors import BadFileError
from distmom.lake.assemble import Assembler, FileColumn, constant_column
from distmom.lake.columns.int96 import Int96Columns
from distmom.lake.columns.schema import Reference, check_type, roles_of
from distmom.lake.files import footers
from distmom.lake.files.enums import as_text
from distmom.lake.files.failures import problem
from distmom.lake.files.footer_checks import ReadGroups
from distmom.lake.files.partitions import folder_value
from distmom.lake.fits import check_fits
from distmom.lake.single import only_batch
from distmom.lake.source import Batch, BatchReader, FileRef, PartitionType, ReadOptions, Unsent
from distmom.lake.tables.logged import TableColumns
from distmom.numerics.arrays import Ints

Stretches = Sequence[tuple[int, int | None]]


@dataclass(frozen=True)
class Reader(BatchReader):
    """Reads files of one lake; frozen and small, so that it can go to workers.

    Attributes
    ----------
    root : str
        Folder that the files' paths start from.
    partitions : tuple of (name, type)
        Columns that come from the folders' names.
    references : tuple of Reference
        Types that the asked columns have elsewhere in the lake.
    columns : TableColumns, optional
        Which columns of the files are which of the table's.
    recent : Unsent
        What was settled for the file read last.
    checked : Unsent
        Of files whose footers have been read in this process, what of their metadata is known to be sound.
    """

    root: str
    filesystem: pafs.FileSystem
    options: ReadOptions
    partitions: tuple[tuple[str, PartitionType], ...]
    references: tuple[Reference, ...]
    columns: TableColumns | None = None
    recent: Unsent = field(default_factory=Unsent, compare=False, repr=False)
    checked: Unsent = field(default_factory=Unsent, compare=False, repr=False)

    def excludes(self, file: FileRef) -> bool:
        """Whether the filter drops every row of the file, as its partition values tell."""
        where = self.options.where
        if where is None or not self.partitions:
            return False
        kinds = zip(self.partitions, file.partition, strict=True)
        return where.excludes({name: folder_value(text, kind) for (name, kind), text in kinds})

    def batches(self, file: FileRef, start: int = 0, stop: int | None = None) -> Iterator[Batch]:
        """Batches of the rows ``[start, stop)`` of a file, in order.

        Batches hold ``options.batch_rows`` rows or fewer: PyArrow cuts them at row groups where it reads
        dictionaries, and counts them from the first row group read. A file that the filter excludes by its
        partition values gives none.

        DataError if the file changed since it was listed (before or while it is read), is damaged, lacks a
        column, has one of a type that does not fit, or disagrees with its folder's name.
        """
        if start == 0 and stop is None and (only := self._only_batch(file)) is not None:
            return iter((only,))
        return self._stretches_of(file, lambda parquet: [(start, stop)])

    def _only_batch(self, file: FileRef) -> Batch | None:
        if self.columns is not None or self.dictionaries or self.excludes(file):
            return None
        place, size = (self.filesystem, self.root, file), self.options.batch_rows
        return only_batch(*place, size, self._assembler_of)

    def batches_holding(self, file: FileRef, rows: Ints) -> Iterator[Batch]:
        """As `batches`, of those row groups alone that hold some of these rows (ascending, at least one)."""
        return self._stretches_of(file, lambda parquet: _stretches(parquet, rows))

    def _stretches_of(self, file: FileRef, ranges: Callable[[pq.ParquetFile], Stretches]) -> Iterator[Batch]:
        if self.excludes(file):
            return
        place, n_columns = (self.filesystem, self.root, file), len(roles_of(self.options))
        checked = self.checked.get(file.path)
        with footers.open_parquet(*place, self.dictionaries, n_columns, self.columns, checked) as parquet:
            assembler = self._assembler_of(parquet, file)
            for start, stop in ranges(parquet):
                yield from _read(parquet, assembler, self.options.batch_rows, file, start, stop)

    @cached_property
    def dictionaries(self) -> list[str]:
        """Text columns that are keys, compared or only counted: their dictionary codes are enough."""
        where = self.options.where
        options = self.options
        asked = {*options.by, *options.units, *options.present, *(where.columns if where is not None else ())}
        return [item.column for item in self.references if item.column in asked and item.kind == "text"]

    def _assembler_of(self, parquet: pq.ParquetFile, file: FileRef) -> Assembler:
        """`_assembler`, or that of the last file if this one has the same columns, as most files have."""
        if parquet.hidden:
            return self._assembler(parquet, file)
        schema, types = parquet.schema, parquet.reader.schema_arrow
        last = self.recent.get("last")  # another thread may put in another one at any time
        if last is not None and last[0].equals(schema) and last[1].equals(types):
            return last[2]  # type: ignore[no-any-return]
        assembler = self._assembler(parquet, file)
        asked = {name for name, _ in roles_of(self.options)}
        # values of folders differ between files, and a list of the wrong length is told with its file
        if not self.options.vectors and asked.isdisjoint(name for name, _ in self.partitions):
            self.recent["last"] = schema, types, assembler
        return assembler

    def _assembler(self, parquet: pq.ParquetFile, file: FileRef) -> Assembler:
        """How each asked column is found in this file, after a check of its type."""
        schema = parquet.schema_arrow
        positions = footers.column_positions(parquet.schema_arrow)
        kinds = dict(self.partitions)
        constants = dict(zip(kinds, file.partition, strict=True))
        references = {reference.column: reference for reference in self.references}
        columns: dict[str, FileColumn] = {}
        types: dict[str, pa.DataType] = {}
        for name, role in roles_of(self.options):
            fields = schema.get_all_field_indices(name)
            if len(fields) > 1:
                told = f"file {file.path} has {len(fields)} columns called {name!r}; rename them"
                raise BadFileError(told, column=name)
            if name in constants:
                columns[name] = constant_column(
                    name, constants[name], kinds[name], positions.get(name), file.path
                )
            elif name in parquet.hidden:
                raise BadFileError(
                    f"file {file.path}: column {name!r} is encrypted; choose another, or rewrite the file"
                )
            elif fields:
                types[name] = schema.field(fields[0]).type
                check_type(role, name, types[name], file.path, references.get(name))
                columns[name] = FileColumn(name, position=positions[name], file=file.path)
            elif self.options.missing == "null" or (self.columns is not None and self.columns.fills(name)):
                columns[name] = FileColumn(name, null=True)
            else:
                raise BadFileError(
                    f"column {name!r} is not in {file.path}"
                    f"{_elsewhere(references.get(name))}; missing='null' counts its rows as null"
                )
        return Assembler(list(columns.values()), types, self.options, parquet.schema)


def _elsewhere(reference: Reference | None) -> str:
    return f", only elsewhere ({reference.type} in {reference.file})" if reference is not None else ""


class RowGroups(NamedTuple):
    """The row groups that hold the asked rows."""

    groups: list[int]
    first: int  # row number in the file of the first row of the first group
    n_rows: int


def row_groups_of(parquet: pq.ParquetFile, start: int, stop: int | None) -> RowGroups:
    """The row groups that hold rows of ``[start, stop)``."""
    metadata = parquet.metadata
    groups: list[int] = []
    first = end = 0
    for group in range(metadata.num_row_groups):
        begin, end = end, end + metadata.row_group(group).num_rows
        if begin == end or end <= start or (stop is not None and begin >= stop):
            continue
        if not groups:
            first = begin
        groups.append(group)
        last = end
    return RowGroups(groups, first, last - first if groups else 0)


def _stretches(parquet: pq.ParquetFile, rows: Ints) -> Stretches:
    """Ranges of rows from a wanted one to another, without the row groups that hold none."""
    metadata = parquet.metadata
    ends = np.cumsum([metadata.row_group(group).num_rows for group in range(metadata.num_row_groups)])
    groups = np.searchsorted(ends, rows, side="right")
    breaks = np.flatnonzero(np.diff(groups) > 1) + 1
    parts = zip([0, *breaks.tolist()], [*breaks.tolist(), rows.size], strict=True)
    return [(int(rows[first]), int(rows[last - 1]) + 1) for first, last in parts]


def _read(
    parquet: pq.ParquetFile,
    assembler: Assembler,
    batch_rows: int,
    file: FileRef,
    start: int,
    stop: int | None,
) -> Iterator[Batch]:
    rows = row_groups_of(parquet, start, stop)
    if not rows.groups:
        return
    check_fits(parquet, rows.groups, assembler, batch_rows, file)
    reached = ReadGroups(parquet, rows.groups, assembler.positions, file)
    end = rows.first + rows.n_rows if stop is None else min(stop, rows.first + rows.n_rows)
    position, stored = rows.first, 0
    for size, arrays in _arrays(parquet, rows, assembler, batch_rows, file):
        begin, position = position, position + size
        before, stored = stored, reached.bytes_of(position - rows.first)
        low, high = max(begin, start), min(position, end)
        if low < high:
            if high - low < size:
                arrays = [array.slice(low - begin, high - low) for array in arrays]
            yield assembler.batch(arrays, low, high - low, stored - before)
        del arrays  # they are not needed while the next ones are decoded
        if position >= end:
            return


def _arrays(
    parquet: pq.ParquetFile, rows: RowGroups, assembler: Assembler, batch_rows: int, file: FileRef
) -> Iterator[tuple[int, list[pa.Array]]]:
    """Sizes and arrays of consecutive batches; sizes alone where nothing stored is asked for."""
    batches, done = _batches(parquet, rows, assembler, batch_rows, file), 0
    while True:
        try:
            found = next(batches, None)
            if found is not None:
                for i in assembler.enums:
                    found[1][i] = as_text(found[1][i])
        except (pa.ArrowException, OSError) as error:
            number = getattr(error, "errno", None)
            if isinstance(error, MemoryError) or number is not None:
                raise
            raise _located(parquet, rows, assembler, done, file, error) from error
        if found is None:
            break
        done += found[0]
        yield found
        del found
    if done != rows.n_rows:
        raise BadFileError(
            f"file {file.path} is damaged: {done:,} rows were read, but its footer reports {rows.n_rows:,}"
        )


def _batches(
    parquet: pq.ParquetFile, rows: RowGroups, assembler: Assembler, batch_rows: int, file: FileRef
) -> Iterator[tuple[int, list[pa.Array]]]:
    """Sizes and arrays as they are stored, those that are read apart put in their places."""
    int96 = [assembler.positions[i] for i in assembler.int96]
    positions = [position for position in assembler.positions if position not in int96]
    times = Int96Columns(parquet, rows.groups, int96, batch_rows, file) if int96 else None
    if not positions:
        for begin in range(0, rows.n_rows, batch_rows):
            n_rows = min(batch_rows, rows.n_rows - begin)
            yield n_rows, [] if times is None else times.take(n_rows)
        return
    # by physical position: selection by name would take "a.b" for a field of a struct as well
    for batch in parquet.reader.iter_batches(
        batch_rows, row_groups=rows.groups, column_indices=positions, use_threads=False
    ):
        n_rows, columns = batch.num_rows, batch.columns
        del batch
        more = times.take(n_rows) if times is not None else []
        for i in assembler.int96:
            columns.insert(i, more.pop(0))
        yield n_rows, columns
        del columns


def _located(
    parquet: pq.ParquetFile, rows: RowGroups, assembler: Assembler, done: int, file: FileRef, error: Exception
) -> BadFileError:
    """With the row group and column that is damaged: read on, one column and row group at a time."""
    seen = 0
    for group in rows.groups:
        seen += parquet.metadata.row_group(group).num_rows
        if seen <= done:
            continue
        for name, position in zip(assembler.names, assembler.positions, strict=True):
            try:
                for _ in parquet.reader.iter_batches(
                    65_536, row_groups=[group], column_indices=[position], use_threads=False
                ):
                    pass
            except (pa.ArrowException, OSError) as cause:
                place = f"damaged in row group {group}, column {parquet.schema.column(position).path!r}"
                return BadFileError(f"file {file.path} {problem(cause, place)}", name)
    return BadFileError(f"file {file.path} {problem(error, f'damaged after row {rows.first + done}')}")
