"""Canonical keys of groups: equal where their values are equal, sortable, and the same from any file.

A component of a key is ``(rank, value)``: null ``(0,)``, a number ``(1, v)``, NaN ``(2,)``, true or false
``(3, v)``, text ``(4, s)``, bytes ``(5, b)``, a date, time or duration ``(6, (kind, n))`` with ``n`` days
for a date and nanoseconds for the others. So 1, 1.0 and Decimal(1) are one group, whatever the files'
types, -0.0 is 0.0, and a timestamp is the same in any unit.

Saved states hold a key as a JSON list with one item a component. A number keeps its kind, so that a group is
shown as before: ``["i", "7"]``, ``["f", "0x1.8p+0"]`` (hexadecimal), ``["d", "1.50"]``; ``["n"]`` is null,
``["q"]`` NaN, ``["b", true]``, ``["t", text]``, ``["x", bytes in hexadecimal]``, ``["c", clock, "count"]``.
"""

from __future__ import annotations

import datetime
import json
import math
import re
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import types as patypes

from distmom.errors import DataError
from distmom.lake.columns.convert import bit_values, native_values, valid_rows
from distmom.lake.columns.schema import kind_of
from distmom.lake.columns.times import NANOSECONDS, duration_text

Component = tuple[Any, ...]
Key = tuple[Component, ...]

NULL: Component = (0,)
NAN: Component = (2,)

_MS_OF_DAY = 86_400_000
_NUMBERS: dict[str, Callable[[str], Any]] = {"i": int, "f": float.fromhex, "d": Decimal}
_CLOCKS = ("date", "timestamp", "zoned", "time", "duration")


def components(array: pa.Array) -> list[Component]:
    """Components of the values of an array. DataError if values of its type cannot be keys."""
    type_ = array.type
    if patypes.is_null(type_):
        return [NULL] * len(array)
    found = _valid_components(array, type_)
    valid = valid_rows(array)
    if valid is not None:
        found = [component if known else NULL for component, known in zip(found, valid.tolist(), strict=True)]
    return found


def _valid_components(array: pa.Array, type_: pa.DataType) -> list[Component]:
    """Components where the array is not null, anything elsewhere."""
    if patypes.is_integer(type_):
        return [(1, value) for value in native_values(array).tolist()]
    if patypes.is_floating(type_):
        # -0.0 + 0.0 is 0.0
        return [(1, v + 0.0) if v == v else NAN for v in native_values(array).astype(np.float64).tolist()]
    if patypes.is_decimal(type_):
        return [(1, value) for value in array.to_pylist()]
    if patypes.is_boolean(type_):
        return [(3, value) for value in bit_values(array).tolist()]
    kind = kind_of(type_)
    if kind == "text":
        return [(4, value) for value in _texts(array)]
    if kind == "binary":
        return [(5, value) for value in array.to_pylist()]
    if kind == "date":
        days = native_values(array.view(pa.int32() if patypes.is_date32(type_) else pa.int64())).tolist()
        return [(6, (kind, n if patypes.is_date32(type_) else n // _MS_OF_DAY)) for n in days]
    if kind in ("timestamp", "zoned", "time", "duration"):
        counts = native_values(array.view(pa.int32() if type_.bit_width == 32 else pa.int64())).tolist()
        return [(6, (kind, n * NANOSECONDS[type_.unit])) for n in counts]
    raise DataError(f"values of type {type_} cannot be keys of groups or units; choose another column")


def _texts(array: pa.Array) -> list[str | None]:
    try:
        texts: list[str | None] = array.to_pylist()
    except UnicodeDecodeError:  # writers do not check: keep such texts apart from all that are texts
        raw = [value.as_buffer() if value.is_valid else None for value in array]
        texts = [None if b is None else b.to_pybytes().decode("utf-8", "surrogateescape") for b in raw]
    return texts


class KeyText(str):
    """How a component is shown that no plain value of Python stands for; `component` tells which it is."""

    __slots__ = ("component",)
    component: Component

    @classmethod
    def of(cls, component: Component, text: str) -> KeyText:
        """The text with its component."""
        made = cls(text)
        made.component = component
        return made


_NO_TEXT = re.compile("[\udc80-\udcff]")
_LIKE_NO_TEXT = re.compile(f"\ufffd+(?=x[0-9a-f]{{2}}|{_NO_TEXT.pattern})")


def _printable(text: str) -> str:
    """A text with bytes that are no UTF-8 as \ufffdxff; what is so in the text has its \ufffd doubled."""
    if text.isascii():
        return text
    plain = _LIKE_NO_TEXT.sub(lambda found: 2 * found[0], text)
    return _NO_TEXT.sub(lambda found: f"\ufffdx{ord(found[0]) - 0xDC00:02x}", plain)


def decode_key(key: Key) -> tuple[Any, ...]:
    """Plain Python values of a key, for results.

    Examples
    --------
    >>> decode_key(((4, "DE"), (0,), (1, 7)))
    ('DE', None, 7)
    """
    return tuple(_decode(component) for component in key)


def _decode(component: Component) -> Any:
    rank = component[0]
    if rank == 0:
        return None
    if rank == 2:
        return math.nan
    if rank not in (4, 6):
        return component[1]
    shown = _printable(component[1]) if rank == 4 else _decode_clock(*component[1])
    lost = isinstance(shown, str) and shown != component[1]
    return KeyText.of(component, shown) if lost else shown


def component_of(value: Any) -> Component:
    """The component that is shown as this value, or that a column with it would have.

    DataError, ArrowException or TypeError if it can be no key.

    Examples
    --------
    >>> component_of(7), component_of(None), component_of("DE")
    ((1, 7), (0,), (4, 'DE'))
    """
    if isinstance(value, KeyText):
        return value.component
    if isinstance(value, int) and not isinstance(value, bool):
        return (1, value)  # also one beyond 64 bits with a sign
    return components(pa.array([value]))[0]


def _decode_clock(kind: str, count: int) -> Any:
    """A date, time, datetime or timedelta; ISO text where Python's type lacks the digits or the year."""
    try:
        if kind == "date":
            return datetime.date.fromordinal(datetime.date(1970, 1, 1).toordinal() + count)
        microseconds, rest = divmod(count, 1_000)
        if rest == 0:
            span = datetime.timedelta(microseconds=microseconds)
            if kind == "duration":
                return span
            zone = datetime.UTC if kind == "zoned" else None
            moment = datetime.datetime(1970, 1, 1, tzinfo=zone) + span
            return moment.time() if kind == "time" else moment
    except (OverflowError, ValueError):
        pass
    try:
        return _iso_text(kind, count)
    except OverflowError:  # in no column of Arrow, but a file may say so
        return f"{kind} {count}"


def _iso_text(kind: str, count: int) -> str:
    if kind == "duration":
        return duration_text(count, 10**9)
    if kind == "date":
        return str(np.datetime64(count, "D"))
    seconds, rest = divmod(count, 10**9)
    text = f"{np.datetime64(seconds, 's')}.{rest:09d}"
    if kind == "time":
        return text.partition("T")[2]
    return text + ("Z" if kind == "zoned" else "")


def key_to_bytes(key: Key) -> bytes:
    """Bytes of a key; ASCII.

    Examples
    --------
    >>> key_to_bytes(((4, "DE"), (0,), (1, 7)))
    b'[["t", "DE"], ["n"], ["i", "7"]]'
    """
    return json.dumps([_item(component) for component in key]).encode("ascii")


def key_from_bytes(data: bytes) -> Key:
    """The key that `key_to_bytes` turned into these bytes; ValueError if there is none."""
    items = json.loads(data)
    if not isinstance(items, list):
        raise ValueError(f"{data[:60]!r} is not a key")
    try:
        return tuple(_component(*item) for item in items)
    except (TypeError, ValueError, ArithmeticError) as error:
        raise ValueError(f"{data[:60]!r} is not a key") from error


def _item(component: Component) -> list[Any]:
    rank = component[0]
    if rank in (0, 2):
        return ["n"] if rank == 0 else ["q"]
    value = component[1]
    if rank == 1:
        if isinstance(value, float):
            return ["f", value.hex()]
        return ["d" if isinstance(value, Decimal) else "i", str(value)]
    if rank == 5:
        return ["x", value.hex()]
    if rank == 6:
        return ["c", value[0], str(value[1])]
    return ["b" if rank == 3 else "t", value]


def _component(kind: str, *values: Any) -> Component:
    if kind in ("n", "q") and not values:
        return NULL if kind == "n" else NAN
    if kind == "c":
        clock, count = values
        if clock not in _CLOCKS:
            raise ValueError
        return (6, (clock, int(count)))
    [value] = values
    if kind == "b":
        if not isinstance(value, bool):
            raise TypeError
        return (3, value)
    if not isinstance(value, str):
        raise TypeError
    if kind == "t":
        return (4, value)
    if kind == "x":
        return (5, bytes.fromhex(value))
    number = _NUMBERS[kind](value)
    if number != number:
        raise ValueError
    return (1, number)
