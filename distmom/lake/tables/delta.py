"""The live files of a version of a Delta table, by its log."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import pyarrow as pa

from distmom.errors import ConfigError, DataError
from distmom.lake.messages import masked
from distmom.lake.tables import logged
from distmom.lake.tables.logged import LoggedTable, TableColumn, TableColumns

if TYPE_CHECKING:
    from deltalake import DeltaTable

_NAME, _NUMBER = "delta.columnMapping.physicalName", "delta.columnMapping.id"


def read_delta(folder: str, version: int | None, options: Mapping[str, str], shown: str) -> LoggedTable:
    """What the log says of a version; of the last one where none is given.

    ConfigError if ``deltalake`` is not installed; DataError if the log cannot be read, has no such version,
    asks for what ``deltalake`` does not know, or has live files with deletion vectors or outside of the
    folder.

    Parameters
    ----------
    folder : str
        Path or address of the table.
    options : mapping
        For its object store, by the names of ``deltalake``.
    shown : str
        How messages call the table.
    """
    try:
        from deltalake import DeltaTable
    except ImportError as error:
        raise ConfigError(
            f"data: {shown} is a Delta table, which needs the package deltalake; "
            "pip install 'distmom[delta]', or pass the list of its live files (@list.txt)"
        ) from error
    try:
        table = DeltaTable(folder, version=version, storage_options=dict(options) or None)
        _refuse_deletion_vectors(table, shown)
        return _logged(table, shown)
    except DataError:
        raise
    except BaseException as error:
        # a panic in Rust is no Exception
        if not (isinstance(error, Exception) or type(error).__name__ == "PanicException"):
            raise
        which = "" if version is None else f" at version {version}"
        raise DataError(
            f"{shown} is a Delta table: its log{which} cannot be read: {masked(error)}; check the "
            "version and the log, or pass the list of its live files (@list.txt)"
        ) from error


def _refuse_deletion_vectors(table: DeltaTable, shown: str) -> None:
    if "deletionVectors" not in (table.protocol().reader_features or ()):
        return
    remedy = "write the rows anew without them (REORG TABLE … APPLY (PURGE), or OPTIMIZE)"
    try:
        found: list[str] = pa.table(table.deletion_vectors()).column("filepath").to_pylist()
    except Exception as error:
        raise DataError(
            f"{shown} has deletion vectors, which are not supported ({masked(error)}); {remedy}"
        ) from error
    if found:
        name = unquote(found[0].rpartition("/")[2])
        raise DataError(
            f"{shown} has deletion vectors, which are not supported: rows of {name} (and of {len(found) - 1} "
            f"other files) count as deleted; {remedy}"
        )


def _logged(table: DeltaTable, shown: str) -> LoggedTable:
    metadata = table.metadata()
    declared = pa.schema(table.schema().to_arrow())
    names = tuple(metadata.partition_columns)
    actions = pa.table(table.get_add_actions())
    paths: list[str] = [unquote(path) for path in actions.column("path").to_pylist()]
    rows: list[int | None] = actions.column("num_records").to_pylist()
    found: list[Any] = actions.column("partition").to_pylist() if names else [{}] * len(paths)
    values = [tuple(logged.partition_text(row[name]) for name in names) for row in found]
    return logged.logged_table(
        logged.TableVersion("delta", table.version()),
        [logged.LoggedFile(*one) for one in zip(paths, rows, values, strict=True)],
        [(name, logged.partition_type(declared.field(name).type) or "text") for name in names],
        _columns(table, declared, metadata.configuration.get("delta.columnMapping.mode", "none"), names),
        shown,
    )


def _columns(table: DeltaTable, declared: pa.Schema, mode: str, partitions: tuple[str, ...]) -> TableColumns:
    """All but the partition columns, which the log alone gives."""
    columns = []
    for field in json.loads(table.schema().to_json())["fields"]:
        name, metadata = field["name"], field["metadata"]
        if name not in partitions:
            stored = name if mode == "none" else str(metadata[_NAME])
            columns.append(TableColumn(name, metadata.get(_NUMBER), (stored,)))
    return TableColumns(tuple(columns), declared, by_number=mode == "id")
