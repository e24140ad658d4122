"""What the log of a table says: its live files, their partition values, and which columns are the table's."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

import pyarrow as pa
from pyarrow import types as patypes

from distmom.errors import DataError
from distmom.lake.columns.schema import kind_of
from distmom.lake.source import PartitionType

FIELD_ID = b"PARQUET:field_id"
_BECOMING = {("date", "timestamp"), ("date", "zoned"), ("timestamp", "zoned")}


class TableColumn(NamedTuple):
    """A column of a table: its name, its number, and what files without numbers call it.

    ``fills`` tells whether it is null in a file that lacks it.
    """

    name: str
    number: int | None
    stored: tuple[str, ...]
    fills: bool = True


@dataclass(frozen=True)
class TableColumns:
    """Which column of a file is which of the table's.

    Attributes
    ----------
    declared : pyarrow.Schema
        Their types, as the table has them.
    by_number : bool
        Whether the numbers in a file decide where it has some: names may have gone to other columns since.
    """

    columns: tuple[TableColumn, ...]
    declared: pa.Schema
    by_number: bool = False

    def of(self, schema: pa.Schema) -> pa.Schema:
        """The schema of a file under the table's names; what is no column of it has a name nobody asks for.

        Order and number of the columns stay, so that positions do; times have the table's types.
        """
        numbers = [_number(field) for field in schema] if self.by_number else []
        if any(number is not None for number in numbers):
            known = {column.number: column.name for column in self.columns}
            names = [None if number is None else known.get(number) for number in numbers]
        else:
            stored = {name: column.name for column in self.columns for name in column.stored}
            names = [stored.get(name) for name in schema.names]
        fields = [
            field.with_name(f"\0{field.name}") if name is None else self._as_declared(field.with_name(name))
            for field, name in zip(schema, names, strict=True)
        ]
        return pa.schema(fields, schema.metadata)

    def _as_declared(self, field: pa.Field) -> pa.Field:
        """The field with the table's type, where the file's is of another kind of time that becomes it.

        Dates of before they were widened are midnights, and times without a zone (INT96) are of UTC.
        """
        at = self.declared.get_field_index(field.name)
        declared: Any = self.declared.field(at).type if at >= 0 else pa.null()
        if (kind_of(field.type), kind_of(declared)) not in _BECOMING:
            return field
        unit = field.type.unit if patypes.is_timestamp(field.type) else declared.unit
        return field.with_type(pa.timestamp(unit, declared.tz))

    def complete(self, schema: pa.Schema) -> pa.Schema:
        """A file's schema without what is no column of the table, and with what the file lacks."""
        fields = [field for field in schema if not field.name.startswith("\0")]
        lacking = [column.name for column in self.columns if column.name not in schema.names]
        return pa.schema([*fields, *(self.declared.field(name) for name in lacking)])

    def fills(self, name: str) -> bool:
        """Whether a file that lacks the column has nulls there."""
        return any(column.name == name and column.fills for column in self.columns)


class TableVersion(NamedTuple):
    """Which state of a table was read: ``"delta"`` and its version, ``"iceberg"`` and its snapshot."""

    format: str
    version: int


class LoggedFile(NamedTuple):
    """A live file: its path below the table's folder, its rows, the texts of its partition values."""

    path: str
    n_rows: int | None
    partition: tuple[str | None, ...]


@dataclass(frozen=True)
class LoggedTable:
    """One state of a table."""

    version: TableVersion
    files: tuple[LoggedFile, ...]
    partition_names: tuple[str, ...]
    partition_types: tuple[PartitionType, ...]
    columns: TableColumns


def logged_table(
    version: TableVersion,
    files: Sequence[LoggedFile],
    partitions: Sequence[tuple[str, PartitionType]],
    columns: TableColumns,
    shown: str,
) -> LoggedTable:
    """What a log says; DataError, which calls the table `shown`, if a file is not below its folder."""
    for path, *_ in files:
        if not path or path.startswith("/") or "://" in path or ".." in path.split("/") or "\0" in path:
            raise DataError(
                f"{shown}: its log names {path!r}, which is outside of its folder (a clone of another "
                "table?); copy the table, or pass the list of its live files (@list.txt)"
            )
    names, types = tuple(name for name, _ in partitions), tuple(kind for _, kind in partitions)
    return LoggedTable(version, tuple(files), names, types, columns)


def partition_type(type_: pa.DataType) -> PartitionType | None:
    """How values of a type in a log are kept; None for those that only their text stands for."""
    kind = kind_of(type_)
    if kind == "number":
        whole = patypes.is_integer(type_)
        return "int" if whole else "float" if patypes.is_floating(type_) else "decimal"
    return kind if kind in ("text", "date", "bool", "timestamp", "zoned") else None


def partition_text(value: object) -> str | None:
    """The text of a partition value as `distmom.lake.files.partitions.folder_value` reads it."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return "nan" if math.isnan(value) else repr(value)
    if isinstance(value, datetime):
        return value.isoformat(" ")
    return value.hex() if isinstance(value, bytes) else str(value)


def _number(field: pa.Field) -> int | None:
    text = (field.metadata or {}).get(FIELD_ID)
    return int(text) if text is not None and text.lstrip(b"-").isdigit() else None
