"""The columns of a table in the files of a table: by name, by the name in the files, or by number."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import pyarrow as pa

FIELD_ID = b"PARQUET:field_id"


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
    columns : tuple of TableColumn
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

        Order and number of the columns stay, so that positions do.
        """
        numbers = [_number(field) for field in schema] if self.by_number else []
        if any(number is not None for number in numbers):
            known = {column.number: column.name for column in self.columns}
            names = [None if number is None else known.get(number) for number in numbers]
        else:
            stored = {name: column.name for column in self.columns for name in column.stored}
            names = [stored.get(name) for name in schema.names]
        fields = [
            field.with_name(f"\0{field.name}" if name is None else name)
            for field, name in zip(schema, names, strict=True)
        ]
        return pa.schema(fields, schema.metadata)

    def complete(self, schema: pa.Schema) -> pa.Schema:
        """A file's schema without what is no column of the table, and with what the file lacks."""
        fields = [field for field in schema if not field.name.startswith("\0")]
        lacking = [column.name for column in self.columns if column.name not in schema.names]
        return pa.schema([*fields, *(self.declared.field(name) for name in lacking)])

    def fills(self, name: str) -> bool:
        """Whether a file that lacks the column has nulls there."""
        return any(column.name == name and column.fills for column in self.columns)


def _number(field: pa.Field) -> int | None:
    text = (field.metadata or {}).get(FIELD_ID)
    return int(text) if text is not None and text.lstrip(b"-").isdigit() else None
