"""Recognise table formats, whose folders must not be read as plain files.

A Delta, Iceberg or Hudi table keeps removed and rewritten rows in files of its folder; only its log tells
which files count.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import PurePosixPath

import pyarrow.fs as pafs

from distmom.errors import AccessError, DataError
from distmom.lake.files.store_errors import store_error
from distmom.lake.files.stores import is_local

_MARKS = {"_delta_log": "a Delta table", ".hoodie": "a Hudi table"}
_LIST = "pass the list of its live files (@list.txt)"
_REMEDIES = {
    "a Delta table": f"give that folder itself, alone, or {_LIST}",
    "an Iceberg table": (
        f"give its newest metadata/….metadata.json or iceberg://catalog/namespace.table, or {_LIST}"
    ),
}
_ALL_MARKS = {**_MARKS, "metadata": "an Iceberg table"}


def refuse_listed_tables(entries: Iterable[pafs.FileInfo]) -> None:
    """Refuse a listing that holds a table's log.

    Raises
    ------
    DataError
        If an entry is a folder ``_delta_log`` or ``.hoodie``, or a file ``metadata/*.metadata.json``.
    """
    for entry in entries:
        name = entry.base_name
        if name in _MARKS and entry.type == pafs.FileType.Directory:
            raise _refusal(str(PurePosixPath(entry.path).parent), _MARKS[name])
        if name.endswith(".metadata.json") and PurePosixPath(entry.path).parent.name == "metadata":
            raise _refusal(str(PurePosixPath(entry.path).parent.parent), "an Iceberg table")


def refuse_tables_above(filesystem: pafs.FileSystem, folders: Iterable[str]) -> None:
    """Refuse folders that are, or lie inside, a table's folder.

    Raises
    ------
    DataError
        If a folder or one above it holds a table's log.
    """
    above: set[PurePosixPath] = set()
    for folder in folders:
        here = PurePosixPath(folder)
        above.update(path for path in (here, *here.parents) if path != PurePosixPath())
    marks = [(path / mark, path, what) for path in sorted(above) for mark, what in _ALL_MARKS.items()]
    found = infos_of(filesystem, [str(mark) for mark, _, _ in marks])
    for info, (mark, table, what) in zip(found, marks, strict=True):
        if info.type != pafs.FileType.Directory:
            continue
        if mark.name in _MARKS or _holds_iceberg_metadata(filesystem, str(mark)):
            raise _refusal(str(table), what)


def infos_of(filesystem: pafs.FileSystem, paths: list[str]) -> list[pafs.FileInfo]:
    """What lies at these paths; what we may not look at counts as missing, as rights may end below a root."""
    try:
        found: list[pafs.FileInfo] = filesystem.get_file_info(paths)
    except OSError as error:
        if len(paths) == 1:
            if is_local(filesystem) or not isinstance(
                store_error(error, filesystem, paths[0], paths[0]), AccessError
            ):
                raise
            return [pafs.FileInfo(paths[0], type=pafs.FileType.NotFound)]
        return [info for path in paths for info in infos_of(filesystem, [path])]
    return found


def _holds_iceberg_metadata(filesystem: pafs.FileSystem, folder: str) -> bool:
    try:
        entries = filesystem.get_file_info(pafs.FileSelector(folder))
    except OSError:
        return False  # not ours to read, so no table that we could list
    return any(entry.base_name.endswith(".metadata.json") for entry in entries)


def _refusal(folder: str, what: str) -> DataError:
    return DataError(
        f"{folder} is {what}: its folder also holds removed and rewritten rows, so it is not read as plain "
        f"files; {_REMEDIES.get(what, _LIST)}"
    )
