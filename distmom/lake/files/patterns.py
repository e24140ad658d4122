"""Paths with wildcards: ``*``, ``?`` and ``[…]`` inside a name, ``**`` for any number of folders."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Callable

import pyarrow.fs as pafs

_WILD = re.compile(r"[*?\[]")


def has_wildcard(path: str) -> bool:
    """Whether a path holds a wildcard."""
    return _WILD.search(path) is not None


def split_pattern(path: str) -> tuple[str, list[str]]:
    """Split an absolute pattern into the folder before its first wildcard and the rest's names."""
    names = path.split("/")
    first = next(i for i, name in enumerate(names) if has_wildcard(name))
    return "/".join(names[:first]) or "/", names[first:]


def expand(filesystem: pafs.FileSystem, root: str, names: list[str]) -> list[pafs.FileInfo]:
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
            found = [info for info in found if not _hidden(info.path[len(root) :])]
        else:
            matches = _matcher(name)
            below = [info for folder in folders for info in _list(filesystem, folder.path, recursive=False)]
            found = [info for info in below if matches(info.base_name)]
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


def _matcher(name: str) -> Callable[[str], bool]:
    if not has_wildcard(name):
        return lambda candidate: candidate == name
    pattern = re.compile(fnmatch.translate(name))
    return lambda candidate: (
        pattern.match(candidate) is not None and (name.startswith(".") or not candidate.startswith("."))
    )


def _hidden(relative: str) -> bool:
    return "/." in relative
