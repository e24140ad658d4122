"""Data that is already in memory, with the same reader as a lake: one file named ``""``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from distmom.errors import BadFileError, DataError
from distmom.lake.assemble import Assembler, FileColumn
from distmom.lake.columns.extensions import kept
from distmom.lake.columns.references import settle
from distmom.lake.columns.schema import Reference, roles_of
from distmom.lake.columns.times import TimeScale, with_times
from distmom.lake.columns.vectors import measured
from distmom.lake.extent import Extent
from distmom.lake.files.footers import FIRST_ROWS
from distmom.lake.memory.memory_columns import MemoryColumn, arrow_rows, columns_of
from distmom.lake.source import Batch, BatchReader, FileRef, ReadOptions, Source
from distmom.numerics.arrays import Ints


@dataclass(frozen=True)
class MemoryLake(Source):
    """A table or array in memory.

    Attributes
    ----------
    columns : mapping
        One for each name.
    n_named : mapping
        How many columns there are of a name, where it is more than one.
    files : tuple of FileRef
        One, with the path ``""``.
    """

    columns: Mapping[str, MemoryColumn]
    n_rows: int
    n_bytes: int = 0
    files: tuple[FileRef, ...] = (FileRef("", 0, 0),)
    n_named: Mapping[str, int] = field(default_factory=dict)
    in_memory = True

    def schema(self) -> pa.Schema:
        """Names and types of the columns."""
        return pa.schema([pa.field(name, column.type) for name, column in self.columns.items()])

    def row_counts(self, files: Sequence[FileRef] | None = None) -> Ints:
        """Rows of the one file."""
        return np.full(len(self.files if files is None else files), self.n_rows, np.int64)

    def extent(self, names: Collection[str]) -> Extent:
        """All rows; nothing is decoded."""
        return Extent(self.n_rows, self.n_rows, self.n_rows, {})

    def reader(self, options: ReadOptions) -> MemoryReader:
        """A reader of these columns, which holds their memory.

        ConfigError if there is no column of that name, or the condition does not fit the columns' types;
        DataError if a column's type cannot be read; NoAnswerError if the length of a list column is looked
        for and no row has one.
        """
        return measured(self.checked(options), self.files)

    def checked(self, options: ReadOptions) -> MemoryReader:
        """As `reader`, without a look at the rows: lists whose type does not tell their length have 0."""
        options, references = settle(options, (), self._schemas, "the data")
        names = dict.fromkeys(name for name, _ in roles_of(options))
        columns = {name: self.columns[name] for name in names}
        first = min(self.n_rows, FIRST_ROWS)

        def near(reference: Reference) -> TimeScale:
            assert reference.scale is not None
            return reference.scale.near(arrow_rows(self.columns[reference.column], 0, first))

        options = with_times(options, references, near)
        return MemoryReader(options, self.n_rows, self.n_bytes, columns, self.n_named)

    def _schemas(self) -> Iterator[tuple[FileRef, pa.Schema]]:
        yield self.files[0], self.schema()


@dataclass(frozen=True)
class MemoryReader(BatchReader):
    """Reads batches of columns in memory; as large as those columns when it is pickled."""

    options: ReadOptions
    n_rows: int
    n_bytes: int
    columns: Mapping[str, MemoryColumn]
    n_named: Mapping[str, int]

    def batches(self, file: FileRef, start: int = 0, stop: int | None = None) -> Iterator[Batch]:
        """Batches of ``options.batch_rows`` rows of ``[start, stop)``, the last one shorter.

        BadFileError if a column's name is that of another one, too.
        """
        refuse_several(self.columns, self.n_named)
        columns = [FileColumn(name, position=i) for i, name in enumerate(self.columns)]
        types = {name: column.type for name, column in self.columns.items()}
        assembler = Assembler(columns, types, self.options)
        end = self.n_rows if stop is None else min(stop, self.n_rows)
        for low in range(start, end, self.options.batch_rows):
            high = min(low + self.options.batch_rows, end)
            arrays = [arrow_rows(column, low, high) for column in self.columns.values()]
            n_bytes = self.n_bytes * high // self.n_rows - self.n_bytes * low // self.n_rows
            yield assembler.batch(arrays, low, high - low, n_bytes)


def open_memory(data: Any) -> MemoryLake:
    """Wrap data in memory; see `distmom.lake.open_lake`.

    ConfigError if the object is of no kind that is read; DataError if its columns differ in length.
    """
    columns = [(name, kept(column)) for name, column in columns_of(data)]
    if not columns:
        raise DataError("the data has no columns")
    first, n_rows = columns[0][0], len(columns[0][1])
    for name, column in columns:
        if len(column) != n_rows:
            raise DataError(f"column {name!r} has {len(column)} rows but column {first!r} has {n_rows}")
    n_bytes = n_rows * sum(_row_bytes(column.type) for _, column in columns)
    file = FileRef("", n_bytes, 0)
    return MemoryLake(dict(columns), n_rows, n_bytes, (file,), several(name for name, _ in columns))


def several(names: Iterable[str]) -> dict[str, int]:
    """How many columns there are of a name, where it is more than one."""
    return {name: number for name, number in Counter(names).items() if number > 1}


def refuse_several(names: Iterable[str], n_named: Mapping[str, int]) -> None:
    """BadFileError if a name that is asked for is that of several columns."""
    for name in names:
        if name in n_named:
            told = f"the data has {n_named[name]} columns called {name!r}; rename them"
            raise BadFileError(told, column=name)


def _row_bytes(type_: pa.DataType) -> int:
    """Bytes a row, or a guess where the width varies: for progress and plans."""
    try:
        return max(1, int(type_.bit_width) // 8)
    except ValueError:
        return 16
