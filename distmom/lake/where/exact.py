"""Exact values: literals as fractions, and columns of whole numbers of some unit compared with any number.

Integers, decimals, dates and times are whole counts of a unit. ``count < 2.5`` is ``count <= 2``,
``count = 2.5`` is false, and a number that the type cannot hold is smaller or larger than all that it can:
so no value has to be rounded to be compared.
"""

from __future__ import annotations

import re
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import NamedTuple

import pyarrow as pa
from pyarrow import types as patypes

from distmom.errors import ConfigError
from distmom.lake.columns.times import DAY, NANOSECONDS
from distmom.lake.where.nodes import Literal, Operator

_CLOCK = r"((?:[01]\d|2[0-3]):[0-5]\d(?::[0-5]\d)?)(?:(?<=:\d\d:\d\d)\.(\d{1,9}))?"
_OFFSET = r"(Z|[+-](?:[01]\d|2[0-3])(?::?[0-5]\d)?)"
_TIME_TEXT = re.compile(_CLOCK, re.ASCII)
_DATE_TEXT = re.compile(rf"(\d{{4}}-\d\d-\d\d)(?:[T ]{_CLOCK} ?{_OFFSET}?)?", re.ASCII)
_EPOCH = datetime.fromtimestamp(0, UTC)


def parse_date_text(text: str, column: str) -> tuple[int, bool]:
    """Nanoseconds since 1970 of an ISO date or date and time, and whether it has a zone or offset.

    ConfigError if it is none; it names the column that it is compared with.
    """
    match = _DATE_TEXT.fullmatch(text.strip())
    if match is not None:
        day, clock, fraction, offset = match.groups()
        with suppress(ValueError):  # no such day
            return _nanoseconds(day, clock or "00:00", fraction, offset or "Z"), offset is not None
    raise ConfigError(
        f"where: column {column!r} is compared with {text!r}, which is not a date; "
        "write '2024-01-31' or '2024-01-31T10:30:00'"
    )


def parse_time_text(text: str, column: str) -> int:
    """Nanoseconds since midnight of a time of day.

    ConfigError if it is none; it names the column that it is compared with.
    """
    match = _TIME_TEXT.fullmatch(text.strip())
    if match is None:
        raise ConfigError(
            f"where: column {column!r} is compared with {text!r}, which is not a time; write '10:30:00'"
        )
    clock, fraction = match.groups()
    return _nanoseconds("1970-01-01", clock, fraction, "Z")


def _nanoseconds(day: str, clock: str, fraction: str | None, offset: str) -> int:
    """Since 1970; the digits behind the second are more than Python's times have."""
    since = datetime.fromisoformat(f"{day}T{clock}{offset}") - _EPOCH
    return since // timedelta(seconds=1) * NANOSECONDS["s"] + int((fraction or "").ljust(9, "0"))


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
