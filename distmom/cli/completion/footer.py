"""Names of the columns of a Parquet file, read from its footer without any library.

Loading PyArrow takes too long for somebody who has pressed Tab. Of the footer (Thrift, compact protocol) only
the list of schema elements is read, which comes first.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

MAGIC = b"PAR1"
MOST = 1 << 20
"""Bytes of a footer that are read: enough for ten thousand columns."""

SCHEMA, NAME, CHILDREN = 2, 4, 5
"""Fields of the file's metadata, and of a schema element."""

BOOLEANS, BYTE, INTEGERS, DOUBLE, BINARY, LISTS, MAP, STRUCT = (1, 2), 3, (4, 5, 6), 7, 8, (9, 10), 11, 12


def column_names(file: Path) -> list[str]:
    """Names of the columns, in order; of a damaged file those that can be read."""
    names: list[str] = []
    try:
        footer = _footer(file)
        for field, kind in footer.fields():
            if field == SCHEMA and kind in LISTS:
                names.extend(_top(footer.elements()))
                break
            footer.skip(kind)
    except (IndexError, OSError, RuntimeError, StopIteration, ValueError):  # also what recurses too deeply
        pass
    return names


def _footer(file: Path) -> _Compact:
    with file.open("rb") as opened:
        size = opened.seek(0, 2)
        opened.seek(max(size - 8, 0))
        tail = opened.read(8)
        length = int.from_bytes(tail[:4], "little")
        if tail[4:] != MAGIC or length > size - 8:
            raise ValueError(file)
        opened.seek(size - 8 - length)
        return _Compact(opened.read(min(length, MOST)))


def _top(elements: Iterator[tuple[str, int]]) -> Iterator[str]:
    """Names of the elements right below the first one, which is the root."""
    _, n_columns = next(elements)
    for _ in range(n_columns):
        name, below = next(elements)
        yield name
        while below:
            below += next(elements)[1] - 1


class _Compact:
    """Values of Thrift's compact protocol, one after the other."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def byte(self) -> int:
        self.at += 1
        return self.data[self.at - 1]

    def number(self) -> int:
        """A number of variable length."""
        value = shift = 0
        while True:
            byte = self.byte()
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    def signed(self) -> int:
        value = self.number()
        return (value >> 1) ^ -(value & 1)

    def text(self) -> str:
        length = self.number()
        self.at += length
        return self.data[self.at - length : self.at].decode()

    def fields(self) -> Iterator[tuple[int, int]]:
        """Number and type of each field of a struct; whoever asks reads or skips the value."""
        field = 0
        while (head := self.byte()) != 0:
            field = field + (head >> 4) if head >> 4 else self.signed()
            yield field, head & 15

    def elements(self) -> Iterator[tuple[str, int]]:
        """Name and number of children of each schema element."""
        for _ in range(self.items()[0]):
            name, children = "", 0
            for field, kind in self.fields():
                if field == NAME and kind == BINARY:
                    name = self.text()
                elif field == CHILDREN and kind in INTEGERS:
                    children = self.signed()
                else:
                    self.skip(kind)
            yield name, children

    def items(self) -> tuple[int, int]:
        """Length and type of a list."""
        head = self.byte()
        return self.count(head >> 4 if head >> 4 < 15 else self.number()), head & 15

    def count(self, n: int) -> int:
        """A number of values; ValueError for one that the footer has no room for."""
        if n > len(self.data):
            raise ValueError(n)
        return n

    def skip(self, kind: int, *, listed: bool = False) -> None:
        """Pass over a value; in lists booleans take a byte."""
        if kind == BYTE or (listed and kind in BOOLEANS):
            self.at += 1
        elif kind in INTEGERS:
            self.number()
        elif kind == DOUBLE:
            self.at += 8
        elif kind == BINARY:
            length = self.number()
            self.at += length
        elif kind in LISTS:
            n, inner = self.items()
            for _ in range(n):
                self.skip(inner, listed=True)
        elif kind == MAP:
            if n := self.count(self.number()):
                kinds = self.byte()
                for _ in range(n):
                    self.skip(kinds >> 4, listed=True)
                    self.skip(kinds & 15, listed=True)
        elif kind == STRUCT:
            for _, inner in self.fields():
                self.skip(inner)
        elif kind not in BOOLEANS:
            raise ValueError(kind)
