"""Tables whose log tells which files count: their folders hold rows that were removed, or of failed attempts.

Their folders are recognised and not read as plain files; a table that a name refers to is opened as the lake
of its live files.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from pathlib import PurePosixPath
from typing import Any

import pyarrow.fs as pafs

from distmom.errors import AccessError, ConfigError, DataError, NoAnswerError
from distmom.lake.files.places import has_wildcard, store_of
from distmom.lake.files.store_errors import store_error
from distmom.lake.files.stores import address_of, is_local
from distmom.lake.lake import Lake, build_lake
from distmom.lake.tables.delta import read_delta
from distmom.lake.tables.iceberg import folder_of, load_from_catalog, load_metadata, read_iceberg
from distmom.lake.tables.logged import LoggedTable
from distmom.lake.tables.table_options import delta_options, iceberg_options

CATALOG = "iceberg://"
_CATALOG_NAME = re.compile(r"iceberg://([^/@]+)/([^/@]+\.[^/@]+?)(?:@([0-9]+))?")
_VERSIONED = re.compile(r"(.+)@(v?)([0-9]{1,19})", re.DOTALL)
_METADATA = ".metadata.json"

Options = Mapping[str, object] | None


def table_name(data: Any) -> str | None:
    """The name of a table given as an object of ``deltalake`` or ``pyiceberg``; None for anything else."""
    kind = type(data)
    if kind.__module__.startswith("deltalake.") and kind.__name__ == "DeltaTable":
        return f"{data.table_uri.rstrip('/')}@v{data.version()}"
    if kind.__module__.startswith("pyiceberg.") and hasattr(data, "metadata_location"):
        return str(data.metadata_location)
    return None


def open_table(name: str, options: Options) -> Lake | None:
    """The live files of the table that a name means; None if it names no table.

    ``folder`` and ``folder@v12`` are a Delta table and one of its versions; ``folder`` (with a
    ``version-hint.text``), ``….metadata.json`` and ``iceberg://catalog/namespace.table`` are Iceberg tables,
    each with ``@`` and the number of a snapshot where not the current one is meant.

    ConfigError if the name of a version is none, or the package that reads the log is missing; DataError if
    the log cannot be read, names files that are not there, or the rows of its live files are not all live.
    """
    if name.startswith(CATALOG):
        return _open_catalog(name, options)
    base, mark, number = _parts(name)
    filesystem, prefix, (root,) = store_of([base], options)
    if number is not None and is_local(filesystem):
        literal = store_of([name], options)[2][0]
        if _exists(filesystem, literal):  # a folder of this very name
            base, mark, number, root = name, "", None, literal
    if has_wildcard(root):
        return None
    try:
        (delta,) = infos_of(filesystem, [f"{root}/_delta_log"])
        if delta.type == pafs.FileType.Directory:
            if number is not None and not mark:
                raise ConfigError(f"data: {name}: versions of a Delta table are written {base}@v{number}")
            version = None if number is None else int(number)
            logged = read_delta(prefix + root, version, delta_options(base, options), base)
            return _lake(filesystem, prefix, root, logged, base)
        if root.endswith(_METADATA) or _holds(filesystem, f"{root}/metadata", "version-hint.text"):
            table = load_metadata(prefix + root, iceberg_options(base, options), base)
            return _iceberg(table, _snapshot(name, mark, number), base, options)
        if number is None or not _exists(filesystem, root):
            return None
    except OSError as error:  # of the packages that read logs
        if prefix:
            raise store_error(error, base) from error
        raise
    raise DataError(
        f"{base} has no versions: it is neither a Delta table nor an Iceberg table with a version-hint.text; "
        f"name an Iceberg table's newest metadata/…{_METADATA}, or {CATALOG}catalog/namespace.table"
    )


def _parts(name: str) -> tuple[str, str, str | None]:
    """Name without version, the mark before its number, and this."""
    match = _VERSIONED.fullmatch(name)
    return (match[1], match[2], match[3]) if match else (name, "", None)


def _exists(filesystem: pafs.FileSystem, path: str) -> bool:
    return bool(filesystem.get_file_info(path).type != pafs.FileType.NotFound)


def _holds(filesystem: pafs.FileSystem, folder: str, ending: str) -> bool:
    """Whether a folder has a file whose name ends so: one request, where a file takes two."""
    try:
        entries = filesystem.get_file_info(pafs.FileSelector(folder, allow_not_found=True))
    except (OSError, AccessError):
        return False  # a file of that name, or not ours to read
    return any(entry.base_name.endswith(ending) for entry in entries)


def _snapshot(name: str, mark: str, number: str | None) -> int | None:
    if mark:
        raise ConfigError(f"data: {name}: snapshots of an Iceberg table are written with their number alone")
    return None if number is None else int(number)


def _open_catalog(name: str, options: Options) -> Lake:
    match = _CATALOG_NAME.fullmatch(name)
    if match is None:
        raise ConfigError(
            f"data: {name}: write {CATALOG}catalog/namespace.table, with @ and a number for a snapshot"
        )
    shown = name.rpartition("@")[0] or name
    table = load_from_catalog(match[1], match[2], shown)
    return _iceberg(table, _snapshot(name, "", match[3]), shown, options)


def _iceberg(table: Any, snapshot: int | None, shown: str, options: Options) -> Lake:
    """The lake of a snapshot, whose files lie where the metadata say."""
    logged, folder = read_iceberg(table, snapshot, shown), folder_of(table)
    remote = address_of(folder) is not None
    filesystem, prefix, (root,) = store_of([folder.rstrip("/")], options if remote else None)
    return _lake(filesystem, prefix, root, logged, shown)


def _lake(filesystem: pafs.FileSystem, prefix: str, root: str, logged: LoggedTable, shown: str) -> Lake:
    if not logged.files:
        raise NoAnswerError(
            f"{shown} has no rows at {logged.version.format} version {logged.version.version}"
        )
    paths = [f"{root.rstrip('/')}/{file.path}" for file in logged.files]
    if is_local(filesystem):
        infos = filesystem.get_file_info(paths)
    else:  # a request lists a thousand files
        listed = filesystem.get_file_info(pafs.FileSelector(root, recursive=True))
        by_path = {info.path: info for info in listed}
        infos = [by_path.get(path, pafs.FileInfo(path, type=pafs.FileType.NotFound)) for path in paths]
    for info, file in zip(infos, logged.files, strict=True):
        if info.type != pafs.FileType.File:
            raise DataError(
                f"{shown}: {file.path} is gone, which its log names at version {logged.version.version} "
                "(removed by a vacuum?); choose a later version"
            )
    return build_lake(filesystem, prefix, root, infos, logged)


_MARKS = {
    "_delta_log": "a Delta table",
    ".hoodie": "a Hudi table",
    "_spark_metadata": "the output of a Spark stream",
}
_LIST = "pass the list of its live files (@list.txt)"
_REMEDIES = {
    "a Delta table": f"give that folder itself, alone, or {_LIST}",
    "an Iceberg table": (
        f"give its newest metadata/….metadata.json or iceberg://catalog/namespace.table, or {_LIST}"
    ),
}
_ABOVE = {"_delta_log": "a Delta table", ".hoodie": "a Hudi table", "metadata": "an Iceberg table"}
"""Marks looked for in folders above the data, at two requests each in a store; listings show the others."""


def refuse_listed_tables(entries: Iterable[pafs.FileInfo]) -> None:
    """Refuse a listing that holds a table's log.

    DataError if an entry is a folder ``_delta_log``, ``.hoodie`` or ``_spark_metadata``, or a file
    ``metadata/*.metadata.json``.
    """
    for entry in entries:
        name = entry.base_name
        if name in _MARKS and entry.type == pafs.FileType.Directory:
            raise _refusal(str(PurePosixPath(entry.path).parent), _MARKS[name])
        if name.endswith(".metadata.json") and PurePosixPath(entry.path).parent.name == "metadata":
            raise _refusal(str(PurePosixPath(entry.path).parent.parent), "an Iceberg table")


def refuse_tables_above(filesystem: pafs.FileSystem, folders: Iterable[str]) -> None:
    """Refuse folders that are, or lie inside, a table's folder.

    DataError if a folder or one above it holds a table's log.
    """
    above: set[PurePosixPath] = set()
    for folder in folders:
        here = PurePosixPath(folder)
        above.update(path for path in (here, *here.parents) if path != PurePosixPath())
    marks = [(path / mark, path, what) for path in sorted(above) for mark, what in _ABOVE.items()]
    found = infos_of(filesystem, [str(mark) for mark, _, _ in marks])
    for info, (mark, table, what) in zip(found, marks, strict=True):
        if info.type != pafs.FileType.Directory:
            continue
        if mark.name in _MARKS or _holds(filesystem, str(mark), _METADATA):
            raise _refusal(str(table), what)


def infos_of(filesystem: pafs.FileSystem, paths: list[str]) -> list[pafs.FileInfo]:
    """What lies at these paths; what we may not see counts as missing: permissions may end below a root."""
    try:
        found: list[pafs.FileInfo] = filesystem.get_file_info(paths)
    except AccessError:
        if len(paths) == 1:
            return [pafs.FileInfo(paths[0], type=pafs.FileType.NotFound)]
        return [info for path in paths for info in infos_of(filesystem, [path])]
    except OSError as error:
        if not is_local(filesystem):
            raise
        raise DataError(f"cannot look at {paths[0][:80]}: {os.strerror(error.errno or 0)}") from error
    return found


def _refusal(folder: str, what: str) -> DataError:
    return DataError(
        f"{folder} is {what}: its folder also holds rows that do not count (removed, rewritten or of failed "
        f"attempts), so it is not read as plain files; {_REMEDIES.get(what, _LIST)}"
    )
