"""Files that a run will write: none may be one that it reads, or lie where the next run would read it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from distmom.errors import ConfigError
from distmom.lake.files.footers import location
from distmom.lake.files.listing import named_items
from distmom.lake.files.places import has_wildcard, local_path
from distmom.lake.files.stores import address_of

_TO_WRITE: ContextVar[tuple[tuple[str, str], ...]] = ContextVar("distmom_outputs", default=())


@contextmanager
def writing(*paths: str | os.PathLike[str], what: str = "output") -> Iterator[None]:
    """Within a ``with`` block, calls refuse data that contains one of these files, or would list it.

    A program that writes results says so before it reads, and learns before hours of work that a file would
    be destroyed, or be read as data by the next run.

    Parameters
    ----------
    *paths : str or path
        Files to be written in or after the block.
    what : str
        What messages call the files.

    Examples
    --------
    >>> import tempfile, pathlib, pyarrow as pa, pyarrow.parquet as pq
    >>> import distmom as dm
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "a.parquet"
    >>> pq.write_table(pa.table({"x": [1.0] * 300}), file)
    >>> with dm.writing(file):
    ...     dm.mean(file, "x")
    Traceback (most recent call last):
    distmom.errors.ConfigError: output '...a.parquet': is one of the files that are read; choose another name
    """
    more = tuple((what, os.fspath(path)) for path in paths)
    token = _TO_WRITE.set((*_TO_WRITE.get(), *more))
    try:
        yield
    finally:
        _TO_WRITE.reset(token)


def refuse_outputs(data: Any, source: Any) -> None:
    """ConfigError if a file that will be written is one of the data, or would be listed as one."""
    for what, path in _TO_WRITE.get():
        refuse_output(data, source, path, f"{what} {path!r}")


def refuse_output(data: Any, source: Any, path: str | os.PathLike[str], name: str) -> None:
    """ConfigError, which begins with `name`, if that file is one of the data, or would be listed as one.

    `source` is the listing of what `data` names, or None where only the names are known.
    """
    if not _local(source):
        return
    named = [local_path(item) for item in named_items(data) if address_of(item) is None]
    if is_among(named, source, path):
        raise ConfigError(f"{name}: is one of the files that are read; choose another name")
    if would_list(named, source, path):
        raise ConfigError(
            f"{name}: would lie among the files of the data and be read as one; put it elsewhere, or begin "
            "its name with '_' or '.'"
        )


def refuse_overwritten(path: str | os.PathLike[str], name: str) -> None:
    """ConfigError, which begins with `name`, if a file that is read or kept is one that will be written."""
    for what, other in _TO_WRITE.get():
        if os.path.realpath(path) == os.path.realpath(other) or _same(path, other):
            raise ConfigError(
                f"{name}: {what} {other!r} is the same file; choose another name for one of them"
            )


def is_among(named: list[str], source: Any, path: str | os.PathLike[str]) -> bool:
    """Whether a path leads to a file that is named or listed, whatever it is called: links are followed."""
    if not Path(path).is_file():
        return False
    found = Path(path).stat()
    # a listing has sizes and times, so that only files that may be the same are looked at again
    listed = [] if source is None else source.files
    alike = (f for f in listed if f.size == found.st_size and f.mtime_ns == found.st_mtime_ns)
    return any(_same(path, one) for one in named) or any(
        _same(path, location(source.root, file)) for file in alike
    )


def would_list(named: list[str], source: Any, path: str | os.PathLike[str]) -> bool:
    """Whether a file of this path would be read as data: a folder or pattern that is named holds it."""
    folder, name = os.path.split(local_path(os.fspath(path)))
    places = {folder, os.path.realpath(folder)}
    real = os.path.realpath(folder)
    files = () if source is None else source.files
    listed = {location(source.root, file).rpartition("/")[0] for file in files}
    places |= {one for one in listed if os.path.realpath(one) == real}  # reached by a link inside the lake
    return any(_holds(item, f"{place}/{name}") for item in named for place in places)


def _local(source: Any) -> bool:
    """Whether the files are here, neither in memory nor in an object store."""
    return source is None or getattr(source, "prefix", None) == ""


def _holds(item: str, path: str) -> bool:
    """Whether a listing of that folder or pattern has the path."""
    if Path(item).is_dir():
        roots = {item.rstrip("/"), os.path.realpath(item).rstrip("/")}
        return any(path.startswith(f"{r}/") and not _hidden(path[len(r) :].split("/")[1:]) for r in roots)
    if not has_wildcard(item):
        return False
    names = item.split("/")
    first = next(i for i, name in enumerate(names) if has_wildcard(name))
    root = "/".join(names[:first])
    for one in {root, os.path.realpath(root or "/").rstrip("/")}:
        if path.startswith(f"{one}/"):
            parts = path[len(one) + 1 :].split("/")
            # what lies below a folder that the pattern matches is listed too
            heads = [parts[:n] for n in range(1, len(parts) + 1)]
            if not _hidden(parts) and any(_matches(head, names[first:]) for head in heads):
                return True
    return False


def _hidden(parts: Iterable[str]) -> bool:
    return any(part[:1] in ("_", ".") for part in parts)


def _matches(parts: list[str], names: list[str]) -> bool:
    """Whether folders and name match those of a pattern; ``**`` is any number of folders."""
    if not names:
        return not parts
    if names[0] == "**":
        return any(_matches(parts[n:], names[1:]) for n in range(len(parts) + 1))
    return bool(parts) and fnmatchcase(parts[0], names[0]) and _matches(parts[1:], names[1:])


def _same(one: str | os.PathLike[str], other: str | os.PathLike[str]) -> bool:
    try:
        return Path(one).samefile(other)
    except OSError:
        return False
