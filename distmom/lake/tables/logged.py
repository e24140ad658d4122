"""What the log of a table says: its live files, their partition values, and the table's columns."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import NamedTuple

import pyarrow as pa
from pyarrow import types as patypes

from distmom.errors import DataError
from distmom.lake.columns.schema import kind_of
from distmom.lake.source import PartitionType
from distmom.lake.tables.table_columns import TableColumns


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
    """One state of a table.

    Attributes
    ----------
    version : TableVersion
    files : tuple of LoggedFile
    partition_names : tuple of str
    partition_types : tuple of PartitionType
    columns : TableColumns
    """

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
    """What a log says, once its files are known to be below the table's folder; `shown` is for messages."""
    check_inside([file.path for file in files], shown)
    names, types = tuple(name for name, _ in partitions), tuple(kind for _, kind in partitions)
    return LoggedTable(version, tuple(files), names, types, columns)


def partition_type(type_: pa.DataType) -> PartitionType | None:
    """How values of a type in a log are kept; None for those that only their text stands for."""
    kind = kind_of(type_)
    if kind == "number":
        return "int" if patypes.is_integer(type_) else "float" if patypes.is_floating(type_) else None
    return kind if kind in ("text", "date", "bool") else None


def partition_text(value: object) -> str | None:
    """The text of a partition value as `distmom.lake.files.partitions.typed_value` reads it."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return "nan" if math.isnan(value) else repr(value)
    if isinstance(value, datetime):
        return value.isoformat(" ")
    if isinstance(value, (date, int, Decimal)):
        return str(value)
    if isinstance(value, bytes):
        return value.hex()
    return str(value)


def check_inside(paths: Iterable[str], table: str) -> None:
    """DataError if the log names a file that is not below the table's folder."""
    for path in paths:
        if not path or path.startswith("/") or "://" in path or ".." in path.split("/") or "\0" in path:
            raise DataError(
                f"{table}: its log names {path!r}, which is outside of its folder (a clone of another "
                "table?); copy the table, or pass the list of its live files (@list.txt)"
            )
