"""How large the pages of a column chunk are once decompressed, by their headers: footers only have the sum.

A single text of 100 MB among a million short ones makes one page of that size, which compression may hide.
Headers are Thrift structs in the compact protocol, of which three numbers are looked at here and the rest is
passed over.
"""

from __future__ import annotations

from typing import Any

HEADER_BYTES = 8_192
"""More than a header has; one with longer statistics ends the look."""

_BOOLS, _INTEGERS, _BYTE, _DOUBLE, _BINARY, _LISTS, _STRUCT = (1, 2), (4, 5, 6), 3, 7, 8, (9, 10), 12


MOST_PAGES = 100_000
"""Of a chunk are looked at."""


def largest_page(stream: Any, chunk: Any, most: int = MOST_PAGES) -> int:
    """Bytes of the largest of the first pages of a column chunk, once it is decompressed.

    Where a header cannot be understood, of those before: the file is refused when it is read.
    """
    at = min(chunk.dictionary_page_offset or chunk.data_page_offset, chunk.data_page_offset)
    largest, end = 0, at + chunk.total_compressed_size
    place = stream.tell()
    for _ in range(most if at >= 0 else 0):
        if at >= end:
            break
        stream.seek(at)
        header = _Header(stream.read(min(HEADER_BYTES, end - at)))
        try:
            fields = header.struct()
        except (IndexError, ValueError, RecursionError):
            break
        if fields.get(3, -1) < 0:
            break
        largest = max(largest, fields.get(2, 0))
        at += header.at + fields[3]
    stream.seek(place)
    return largest


class _Header:
    """A cursor in the bytes of a struct."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def struct(self) -> dict[int, int]:
        """The integers of a struct by their numbers; IndexError where it is cut off."""
        found: dict[int, int] = {}
        number = 0
        while head := self._byte():
            number = number + (head >> 4) if head >> 4 else self._integer()
            if head & 15 in _INTEGERS:
                found[number] = self._integer()
            else:
                self._skip(head & 15)
        return found

    def _byte(self) -> int:
        self.at += 1
        return self.data[self.at - 1]

    def _varint(self) -> int:
        value = shift = 0
        while (one := self._byte()) > 127:
            value |= (one & 127) << shift
            shift += 7
        return value | one << shift

    def _integer(self) -> int:
        n = self._varint()
        return (n >> 1) ^ -(n & 1)

    def _skip(self, kind: int) -> None:
        if kind in _INTEGERS:
            self._varint()
        elif kind == _BYTE:
            self.at += 1
        elif kind == _DOUBLE:
            self.at += 8
        elif kind == _BINARY:
            self.at += self._varint()
        elif kind in _LISTS:
            head = self._byte()
            n = head >> 4 if head >> 4 < 15 else self._varint()
            for _ in range(n):
                self._skip(_BYTE if head & 15 in _BOOLS else head & 15)
        elif kind == _STRUCT:
            self.struct()
        elif kind not in _BOOLS:
            raise ValueError(f"no type {kind}")
