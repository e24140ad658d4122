"""An object of a store as a file: every range that is read is a request by itself, which is made again."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa

from distmom.lake.files.retries import Patience

T = TypeVar("T")

_MARKS = (0xA5, 0x5A)

ONE_PART = "-1"
"""Ends the ETag of an object that was uploaded in parts, as PyArrow does, but in one."""


class Tags:
    """Whether ETags that look like MD5 sums are such: not where a store encrypts with a key of its user."""

    are_sums = True


class StoredObject:
    """What PyArrow reads from as from a file of Python's.

    Parameters
    ----------
    stream : pyarrow.NativeFile
        Of a store.
    what : str
        How messages call the object.

    Attributes
    ----------
    failure : BaseException or None
        What a read ended with, for who gets it back by way of PyArrow, which may have changed it.
    proved : bool
        Whether all bytes were read, and have the MD5 sum that the store said when the object was opened.
    """

    def __init__(self, stream: pa.NativeFile, patience: Patience, what: str, tags: Tags) -> None:
        self._stream, self._patience, self._what, self._tags = stream, patience, what, tags
        self._size: int = stream.size()
        self._position = 0
        self.failure: BaseException | None = None
        self.proved = False

    def __enter__(self) -> StoredObject:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def closed(self) -> bool:
        """Whether nothing can be read any more."""
        return bool(self._stream.closed)

    def close(self) -> None:
        """Let go of it."""
        self._stream.close()

    def readable(self) -> bool:
        """It is."""
        return True

    def size(self) -> int:
        """Bytes, as the store said when it was opened."""
        return self._size

    def metadata(self) -> dict[str, bytes]:
        """What the store said of the object when it was opened."""
        return self._stream.metadata() or {}

    def seek(self, position: int, whence: int = io.SEEK_SET) -> int:
        """Go to a byte."""
        start = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self._size}[whence]
        self._position = start + position
        return self._position

    def tell(self) -> int:
        """The number of the next byte."""
        return self._position

    def read(self, n: int | None = -1) -> Any:
        """The next bytes as a buffer, fewer only at the end."""
        left = max(0, self._size - self._position)
        n = left if n is None or n < 0 else min(n, left)
        begin, self._position = self._position, self._position + n
        return self._asked(lambda: self._range(begin, n))

    def read_buffer(self, n: int | None = -1) -> pa.Buffer:
        """The same."""
        return self.read(n)

    def read_whole(self) -> pa.Buffer:
        """All bytes, compared with the MD5 sum that an object has as its ETag if it came in one part."""
        return self._asked(self._whole)

    def _asked(self, request: Callable[[], T]) -> T:
        try:
            return self._patience.ask(request, self._what)
        except BaseException as error:
            self.failure = error
            raise

    def _whole(self) -> pa.Buffer:
        tag = self._sum()
        found = self._range(0, self._size)
        if tag is None or self._has(found, tag):
            return found
        again = self._range(0, self._size)
        if self._has(again, tag):
            return again
        if not again.equals(found):
            raise ConnectionError(
                "the data received differ from an earlier read and from the object's checksum"
            )
        self._tags.are_sums = False
        return found

    def _sum(self) -> str | None:
        """The MD5 sum of the object, or of that of the only part of an upload; None if its ETag is none."""
        tag = self.metadata().get("ETag", b"").strip(b'"').decode("ascii", "replace")
        return tag if len(tag.removesuffix(ONE_PART)) == 32 and self._tags.are_sums else None

    def _has(self, found: pa.Buffer, tag: str) -> bool:
        sum_ = hashlib.md5(found, usedforsecurity=False)
        if tag.endswith(ONE_PART):
            sum_ = hashlib.md5(sum_.digest(), usedforsecurity=False)
        self.proved = sum_.hexdigest() == tag.removesuffix(ONE_PART)
        return self.proved

    def _range(self, position: int, n: int) -> pa.Buffer:
        """The bytes of one request. ConnectionError if there are fewer than were asked for.

        PyArrow does not look how many bytes a store of the kind S3 gave: the rest would be whatever lay in
        memory. So the last byte is set before; where it stays, a second time tells whether one came. The
        others are 0, as PyArrow takes all of them for the text of a refusal.
        """
        buffer = pa.allocate_buffer(n)
        bytes_ = np.frombuffer(buffer, np.uint8)
        for mark in _MARKS if n else ():
            bytes_[:] = 0
            bytes_[-1] = mark
            self._stream.seek(position)
            if self._stream.readinto(buffer) != n:
                break
            if bytes_[-1] != mark:
                return buffer
        if n:
            raise ConnectionError(f"fewer bytes came than the {n} that were requested")
        return buffer
