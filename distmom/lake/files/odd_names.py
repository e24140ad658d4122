"""What a listing of a local folder does not show: links to nothing, and names that are no text."""

from __future__ import annotations

import os
from collections.abc import Iterable
from fnmatch import fnmatchcase
from pathlib import Path

from distmom.errors import DataError


def refuse_dangling_links(folders: Iterable[str], pattern: str = "*") -> None:
    """DataError if one of these folders has a link, of a name that fits, to a file that is not there.

    The files of a disk that is not mounted would be left out in silence.
    """
    for folder in sorted(folders):
        try:
            with os.scandir(folder) as entries:
                links = [one for one in entries if one.is_symlink() and one.name[:1] not in ("_", ".")]
        except OSError:  # is told when its files are opened
            continue
        for link in links:
            if fnmatchcase(link.name, pattern) and not Path(link.path).exists():
                target = Path(link.path).readlink()
                raise DataError(
                    f"{link.path} links to {target}, which does not exist; mount its disk, or remove the link"
                )


def name_that_is_no_text(path: str) -> str:
    """Words for the first name at or below a path that is not UTF-8."""
    top = Path(path)
    for folder, folders, files in os.walk(os.fsencode(top if top.is_dir() else top.parent)):
        for name in (*folders, *files):
            try:
                name.decode()
            except UnicodeDecodeError:
                return f"the name {name!r} in {os.fsdecode(folder)} is not UTF-8"
    return "a name is not UTF-8"
