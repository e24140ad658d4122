"""Records of very many groups whose arrays are on disk: they are mapped, and read when they are looked at."""

from __future__ import annotations

import logging
import tempfile
from collections.abc import Sequence
from dataclasses import fields, replace
from typing import IO, TYPE_CHECKING, Any, Self, TypeVar

import numpy as np

from distmom.errors import ResourceError
from distmom.inference.answers import OfGroups

if TYPE_CHECKING:
    from distmom.cluster.scratch import Scratch

logger = logging.getLogger("distmom")

R = TypeVar("R", bound=OfGroups)

ALIGNED = 64
"""Bytes at a multiple of which each array begins."""


class RecordFile:
    """A file without a name, which is gone when no record is left, or with the process.

    Where none can be made, records stay as they are.
    """

    def __init__(self, scratch: Scratch) -> None:
        self._file: IO[bytes] | None = None
        try:
            self._file = tempfile.TemporaryFile(dir=scratch.parent)  # noqa: SIM115  # closed on leaving
        except (OSError, ResourceError) as error:
            logger.info("answers stay in memory: %s", error)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Close it: what is mapped stays."""
        if self._file is not None:
            self._file.close()

    def put(self, records: Sequence[R]) -> list[R]:
        """The same records with their arrays in the file. ResourceError if the disk is full."""
        if self._file is None:
            return list(records)
        try:
            start = self._file.seek(0, 2)
            places = [self._written(record, start) for record in records]
            self._file.flush()
        except OSError as error:
            raise ResourceError(
                f"scratch: the answers of many groups do not fit: {error.strerror}; name another folder"
            ) from error
        size = self._file.tell() - start
        if not size:
            return list(records)
        # as a plain array: taking a number out of a memmap costs twice as much
        mapped = np.memmap(self._file, np.uint8, "r", start, (size,)).view(np.ndarray)
        return [_mapped(record, own, mapped) for record, own in zip(records, places, strict=True)]

    def _written(self, record: OfGroups, start: int) -> dict[str, Any]:
        """Where the arrays of a record begin, behind the start; of records in it likewise."""
        assert self._file is not None
        places: dict[str, Any] = {}
        for name, value in _parts(record):
            if isinstance(value, OfGroups):
                places[name] = self._written(value, start)
            elif isinstance(value, np.ndarray) and value.nbytes:
                self._file.write(bytes((start - self._file.tell()) % ALIGNED))
                places[name] = self._file.tell() - start
                self._file.write(np.ascontiguousarray(value).data)
        return places


def _parts(record: OfGroups) -> list[tuple[str, Any]]:
    return [(field.name, getattr(record, field.name)) for field in fields(record)]


def _mapped(record: R, places: dict[str, Any], mapped: Any) -> R:
    new: dict[str, Any] = {}
    for name, value in _parts(record):
        place = places.get(name)
        if isinstance(place, dict):
            new[name] = _mapped(value, place, mapped)
        elif place is not None:
            new[name] = mapped[place : place + value.nbytes].view(value.dtype).reshape(value.shape)
    return replace(record, **new)
