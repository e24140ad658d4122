"""Reading all columns of the files of a lake, as Arrow batches of one schema."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.fs as pafs
import pyarrow.parquet as pq
from pyarrow import types as patypes

from distmom.errors import BadFileError, ConfigError, DataError
from distmom.lake.columns.schema import partition_arrow_type
from distmom.lake.files import footers
from distmom.lake.files.partitions import typed_value
from distmom.lake.lake import Lake
from distmom.lake.reader import row_groups_of
from distmom.lake.source import FileRef, PartitionType
from distmom.lake.tables.table_columns import TableColumns

BATCH_ROWS = 65_536


@dataclass(frozen=True)
class WholeRows:
    """Reads files whole; frozen and picklable, without the list of files.

    Attributes
    ----------
    root : str
    filesystem : pyarrow.fs.FileSystem
    stored : pyarrow.Schema
        Columns of the files, as the first one has them.
    model : str
        That file, for errors.
    partitions : tuple of (name, type)
        Columns that come from the folders' names; behind the stored ones where they are not among them.
    columns : TableColumns, optional
        Which columns of the files are which of the table's; only files that call them the same are read.
    """

    root: str
    filesystem: pafs.FileSystem
    stored: pa.Schema
    model: str
    partitions: tuple[tuple[str, PartitionType], ...]
    columns: TableColumns | None = None

    @classmethod
    def of(cls, lake: Lake) -> WholeRows:
        """A reader of all columns.

        Raises
        ------
        ConfigError
            If the lake is in memory.
        DataError
            If the first file cannot be read.
        """
        if not isinstance(lake, Lake):
            raise ConfigError("data: name Parquet files; rows in memory are shuffled by NumPy or Polars")
        first = lake.files[0]
        with footers.open_parquet(lake.filesystem, lake.root, first) as parquet:
            stored = parquet.schema_arrow
        types = tuple(zip(lake.partition_names, lake.partition_types, strict=True))
        return cls(lake.root, lake.filesystem, stored, first.path, types, lake.columns)

    @property
    def schema(self) -> pa.Schema:
        """Columns of the batches: dictionaries are their values, folders' keys come last."""
        fields = [field.with_type(plain_type(field.type)) for field in self.stored]
        for name, kind in self.partitions:
            if name not in self.stored.names:
                fields.append(pa.field(name, partition_arrow_type(kind)))
        return pa.schema(fields, _kept(self.stored.metadata))

    def check(self, parquet: pq.ParquetFile, file: FileRef) -> bool:
        """Whether a file's columns may be null exactly where the first file's may.

        Raises
        ------
        DataError
            If names or types differ.
        """
        own = parquet.schema_arrow
        if self.columns is not None and self.columns.of(own).names != own.names:
            raise BadFileError(
                f"file {file.path}: its columns have other names than those of the table; rewrite it with "
                "the table's own tools, or shuffle the rows there"
            )
        if own.equals(self.stored):
            return True
        for name in dict.fromkeys([*self.stored.names, *own.names]):
            pair = self.stored.get_all_field_indices(name), own.get_all_field_indices(name)
            if len(pair[0]) != len(pair[1]) or (len(pair[0]) > 1 and own.names != self.stored.names):
                where = self.model if len(pair[0]) > len(pair[1]) else file.path
                other = file.path if where == self.model else self.model
                raise BadFileError(
                    f"column {name!r} is in {where} but not as often in {other}; all files must have the "
                    "same columns: shuffle them apart, or rewrite some"
                )
            for ours, theirs in zip(*pair, strict=True):
                types = self.stored.field(ours).type, own.field(theirs).type
                if plain_type(types[0]) != plain_type(types[1]):
                    raise BadFileError(
                        f"column {name!r} is {types[0]} in {self.model} but {types[1]} in {file.path}; "
                        "all files must have the same types: rewrite some"
                    )
        by_name = {field.name: field.nullable for field in own}
        return all(by_name[field.name] == field.nullable for field in self.stored)

    def batches(self, file: FileRef, start: int = 0, stop: int | None = None) -> Iterator[pa.RecordBatch]:
        """All columns of the rows ``[start, stop)`` of a file as they are stored, and the folders' keys.

        Raises
        ------
        DataError
            If the file is damaged or has changed, or its folder's name disagrees with its values.
        """
        n_columns = len(self.stored)
        with footers.open_parquet(self.filesystem, self.root, file, n_columns=n_columns) as parquet:
            self.check(parquet, file)
            rows = row_groups_of(parquet, start, stop)
            if not rows.groups:
                return
            leaves = range(parquet.metadata.num_columns)
            footers.check_codecs(parquet, rows.groups, leaves, file.path)
            position = rows.first
            for batch in parquet.reader.iter_batches(
                BATCH_ROWS, row_groups=rows.groups, column_indices=list(leaves), use_threads=False
            ):
                low = max(start - position, 0)
                high = batch.num_rows if stop is None else min(batch.num_rows, stop - position)
                position += batch.num_rows
                if low < high:
                    yield self._complete(batch.slice(low, high - low), file)

    def _complete(self, batch: pa.RecordBatch, file: FileRef) -> pa.RecordBatch:
        """The columns in the order of the first file, and those of the folders."""
        names = self.stored.names
        if batch.schema.names == names:
            columns = list(batch.columns)
        else:
            columns = [batch.column(batch.schema.get_field_index(name)) for name in names]
        fields = list(self.stored)
        for (name, kind), text in zip(self.partitions, file.partition, strict=True):
            type_ = partition_arrow_type(kind)
            value = pa.scalar(typed_value(text, kind), type_)
            if name in names:
                _check_agreement(columns[names.index(name)], value, name, file)
            else:
                columns.append(pa.repeat(value, batch.num_rows))
                fields.append(pa.field(name, type_))
        fields = [field.with_type(c.type) for field, c in zip(fields, columns, strict=True)]
        nullable = [field.with_nullable(True) for field in fields]
        return pa.RecordBatch.from_arrays(columns, schema=pa.schema(nullable))


def plain_type(type_: pa.DataType) -> pa.DataType:
    """The type of the values without dictionaries and views, inside of lists and structs too."""
    if patypes.is_string_view(type_) or patypes.is_binary_view(type_):  # rows of views cannot be picked
        return pa.large_string() if patypes.is_string_view(type_) else pa.large_binary()
    if patypes.is_dictionary(type_):
        return plain_type(type_.value_type)
    if patypes.is_struct(type_):
        return pa.struct([field.with_type(plain_type(field.type)) for field in type_])
    if patypes.is_map(type_):
        return pa.map_(
            type_.key_field.with_type(plain_type(type_.key_type)),
            type_.item_field.with_type(plain_type(type_.item_type)),
            type_.keys_sorted,
        )
    for is_list, make in ((patypes.is_list, pa.list_), (patypes.is_large_list, pa.large_list)):
        if is_list(type_):
            return make(type_.value_field.with_type(plain_type(type_.value_type)))
    if patypes.is_fixed_size_list(type_):
        return pa.list_(type_.value_field.with_type(plain_type(type_.value_type)), type_.list_size)
    return type_


def plain_array(array: pa.Array) -> pa.Array:
    """The same values without dictionaries and views."""
    if patypes.is_dictionary(array.type):
        array = array.dictionary_decode()
    plain = plain_type(array.type)
    return array if array.type == plain else array.cast(plain)


def _kept(metadata: dict[bytes, bytes] | None) -> dict[bytes, bytes] | None:
    """Metadata of the file, without what pandas says of an index by row numbers."""
    return {key: value for key, value in (metadata or {}).items() if key != b"pandas"} or None


def _check_agreement(column: pa.Array, value: pa.Scalar, name: str, file: FileRef) -> None:
    column = plain_array(column)
    try:
        agrees = (
            column.null_count == len(column)
            if not value.is_valid
            else column.null_count == 0 and pc.all(pc.equal(column, value.cast(column.type))).as_py()
        )
    except pa.ArrowException:
        agrees = False
    if not agrees and len(column):
        raise DataError(
            f"file {file.path}: column {name!r} disagrees with its folder's name; rename the folder or the "
            "column"
        )
