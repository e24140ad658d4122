"""Records of very many groups on disk: the data of a group is stored together, and read on access.

Data stays mapped after access until it is released, so code that visits all groups releases it now and then.
"""

from __future__ import annotations

import logging
import mmap
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import fields, replace
from typing import IO, TYPE_CHECKING, Any, Self, TypeVar

import numpy as np

from distmom.errors import ResourceError
from distmom.inference.answers import OfGroups

if TYPE_CHECKING:
    from distmom.cluster.scratch import Scratch

logger = logging.getLogger("distmom")

R = TypeVar("R", bound=OfGroups)


class Mapped:
    """The parts of a file that are mapped into memory."""

    def __init__(self) -> None:
        self._maps: list[mmap.mmap] = []

    def add(self, file: IO[bytes], start: int, size: int) -> mmap.mmap:
        """Map part of a file."""
        self._maps.append(mmap.mmap(file.fileno(), size, access=mmap.ACCESS_READ, offset=start))
        return self._maps[-1]

    def let_go(self) -> None:
        """Release the memory of all data accessed so far: it is read again from the file if needed."""
        if hasattr(mmap, "MADV_DONTNEED"):
            for one in self._maps:
                one.madvise(mmap.MADV_DONTNEED)


class RecordFile:
    """An unnamed file, which disappears when no record is left, or with the process.

    If none can be created, records stay in memory.

    Attributes
    ----------
    mapped : Mapped
    """

    def __init__(self, scratch: Scratch) -> None:
        self.mapped = Mapped()
        self._file: IO[bytes] | None = None
        try:
            self._file = tempfile.TemporaryFile(dir=scratch.parent)  # noqa: SIM115  # closed on leaving
        except (OSError, ResourceError) as error:
            logger.info("answers stay in memory: %s", error)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Close the file: mapped parts stay usable."""
        if self._file is not None:
            self._file.close()

    def put(self, records: Sequence[R]) -> list[R]:
        """The same records with their arrays in the file. ResourceError if the disk is full."""
        return [self._put(record) for record in records]

    def _put(self, record: R) -> R:
        arrays = dict(_arrays(record))
        if self._file is None or not arrays:
            return record
        n = len(next(iter(arrays.values())))
        lines = np.empty(n, [(name, a.dtype, a.shape[1:]) for name, a in arrays.items()])
        for name, array in arrays.items():
            lines[name] = array
        try:
            end = self._file.seek(0, 2)
            start = end + -end % mmap.ALLOCATIONGRANULARITY
            self._file.seek(start)
            self._file.write(lines.data)
            self._file.flush()
        except OSError as error:
            raise ResourceError(
                f"scratch: the answers of many groups do not fit: {error.strerror}; name another folder"
            ) from error
        there = np.frombuffer(self.mapped.add(self._file, start, lines.nbytes), lines.dtype)
        return _from(record, there)


def _arrays(record: OfGroups, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Arrays with a line for each group, including those of nested records, with their names."""
    for field in fields(record):
        value = getattr(record, field.name)
        if isinstance(value, OfGroups):
            yield from _arrays(value, f"{prefix}{field.name}.")
        elif field.name not in record.of_all and isinstance(value, np.ndarray) and value.nbytes:
            yield prefix + field.name, value


def _from(record: R, lines: Any, prefix: str = "") -> R:
    """The same record with these arrays taken from the lines of a file."""
    new: dict[str, Any] = {}
    for field in fields(record):
        value, name = getattr(record, field.name), prefix + field.name
        if isinstance(value, OfGroups):
            new[field.name] = _from(value, lines, f"{name}.")
        elif name in lines.dtype.names:
            new[field.name] = lines[name]
    return replace(record, **new)
