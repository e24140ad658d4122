"""Exact values: literals as fractions, and columns of whole numbers of some unit compared with any number.

Integers, decimals, dates and times are whole counts of a unit. ``count < 2.5`` is ``count <= 2``,
``count = 2.5`` is false, and a number that the type cannot hold is smaller or larger than all that it can:
so no value has to be rounded to be compared.
"""

from __future__ import annotations

import datetime
import re
from decimal import Decimal
from fractions import Fraction
from typing import NamedTuple

import pyarrow as pa
from pyarrow import types as patypes

from distmom.errors import ConfigError
from distmom.lake.columns.times import DAY, NANOSECONDS
from distmom.lake.where.nodes import Literal, Operator

_TIME = r"(\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,9}))?)?"
_TIME_TEXT = re.compile(_TIME, re.ASCII)
_DATE_TEXT = re.compile(rf"(\d{{4}})-(\d\d)-(\d\d)(?:[T ]{_TIME} ?(Z|[+-]\d\d:?\d\d)?)?", re.ASCII)
_EPOCH = datetime.date(1970, 1, 1).toordinal()

SECOND = NANOSECONDS["s"]


def parse_date_text(text: str, column: str) -> tuple[int, bool]:
    """Nanoseconds since 1970 of an ISO date or date and time, and whether it has a zone or offset.

    ConfigError if it is none; it names the column that it is compared with.
    """
    match = _DATE_TEXT.fullmatch(text.strip())
    if match is not None:
        year, month, day, *clock, offset = match.groups()
        try:
            days = datetime.date(int(year), int(month), int(day)).toordinal() - _EPOCH
            nanoseconds = days * DAY + (_clock(clock) if clock[0] is not None else 0) - _offset(offset)
        except ValueError:
            pass
        else:
            return nanoseconds, offset is not None
    raise ConfigError(
        f"where: column {column!r} is compared with {text!r}, which is no date; "
        "write '2024-01-31' or '2024-01-31T10:30:00'"
    )


def parse_time_text(text: str, column: str) -> int:
    """Nanoseconds since midnight of a time of day.

    ConfigError if it is none; it names the column that it is compared with.
    """
    match = _TIME_TEXT.fullmatch(text.strip())
    if match is not None:
        try:
            return _clock(list(match.groups()))
        except ValueError:
            pass
    raise ConfigError(
        f"where: column {column!r} is compared with {text!r}, which is no time; write '10:30:00'"
    )


def _clock(parts: list[str | None]) -> int:
    hours, minutes, seconds = (int(part or 0) for part in parts[:3])
    if hours > 23 or minutes > 59 or seconds > 59:
        raise ValueError("out of range")
    return ((hours * 60 + minutes) * 60 + seconds) * SECOND + int((parts[3] or "").ljust(9, "0"))


def _offset(text: str | None) -> int:
    if text is None or text == "Z":
        return 0
    hours, minutes = int(text[1:3]), int(text[-2:])
    if hours > 23 or minutes > 59:
        raise ValueError("out of range")
    return (-1 if text[0] == "-" else 1) * (hours * 60 + minutes) * 60 * SECOND


class UnitGrid(NamedTuple):
    """Counts that a type holds, and how many of them make 1 (or, for dates and times, one nanosecond)."""

    per_one: Fraction
    low: int
    high: int


def grid_of(type_: pa.DataType) -> UnitGrid | None:
    """UnitGrid of a type; None for types that are no counts (floats, texts, booleans)."""
    if patypes.is_integer(type_):
        return UnitGrid(Fraction(1), *_bounds(type_.bit_width, patypes.is_signed_integer(type_)))
    if patypes.is_decimal(type_):
        largest = 10**type_.precision - 1
        return UnitGrid(Fraction(10) ** type_.scale, -largest, largest)
    if patypes.is_date32(type_):
        return UnitGrid(Fraction(1, DAY), *_bounds(32, True))
    if patypes.is_date64(type_):
        return UnitGrid(Fraction(1, NANOSECONDS["ms"]), *_bounds(64, True))
    if patypes.is_timestamp(type_) or patypes.is_time(type_):
        return UnitGrid(Fraction(1, NANOSECONDS[type_.unit]), *_bounds(type_.bit_width, True))
    return None


def exact_value(literal: Literal, type_: pa.DataType, column: str) -> Fraction:
    """A literal as a number, or as nanoseconds where the type is one of dates or times."""
    value = literal.value
    if isinstance(value, str):
        if patypes.is_time(type_):
            return Fraction(parse_time_text(value, column))
        return Fraction(parse_date_text(value, column)[0])
    return Fraction(value if isinstance(value, (int, Decimal)) else int(value))


def on_grid(operator: Operator, value: Fraction, grid: UnitGrid) -> tuple[Operator, int] | bool:
    """The same comparison with a count that the type holds, or its outcome where it is the same for all."""
    count = value * grid.per_one
    floor = count.numerator // count.denominator
    if count.denominator != 1:
        if operator in ("=", "!="):
            return operator == "!="
        operator = "<=" if operator in ("<", "<=") else ">"
    if floor > grid.high:
        return operator in ("<", "<=", "!=")
    if floor < grid.low:
        return operator in (">", ">=", "!=")
    return operator, floor


def _bounds(bits: int, signed: bool) -> tuple[int, int]:
    return (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if signed else (0, 2**bits - 1)
