"""Canonical keys of groups: equal where their values are equal, sortable, and the same from any file.

A component of a key is ``(rank, value)``: null ``(0,)``, a number ``(1, v)``, NaN ``(2,)``, true or false
``(3, v)``, text ``(4, s)``, bytes ``(5, b)``, a date, time or duration ``(6, (kind, n))`` with ``n`` days
for a date and nanoseconds for the others. So 1, 1.0 and Decimal(1) are one group, whatever the files'
types, -0.0 is 0.0, and a timestamp is the same in any unit.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable
from typing import Any

import pyarrow as pa
from pyarrow import types as patypes

from distmom.errors import DataError

Component = tuple[Any, ...]
Key = tuple[Component, ...]

NULL: Component = (0,)
NAN: Component = (2,)

_NANOSECONDS = {"s": 1_000_000_000, "ms": 1_000_000, "us": 1_000, "ns": 1}
_MS_OF_DAY = 86_400_000


def component_function(type_: pa.DataType) -> Callable[[pa.Scalar], Component]:
    """The function that turns scalars of one type into components.

    Raises
    ------
    DataError
        If values of the type cannot be keys.
    """
    convert = _converter(type_)
    return lambda scalar: convert(scalar) if scalar.is_valid else NULL


def _converter(type_: pa.DataType) -> Callable[[pa.Scalar], Component]:
    if patypes.is_integer(type_) or patypes.is_decimal(type_):
        return lambda scalar: (1, scalar.as_py())
    if patypes.is_floating(type_):
        return _from_float
    if patypes.is_boolean(type_):
        return lambda scalar: (3, scalar.as_py())
    if patypes.is_string(type_) or patypes.is_large_string(type_) or patypes.is_string_view(type_):
        return _from_text
    if patypes.is_null(type_):
        return lambda scalar: NULL
    if patypes.is_date32(type_):
        return lambda scalar: (6, ("date", scalar.value))
    if patypes.is_date64(type_):
        return lambda scalar: (6, ("date", scalar.value // _MS_OF_DAY))
    if patypes.is_timestamp(type_) or patypes.is_time(type_) or patypes.is_duration(type_):
        return _from_clock(type_)
    if patypes.is_binary(type_) or patypes.is_large_binary(type_) or patypes.is_fixed_size_binary(type_):
        return lambda scalar: (5, scalar.as_py())
    if patypes.is_binary_view(type_):
        return lambda scalar: (5, scalar.as_py())
    raise DataError(f"values of type {type_} cannot be keys of groups; choose another column")


def _from_float(scalar: pa.Scalar) -> Component:
    value = float(scalar.as_py())
    return NAN if math.isnan(value) else (1, value + 0.0)  # -0.0 + 0.0 is 0.0


def _from_text(scalar: pa.Scalar) -> Component:
    try:
        return 4, scalar.as_py()
    except UnicodeDecodeError:  # writers do not check: keep it apart from others, and printable
        return 4, scalar.as_buffer().to_pybytes().decode("utf-8", "backslashreplace")


def _from_clock(type_: pa.DataType) -> Callable[[pa.Scalar], Component]:
    factor = _NANOSECONDS[type_.unit]
    if patypes.is_timestamp(type_):
        kind = "timestamp" if type_.tz is None else "zoned"
    else:
        kind = "time" if patypes.is_time(type_) else "duration"
    return lambda scalar: (6, (kind, scalar.value * factor))


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
    return _decode_clock(*component[1]) if rank == 6 else component[1]


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
    return _iso_text(kind, count)


def _iso_text(kind: str, count: int) -> str:
    import numpy as np

    if kind == "duration":
        return f"PT{count // 10**9}.{count % 10**9:09d}S"
    if kind == "date":
        return str(np.datetime64(count, "D"))
    seconds, rest = divmod(count, 10**9)
    text = f"{np.datetime64(seconds, 's')}.{rest:09d}"
    if kind == "time":
        return text.partition("T")[2]
    return text + ("Z" if kind == "zoned" else "")
