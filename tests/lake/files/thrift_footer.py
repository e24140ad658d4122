"""Footers of Parquet files taken apart and put together: the compact protocol of Thrift, without names."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

TRUE, FALSE, BYTE, I16, I32, I64, DOUBLE, BINARY, LIST, SET, MAP, STRUCT = range(1, 13)
INTEGERS = (I16, I32, I64)

Struct = dict[int, list[Any]]
"""Type and value of each field by its number; a list is ``[type of the elements, elements]``."""


class _Reader:
    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def byte(self) -> int:
        self.at += 1
        return self.data[self.at - 1]

    def varint(self) -> int:
        value = shift = 0
        while True:
            one = self.byte()
            value |= (one & 127) << shift
            shift += 7
            if one < 128:
                return value

    def integer(self) -> int:
        n = self.varint()
        return (n >> 1) ^ -(n & 1)

    def value(self, kind: int) -> Any:
        if kind in (TRUE, FALSE):
            return kind == TRUE
        if kind in INTEGERS:
            return self.integer()
        if kind == BYTE:
            return self.byte()
        if kind in (DOUBLE, BINARY):
            n = 8 if kind == DOUBLE else self.varint()
            self.at += n
            return self.data[self.at - n : self.at]
        if kind in (LIST, SET):
            head = self.byte()
            n, of = head >> 4, head & 15
            n = self.varint() if n == 15 else n
            return [of, [self.value(of) for _ in range(n)]]
        assert kind == STRUCT
        return self.struct()

    def struct(self) -> Struct:
        found: Struct = {}
        number = 0
        while (head := self.byte()) != 0:
            number = number + (head >> 4) if head >> 4 else self.integer()
            found[number] = [head & 15, self.value(head & 15)]
        return found


def _varint(n: int) -> bytes:
    out = bytearray()
    while n > 127:
        out.append(n & 127 | 128)
        n >>= 7
    return bytes([*out, n])


def _value(kind: int, value: Any) -> bytes:
    if kind in (TRUE, FALSE):
        return b""
    if kind in INTEGERS:
        return _varint(value << 1 if value >= 0 else (-value << 1) - 1)
    if kind == BYTE:
        return bytes([value])
    if kind == DOUBLE:
        return bytes(value)
    if kind == BINARY:
        return _varint(len(value)) + value
    if kind in (LIST, SET):
        of, items = value
        n = len(items)
        head = bytes([n << 4 | of]) if n < 15 else bytes([240 | of]) + _varint(n)
        return head + b"".join(
            bytes([TRUE if one else FALSE]) if of in (TRUE, FALSE) else _value(of, one) for one in items
        )
    return _struct(value)


def _struct(fields: Struct) -> bytes:
    out, last = b"", 0
    for number, (kind, value) in sorted(fields.items()):
        kind = (TRUE if value else FALSE) if kind in (TRUE, FALSE) else kind
        gap = number - last
        out += bytes([gap << 4 | kind]) if 0 < gap < 16 else bytes([kind]) + _value(I16, number)
        out += _value(kind, value)
        last = number
    return out + b"\0"


def edited(source: Path, target: Path, edit: Callable[[Struct], None]) -> None:
    """Write a copy of a Parquet file whose footer was edited."""
    data = source.read_bytes()
    n = int.from_bytes(data[-8:-4], "little")
    footer = _Reader(data[-8 - n : -8]).struct()
    edit(footer)
    written = _struct(footer)
    target.write_bytes(data[: -8 - n] + written + len(written).to_bytes(4, "little") + b"PAR1")
