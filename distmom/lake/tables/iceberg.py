"""The live files of a snapshot of an Iceberg table, by its metadata and manifests."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from distmom.errors import ConfigError, DataError
from distmom.lake.messages import masked
from distmom.lake.source import PartitionType
from distmom.lake.tables import logged
from distmom.lake.tables.logged import LoggedTable, TableColumn, TableColumns

if TYPE_CHECKING:
    from pyiceberg.schema import Schema
    from pyiceberg.table import FileScanTask, Table


def load_metadata(place: str, options: Mapping[str, str], shown: str) -> Any:
    """The table of a metadata file, or of a folder whose ``version-hint.text`` names the newest one."""
    with _reading(shown):
        from pyiceberg.table import StaticTable

        return StaticTable.from_metadata(place, dict(options))


def load_from_catalog(catalog: str, name: str, shown: str) -> Any:
    """A table of a catalog, which PyIceberg's own configuration describes."""
    with _reading(shown):
        from pyiceberg.catalog import load_catalog

        return load_catalog(catalog).load_table(name)


def folder_of(table: Any) -> str:
    """Where a table's files lie, as its metadata say."""
    return _local(str(table.location()))


@contextmanager
def _reading(shown: str) -> Iterator[None]:
    """Errors of PyIceberg in one line."""
    try:
        yield
    except DataError:
        raise
    except ModuleNotFoundError as error:
        raise ConfigError(
            f"data: {shown} is an Iceberg table, which needs the package pyiceberg; "
            f"pip install 'distmom[iceberg]' ({error.name} is missing), or pass the list of its live files "
            "(@list.txt)"
        ) from error
    except Exception as error:
        raise DataError(
            f"{shown} is an Iceberg table: its metadata cannot be read: {masked(error)}; check its name and "
            "its files, or pass the list of its live files (@list.txt)"
        ) from error


def read_iceberg(table: Any, snapshot: int | None, shown: str) -> LoggedTable:
    """What the manifests say of a snapshot; of the current one where none is given.

    DataError if they cannot be read, there is no such snapshot, or live files have delete files, are not
    Parquet, or lie outside of the table's folder.
    """
    with _reading(shown):
        return _logged(table, snapshot, shown)


def _logged(table: Table, snapshot: int | None, shown: str) -> LoggedTable:
    chosen = table.current_snapshot() if snapshot is None else table.snapshot_by_id(snapshot)
    if chosen is None:
        what = "no snapshot, so no rows yet" if snapshot is None else f"no snapshot {snapshot}"
        raise DataError(f"{shown} has {what}; give one of its snapshots, or append rows first")
    scan = table.scan(snapshot_id=chosen.snapshot_id)
    schema = scan.projection()
    tasks = list(scan.plan_files())
    for task in tasks:
        _check(task, shown)
    paths = [_below(task.file.file_path, folder_of(table)) for task in tasks]
    declared = _arrow(schema)
    fields = _identity_fields(table, tasks, schema, declared)
    values = [_values(table, task, fields) for task in tasks]
    return logged.logged_table(
        logged.TableVersion("iceberg", chosen.snapshot_id),
        [
            logged.LoggedFile(path, task.file.record_count, value)
            for path, task, value in zip(paths, tasks, values, strict=True)
        ],
        list(fields.values()),
        _columns(table, schema, declared, tasks, set(fields), shown),
        shown,
    )


def _check(task: FileScanTask, shown: str) -> None:
    if task.delete_files:
        name = min(file.file_path for file in task.delete_files).rpartition("/")[2]
        raise DataError(
            f"{shown} has delete files, which are not supported: {name} deletes rows of "
            f"{task.file.file_path.rpartition('/')[2]}; rewrite its data files (rewrite_data_files)"
        )
    if task.file.file_format.value.upper() != "PARQUET":
        raise DataError(
            f"{shown}: {task.file.file_path.rpartition('/')[2]} is {task.file.file_format.value}; only "
            "Parquet files are read"
        )


def _below(path: str, location: str) -> str:
    """A file's path below the table's folder; the whole path if it is elsewhere."""
    inside, folder = (_plain(text).rstrip("/") for text in (path, location))
    return inside[len(folder) + 1 :] if inside.startswith(f"{folder}/") else path


def _plain(place: str) -> str:
    """A location without its scheme, of which there are several for one store."""
    return _local(place) if place.startswith("file:") else place.partition("://")[2] or place


def _local(place: str) -> str:
    """The path of a ``file:`` location, in which nothing is percent-encoded; any other as it is."""
    return place.removeprefix("file:").removeprefix("//") if place.startswith("file:") else place


def _arrow(schema: Schema) -> pa.Schema:
    from pyiceberg.io.pyarrow import schema_to_pyarrow

    return pa.schema(schema_to_pyarrow(schema, include_field_ids=False))


def _identity_fields(
    table: Table, tasks: list[FileScanTask], schema: Schema, declared: pa.Schema
) -> dict[int, tuple[str, PartitionType]]:
    """Columns whose value is one for each file by the manifests: number of the column, name, type.

    Those of every partition spec in use; not floats, of which no two NaN are equal, nor times, nor types that
    only a text stands for: these are read from the files.
    """
    of_specs = _identities(table, tasks)
    common = set.intersection(*of_specs) if of_specs else set()
    found: dict[int, tuple[str, PartitionType]] = {}
    for field in schema.fields:
        if field.field_id in common:
            kind = logged.partition_type(declared.field(field.name).type)
            if kind in ("int", "text", "date", "bool"):
                found[field.field_id] = field.name, kind
    return found


def _identities(table: Table, tasks: list[FileScanTask]) -> list[set[int]]:
    """Numbers of the columns whose values are partition values, for each partition spec in use."""
    from pyiceberg.transforms import IdentityTransform

    return [
        {
            field.source_id
            for field in table.specs()[spec].fields
            if isinstance(field.transform, IdentityTransform)
        }
        for spec in sorted({task.file.spec_id for task in tasks})
    ]


def _values(
    table: Table, task: FileScanTask, fields: dict[int, tuple[str, PartitionType]]
) -> tuple[str | None, ...]:
    places = {field.source_id: i for i, field in enumerate(table.specs()[task.file.spec_id].fields)}
    return tuple(_text(task.file.partition[places[number]], kind) for number, (_, kind) in fields.items())


def _text(value: Any, kind: PartitionType) -> str | None:
    if kind == "date" and isinstance(value, int):  # days since 1970
        from datetime import date

        return str(date.fromordinal(date(1970, 1, 1).toordinal() + value))
    return logged.partition_text(value)


def _columns(
    table: Table,
    schema: Schema,
    declared: pa.Schema,
    tasks: list[FileScanTask],
    constants: set[int],
    shown: str,
) -> TableColumns:
    mapping = table.name_mapping()
    stored = {field.field_id: tuple(field.names) for field in mapping.root} if mapping is not None else {}
    used = set().union(*_identities(table, tasks))
    columns = []
    for field in schema.fields:
        if field.initial_default is not None:
            raise DataError(
                f"{shown}: column {field.name!r} has a default value for files without it, which is not "
                "read; rewrite its data files"
            )
        # a file may lack a column of its partition spec that the manifests give, which would not be null
        fills = field.field_id in constants or field.field_id not in used
        columns.append(TableColumn(field.name, field.field_id, stored.get(field.field_id, ()), fills))
    return TableColumns(tuple(columns), declared, by_number=True)
