"""The files of a saved state: what is known of each, and how a lake has changed since."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from distmom.lake.source import FileRef

COLUMNS = ("size", "mtime_ns")


class Change(NamedTuple):
    """What keeps a state from being continued: how a lake has changed since, in words."""

    text: str
    remedy: str = "to read everything again"


def files_to_arrays(files: Sequence[FileRef]) -> dict[str, Any]:
    """Paths below the root, sizes and times of modification (in object stores, of the object)."""
    arrays: dict[str, Any] = {"files.path": texts_to_bytes(file.path for file in files)}
    for name in COLUMNS:
        arrays[f"files.{name}"] = np.array([getattr(file, name) for file in files], np.int64)
    return arrays


def files_from_arrays(arrays: Mapping[str, Any]) -> tuple[FileRef, ...]:
    """What `files_to_arrays` wrote; an error of Python's if it did not."""
    numbers = (arrays[f"files.{name}"].tolist() for name in COLUMNS)
    paths = texts_from_bytes(arrays["files.path"])
    return tuple(FileRef(*file) for file in zip(paths, *numbers, strict=True))


def texts_to_bytes(texts: Iterable[str]) -> tuple[bytes, ...]:
    """Texts as a container holds them; paths may be no Unicode."""
    return tuple(text.encode("utf-8", "surrogatepass") for text in texts)


def texts_from_bytes(data: Iterable[bytes]) -> list[str]:
    """What `texts_to_bytes` wrote."""
    return [text.decode("utf-8", "surrogatepass") for text in data]


def change(known: Iterable[FileRef], files: Sequence[FileRef], fixed: Change | None = None) -> Change | None:
    """What of a listing speaks against going on from a state.

    Parameters
    ----------
    known : iterable of FileRef
        Files that the state depends on.
    files : sequence of FileRef
        The listing as it is now.
    fixed : Change, optional
        Why no file may be added to these, and what to do then; None if files may.
    """
    now = {file.path: file for file in files}
    known = sorted(dict.fromkeys(known), key=lambda file: file.path)
    gone = [file.path for file in known if file.path not in now]
    altered = [
        f"{old.path} ({_difference(old, now[old.path])})"
        for old in known
        if old.path in now and (old.size, old.mtime_ns) != (now[old.path].size, now[old.path].mtime_ns)
    ]
    told = [
        f"{len(found):,} of its files {'has' if len(found) == 1 else 'have'} {what} (first: {found[0]})"
        for found, what in ((altered, "changed since"), (gone, "gone"))
        if found
    ]
    if told:
        return Change(" and ".join(told))
    before = {file.path for file in known}
    new = [file.path for file in files if file.path not in before]
    if fixed is None or not new:
        return None
    plural = "s" * (len(new) > 1)
    return Change(
        f"{fixed.text}, so {len(new):,} new file{plural} (first: {new[0]}) cannot be added", fixed.remedy
    )


def _difference(old: FileRef, new: FileRef) -> str:
    return "rewritten, same size" if old.size == new.size else f"size {old.size} -> {new.size} bytes"
