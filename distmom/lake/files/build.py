"""From the files found to a lake: their names, the values of their partition columns, their order."""

from __future__ import annotations

import unicodedata
from urllib.parse import unquote

import pyarrow.fs as pafs

from distmom.errors import DataError
from distmom.lake.files import partitions
from distmom.lake.files.footers import whole_seconds
from distmom.lake.files.stores import is_local
from distmom.lake.lake import Lake
from distmom.lake.source import FileRef, PartitionType
from distmom.lake.tables.logged import LoggedTable

_FOLDER_MARK = "_$folder$"


def build_lake(
    filesystem: pafs.FileSystem,
    prefix: str,
    root: str,
    infos: list[pafs.FileInfo],
    n_ignored: int,
    logged: LoggedTable | None = None,
) -> Lake:
    """Names, partition values and order of the files found: by the folders' names, or a table's log.

    Parameters
    ----------
    logged : LoggedTable, optional
        Has a file for each of `infos`, in the same order.
    """
    start = len(root.rstrip("/")) + 1
    local = is_local(filesystem)
    if not local and logged is None:
        infos = _without_folder_marks(infos)
        if not infos:
            raise DataError(f"no Parquet file under {prefix}{root}")
    listed: dict[str, tuple[str, pafs.FileInfo]] = {}
    for info in infos:
        raw = info.path[start:]
        label = raw
        if "%" in raw or not raw.isascii():
            label = unicodedata.normalize("NFC", unquote(raw))
        if label in listed:
            other = listed[label][1].path
            if other == info.path:
                raise DataError(f"file {label} is given twice; name it once, alone or by its folder")
            raise DataError(f"two files are called {label} once decoded: {other} and {info.path}; rename one")
        listed[label] = (raw, info)
    labels = sorted(listed)
    if logged is None:
        names, rows, types = _of_folders(labels, [listed[label][0] for label in labels])
        counts: list[int | None] = [None] * len(labels)
    else:
        names, types = logged.partition_names, logged.partition_types
        by_path = {file.path: file for file in logged.files}
        chosen = [by_path[listed[label][0]] for label in labels]
        rows, counts = [file.partition for file in chosen], [file.n_rows for file in chosen]
    files: list[FileRef] = []
    for label, row, n_rows in zip(labels, rows, counts, strict=True):
        raw, info = listed[label]
        changed = info.mtime_ns if local else whole_seconds(info.mtime_ns)
        files.append(FileRef(label, info.size, changed, row, None if raw == label else info.path, n_rows))
    return Lake(
        root=root,
        files=tuple(files),
        partition_names=names,
        partition_types=types,
        n_bytes=sum(file.size for file in files),
        n_ignored=n_ignored,
        filesystem=filesystem,
        prefix=prefix,
        table=None if logged is None else logged.version,
        columns=None if logged is None else logged.columns,
    )


def _of_folders(
    labels: list[str], paths: list[str]
) -> tuple[tuple[str, ...], list[tuple[str | None, ...]], tuple[PartitionType, ...]]:
    """Names, values and types of the partition columns that the folders' names give."""
    folders: dict[str, partitions.Pairs] = {}
    pairs: list[tuple[str, partitions.Pairs]] = []
    for label, path in zip(labels, paths, strict=True):
        folder = path.rpartition("/")[0]
        if folder not in folders:
            folders[folder] = partitions.parse_folders(folder.split("/"), label)
        pairs.append((label, folders[folder]))
    names, rows = partitions.align(pairs)
    return names, rows, partitions.infer_types(rows)


def _without_folder_marks(infos: list[pafs.FileInfo]) -> list[pafs.FileInfo]:
    """Without the empty objects by which tools mark folders in an object store."""
    folders = {info.path.rpartition("/")[0] for info in infos}
    return [
        info for info in infos if info.size or not (info.path.endswith(_FOLDER_MARK) or info.path in folders)
    ]
