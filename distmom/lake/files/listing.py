"""From what a user names (a file, a folder, a pattern, a list of them) to a sorted listing of files."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import pyarrow.fs as pafs

from distmom.checks import did_you_mean
from distmom.errors import ConfigError, DataError
from distmom.lake.files.odd_names import name_that_is_no_text, refuse_dangling_links
from distmom.lake.files.places import has_wildcard, store_of
from distmom.lake.files.stores import is_local
from distmom.lake.lake import Lake, build_lake
from distmom.lake.messages import first_line
from distmom.lake.source import Source
from distmom.lake.tables.open_table import open_table, refuse_listed_tables, refuse_tables_above, table_name

MOST_LEVELS = 30  # deeper, it is a link that leads back: its files would count forty times


def open_lake(
    data: Any,
    storage_options: Mapping[str, object] | None = None,
) -> Source:
    """List the files that ``data`` names, or wrap data that is already in memory.

    ConfigError if ``data`` is of a kind that is not read, or mixes stores; or a storage option is wrong;
    DataError if a path does not exist, no file is found, a file is given twice, the folder lies in a table, a
    table's log cannot be read or not all rows of its live files count, the partition keys of two files
    differ, or there is no such bucket; ResourceError if an object store cannot be reached, denies access, or
    is still too busy after all attempts.

    Parameters
    ----------
    data : str, os.PathLike, list of those, or data in memory
        A Parquet file, a folder (read recursively), a pattern with ``*``, ``?``, ``[…]`` or ``**``,
        ``"@list.txt"`` (one of these a line; blank lines and lines that start with ``#`` are ignored), a
        list of these, or an Arrow table or batch, a NumPy array, a dict of columns, or any object with the
        Arrow PyCapsule interface (pandas, Polars, DuckDB), an Arrow dataset, or a record batch reader. The
        files of a dataset of local Parquet files are read as a list of them, other datasets as a stream.
        A table, alone, is read through its log: the folder of a Delta table (``folder@v12`` at that
        version), an Iceberg table as ``iceberg://catalog/namespace.table``, by its ``….metadata.json``, or by
        its folder if that has a ``version-hint.text`` (each with ``@`` and the number of a snapshot).
    storage_options : mapping, optional
        How to reach the object store that addresses as ``s3://bucket/folder`` name.

    Returns
    -------
    Lake, MemoryLake or StreamLake

    Notes
    -----
    Columns that come from ``key=value`` folders are text, unless all values of a key are canonical integers.
    Names below the given folder that start with ``_`` or ``.`` are passed over. Relative
    paths, the keys of every random label, are taken from the folder given; for a pattern, from the folder
    before its first wildcard; for a list, from the common parent of its items.

    Examples
    --------
    >>> import tempfile, pathlib, pyarrow as pa, pyarrow.parquet as pq
    >>> folder = pathlib.Path(tempfile.mkdtemp()) / "day=3"
    >>> folder.mkdir()
    >>> pq.write_table(pa.table({"x": [1.0, 2.0]}), folder / "part-0.parquet")
    >>> lake = open_lake(folder.parent)
    >>> [file.path for file in lake.files], lake.partition_names
    (['day=3/part-0.parquet'], ('day',))
    """
    named = table_name(data)
    names = _path_list(data) if named is None else [named]
    if names is not None:
        return _open_files(names, storage_options)
    if storage_options:
        raise ConfigError("storage_options: data in memory is not in an object store; drop them")
    from distmom.lake.memory.memory_lake import open_memory
    from distmom.lake.memory.stream import open_stream

    streamed = open_stream(data)
    if isinstance(streamed, list):
        return _open_files(streamed, None)
    return open_memory(data) if streamed is None else streamed


def named_items(data: Any) -> list[str]:
    """Files, folders and patterns that `data` names, lists of files read; none where it is no path."""
    return [item for name in _path_list(data) or () for item in read_list(name)]


def _path_list(data: Any) -> list[str] | None:
    """The paths that ``data`` names; None where it is no path at all."""
    if isinstance(data, (str, os.PathLike)):
        return [_path_text(data)]
    if isinstance(data, (list, tuple)):
        if not data:
            raise ConfigError("data: the list of paths is empty")
        if all(isinstance(item, (str, os.PathLike)) for item in data):
            return [_path_text(item) for item in data]
    return None


def _path_text(item: str | os.PathLike[str]) -> str:
    text = os.fspath(item)
    if not isinstance(text, str) or not text or "\0" in text:
        raise ConfigError(f"data: a path must be a text that is not empty, not {text!r}")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise ConfigError(
            f"data: the path {text!r} is not UTF-8; rename it, or name a folder above"
        ) from error
    return text


def _open_files(names: list[str], storage_options: Mapping[str, object] | None) -> Lake:
    wanted = [item for name in names for item in read_list(name)]
    if len(wanted) == 1:
        table = open_table(wanted[0], storage_options)
        if table is not None:
            return table
    filesystem, prefix, paths = store_of(wanted, storage_options)
    shown = ", ".join(names[:3])
    items = []
    for name, path in zip(wanted, paths, strict=True):
        try:
            items.append(_list_item(filesystem, name, path))
        except UnicodeDecodeError as error:
            raise DataError(f"cannot list {name}: {name_that_is_no_text(path)}; rename it") from error
        except OSError as error:
            raise DataError(f"cannot list {shown}: {first_line(error)}") from error
    root = items[0][0] if len(items) == 1 else os.path.commonpath([item_root for item_root, _ in items])
    infos = [info for _, found in items for info in found]
    if not infos:
        raise DataError(f"no Parquet file under {shown}{' …' if len(names) > 3 else ''}")
    return build_lake(filesystem, prefix, root, infos)


def read_list(name: str) -> list[str]:
    """Items of ``@list.txt``; any other name is its own only item."""
    if not name.startswith("@"):
        return [name]
    try:
        text = Path(name[1:]).read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"cannot read the list of files {name[1:]}: {first_line(error)}") from error
    if "\0" in text:
        line = text[: text.index("\0")].count("\n") + 1
        raise DataError(f"the list of files {name[1:]} has a zero byte in line {line}; write paths as text")
    items = [line.strip() for line in text.splitlines()]
    items = [item for item in items if item and not item.startswith("#")]
    if not items:
        raise DataError(f"the list of files {name[1:]} names no file")
    if any(item.startswith("@") for item in items):
        raise ConfigError(f"the list of files {name[1:]} names another list; write its lines out instead")
    return items


def pattern_of(path: str) -> str:
    """The pattern that this path alone matches, also as a line of a list.

    Examples
    --------
    >>> pattern_of("day=1/a.parquet"), pattern_of("a[1].parquet"), pattern_of("@a")
    ('day=1/a.parquet', 'a[[]1].parquet', '[@]a')
    """
    inner = re.sub(r"[*?[]", r"[\g<0>]", path)
    return re.sub(r"^[#@\s]|\s$", r"[\g<0>]", inner)


def _list_item(filesystem: pafs.FileSystem, name: str, path: str) -> tuple[str, list[pafs.FileInfo]]:
    """Root and files of one item of the list."""
    if not is_local(filesystem) and has_wildcard(path):
        info = pafs.FileInfo(path, type=pafs.FileType.NotFound)  # keys rarely have such characters
    else:
        info = filesystem.get_file_info(path)
    if info.type == pafs.FileType.File and not (is_local(filesystem) or info.size):
        below = filesystem.get_file_info(pafs.FileSelector(path, recursive=True, allow_not_found=True))
        if below:  # an empty object that stands for the folder
            info = pafs.FileInfo(path, type=pafs.FileType.Directory)
    if info.type == pafs.FileType.File:
        return path.rpartition("/")[0] or "/", [info]
    if info.type == pafs.FileType.Directory:
        refuse_tables_above(filesystem, [path])
        listed = filesystem.get_file_info(pafs.FileSelector(path, recursive=True))
        found = _select(path, listed)
        if is_local(filesystem):
            folders = [info.path for info in listed if info.type == pafs.FileType.Directory]
            refuse_dangling_links([path, *(f for f in folders if not _is_hidden(f[len(path) :]))])
        return path, found
    if not has_wildcard(path):
        if not is_local(filesystem):
            bucket = path.partition("/")[0]
            if filesystem.get_file_info(bucket).type == pafs.FileType.NotFound:
                raise DataError(f"{name}: no such bucket {bucket!r}; check its name")
        raise DataError(f"no such file or folder: {name}{_near(path) if is_local(filesystem) else ''}")
    root, rest = _split_pattern(path)
    if filesystem.get_file_info(root).type != pafs.FileType.Directory:
        raise DataError(f"no such folder: {root} (from the pattern {name})")
    return root, _expand_pattern(filesystem, root, rest)


def _expand_pattern(filesystem: pafs.FileSystem, root: str, rest: list[str]) -> list[pafs.FileInfo]:
    """Files that a pattern matches, and those below the folders that it matches."""
    matched = _expand(filesystem, root, rest)
    folders = [info.path for info in matched if info.type == pafs.FileType.Directory]
    if rest[-1] != "**":  # which has listed everything already
        below = [filesystem.get_file_info(pafs.FileSelector(path, recursive=True)) for path in folders]
        matched = list({info.path: info for infos in [matched, *below] for info in infos}.values())
    found = _select(root, matched)
    if is_local(filesystem):
        here = {info.path.rpartition("/")[0] for info in found}
        refuse_dangling_links(here, "*" if rest[-1] == "**" else rest[-1])
    refuse_tables_above(filesystem, {info.path.rpartition("/")[0] for info in found} | {root})
    return found


def _select(root: str, listed: Iterable[pafs.FileInfo]) -> list[pafs.FileInfo]:
    """The files of a listing that count."""
    prefix = len(root.rstrip("/"))
    files: list[pafs.FileInfo] = []
    seen: list[pafs.FileInfo] = []
    passed_over: set[str] = set()
    for info in listed:
        relative = info.path[prefix:]
        if _is_hidden(relative):
            parts = relative[1:].split("/")
            first = next(i for i, part in enumerate(parts) if part[:1] in ("_", "."))
            hidden = "/".join(parts[: first + 1])
            if first == len(parts) - 1:
                seen.append(info)
            elif hidden not in passed_over:  # some stores list no folders
                seen.append(pafs.FileInfo(f"{root.rstrip('/')}/{hidden}", type=pafs.FileType.Directory))
            passed_over.add(hidden)
        elif info.type == pafs.FileType.File:
            if relative.count("/") > MOST_LEVELS:
                raise DataError(
                    f"under {root}, folders lie more than {MOST_LEVELS} deep: "
                    "a link leads back to a folder above it?"
                )
            files.append(info)
            if relative.endswith(".metadata.json"):
                seen.append(info)
        elif info.type != pafs.FileType.Directory:
            raise DataError(f"{info.path} is neither a file nor a folder (a pipe or a device)")
    refuse_listed_tables(seen)
    return files


def _is_hidden(relative: str) -> bool:
    return "/_" in relative or "/." in relative


def _split_pattern(path: str) -> tuple[str, list[str]]:
    """Split an absolute pattern into the folder before its first wildcard and the rest's names."""
    names = path.split("/")
    first = next(i for i, name in enumerate(names) if has_wildcard(name))
    return "/".join(names[:first]) or "/", names[first:]


def _expand(filesystem: pafs.FileSystem, root: str, names: list[str]) -> list[pafs.FileInfo]:
    """Files and folders that a pattern matches, level by level, so that other folders are not listed.

    Parameters
    ----------
    root : str
        Folder before the first wildcard.
    names : list of str
        The pattern's names below it.

    Notes
    -----
    As in a shell, a wildcard does not match a leading dot; ``_name`` is left to the caller's rule.
    """
    found = [pafs.FileInfo(root, type=pafs.FileType.Directory)]
    for depth, name in enumerate(names):
        last = depth == len(names) - 1
        folders = [info for info in found if info.type == pafs.FileType.Directory]
        if name == "**":
            below = [info for folder in folders for info in _list(filesystem, folder.path, recursive=True)]
            # "**" is any number of folders, none included; at the end it is every file below them
            found = below if last else folders + below
            found = [info for info in found if "/." not in info.path[len(root) :]]
        else:
            below = [info for folder in folders for info in _list(filesystem, folder.path, recursive=False)]
            refuse_listed_tables(below)
            found = [info for info in below if name.startswith(".") or not info.base_name.startswith(".")]
            found = [info for info in found if fnmatchcase(info.base_name, name)]
    unique = {info.path: info for info in found}
    return list(unique.values())


def _list(filesystem: pafs.FileSystem, folder: str, *, recursive: bool) -> list[pafs.FileInfo]:
    listed: list[pafs.FileInfo]
    if filesystem.type_name != "gcs":
        listed = filesystem.get_file_info(pafs.FileSelector(folder, recursive=recursive))
        return listed
    # of this store only objects are listed: folders are what stands before their slashes
    listed = filesystem.get_file_info(pafs.FileSelector(folder, recursive=True))
    found = {info.path: info for info in listed}
    for info in listed:
        above = info.path.rpartition("/")[0]
        while len(above) > len(folder) and above not in found:
            found[above] = pafs.FileInfo(above, type=pafs.FileType.Directory)
            above = above.rpartition("/")[0]
    start = len(folder) + 1
    return [info for info in found.values() if recursive or "/" not in info.path[start:]]


def _near(path: str) -> str:
    """What ends a message about a local path that does not exist: the nearest name beside it, if any is."""
    missing = Path(path)
    try:
        return did_you_mean(missing.name, (one.name for one in missing.parent.iterdir()))
    except OSError:
        return ""
