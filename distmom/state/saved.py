"""Conversion of the content of a state file to a container, and back."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple, TypeVar

import numpy as np

from distmom.errors import DataError, DistmomError
from distmom.lake.source import FileRef
from distmom.state.container import Container
from distmom.state.fingerprint import Fingerprint
from distmom.version import VERSION

T = TypeVar("T")

OWN = "own/"
"""Prefix of the names of a job's own arrays."""


@dataclass(frozen=True)
class Saved:
    """The content of a state.

    Attributes
    ----------
    kind : str
        Kind of job, such as ``"mean"``.
    files : tuple of FileRef
        All files that it knows.
    facts : dict
        The job's own facts: any JSON values, by name.
    arrays : mapping of str to ndarray or tuple of bytes
        The job's own arrays.
    """

    kind: str
    fingerprint: Fingerprint
    files: tuple[FileRef, ...] = ()
    facts: dict[str, Any] = field(default_factory=dict)
    arrays: Mapping[str, Any] = field(default_factory=dict)

    def container(self) -> Container:
        """The container to write."""
        facts = {"fingerprint": asdict(self.fingerprint), "distmom": VERSION, "own": self.facts}
        own = {f"{OWN}{name}": array for name, array in self.arrays.items()}
        return Container(self.kind, facts, files_to_arrays(self.files) | own)

    @classmethod
    def of(cls, container: Container, kind: str, name: str) -> Saved:
        """The content of a container. DataError if it is of another kind, or not valid."""
        if container.kind != kind:
            raise DataError(f"{name} is of kind {container.kind!r}, not {kind!r}; name another file")

        def saved() -> Saved:
            arrays = container.arrays
            own = {n.removeprefix(OWN): a for n, a in arrays.items() if n.startswith(OWN)}
            print_ = Fingerprint(**container.facts["fingerprint"])
            print_.seed  # noqa: B018 (is there)
            return cls(kind, print_, files_from_arrays(arrays), dict(container.facts["own"]), own)

        return understood(name, saved)


RAW = (ValueError, KeyError, TypeError, AttributeError, IndexError, OverflowError)
"""Errors raised by inconsistent sums."""

_READ: ContextVar[list[str] | None] = ContextVar("distmom_states", default=None)


def understood(name: str, make: Callable[[], T]) -> T:
    """The result of `make` for a state; a DataError that names the state if its content is not valid."""
    try:
        found = make()
    except (DistmomError, *RAW) as error:
        raise _not_understood(name, error) from error
    read = _READ.get()
    if read is not None:
        read.append(name)
    return found


def with_states(call: Callable[[], T]) -> T:
    """The result of a call; a DataError that names the states it read if it fails because of their numbers.

    The digest of a state detects damage. But a hand-made container may have any content, and not every fault
    is found before the sums are used.
    """
    token = _READ.set([])
    try:
        return call()
    except DistmomError:  # some are ValueErrors too
        raise
    except RAW as error:
        if read := _READ.get():
            raise _not_understood(" or ".join(dict.fromkeys(read)), error) from error
        raise
    finally:
        _READ.reset(token)


def _not_understood(name: str, error: Exception) -> DataError:
    reason = str(error).partition("\n")[0]
    return DataError(
        f"{name} does not hold what this version of distmom expects ({type(error).__name__}: {reason}); "
        "delete it to start afresh"
    )


COLUMNS = ("size", "mtime_ns")


class Change(NamedTuple):
    """Why a state cannot be continued: how the lake has changed since, in words."""

    text: str
    remedy: str = "to read everything again"


def files_to_arrays(files: Sequence[FileRef]) -> dict[str, Any]:
    """Paths below the root, sizes and modification times (in object stores, of the object)."""
    arrays: dict[str, Any] = {"files.path": texts_to_bytes(file.path for file in files)}
    for name in COLUMNS:
        arrays[f"files.{name}"] = np.array([getattr(file, name) for file in files], np.int64)
    return arrays


def files_from_arrays(arrays: Mapping[str, Any]) -> tuple[FileRef, ...]:
    """Read what `files_to_arrays` wrote; a Python error if the arrays are not valid."""
    numbers = (arrays[f"files.{name}"].tolist() for name in COLUMNS)
    paths = texts_from_bytes(arrays["files.path"])
    return tuple(FileRef(*file) for file in zip(paths, *numbers, strict=True))


def texts_to_bytes(texts: Iterable[str]) -> tuple[bytes, ...]:
    """Texts in the form of a container; paths need not be valid Unicode."""
    return tuple(text.encode("utf-8", "surrogatepass") for text in texts)


def texts_from_bytes(data: Iterable[bytes]) -> list[str]:
    """Read what `texts_to_bytes` wrote."""
    return [text.decode("utf-8", "surrogatepass") for text in data]


def change(known: Iterable[FileRef], files: Sequence[FileRef], fixed: Change | None = None) -> Change | None:
    """The change in a listing that prevents continuing from a state, if any.

    Parameters
    ----------
    known : iterable of FileRef
        Files on which the state depends.
    files : sequence of FileRef
        The present listing.
    fixed : Change, optional
        Why no file may be added, and what to do then; None if files may be added.
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
