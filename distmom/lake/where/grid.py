"""Exact comparisons of a column of whole numbers of some unit with any number.

Integers, decimals, dates and times are whole counts of a unit. ``count < 2.5`` is ``count <= 2``,
``count = 2.5`` is false, and a number that the type cannot hold is smaller or larger than all that it can:
so no value has to be rounded to be compared.
"""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import NamedTuple

import pyarrow as pa
from pyarrow import types as patypes

from distmom.lake.where.nodes import Literal, Operator
from distmom.lake.where.times import DAY, SECOND, parse_date_text, parse_time_text

_UNITS = {"s": SECOND, "ms": 1_000_000, "us": 1_000, "ns": 1}


class Grid(NamedTuple):
    """Counts that a type holds, and how many of them make 1 (or, for dates and times, one nanosecond)."""

    per_one: Fraction
    low: int
    high: int


def grid_of(type_: pa.DataType) -> Grid | None:
    """Grid of a type; None for types that are no counts (floats, texts, booleans)."""
    if patypes.is_integer(type_):
        return Grid(Fraction(1), *_bounds(type_.bit_width, patypes.is_signed_integer(type_)))
    if patypes.is_decimal(type_):
        largest = 10**type_.precision - 1
        return Grid(Fraction(10) ** type_.scale, -largest, largest)
    if patypes.is_date32(type_):
        return Grid(Fraction(1, DAY), *_bounds(32, True))
    if patypes.is_date64(type_):
        return Grid(Fraction(1, _UNITS["ms"]), *_bounds(64, True))
    if patypes.is_timestamp(type_) or patypes.is_time(type_):
        return Grid(Fraction(1, _UNITS[type_.unit]), *_bounds(type_.bit_width, True))
    return None


def exact_value(literal: Literal, type_: pa.DataType, column: str) -> Fraction:
    """A literal as a number, or as nanoseconds where the type is one of dates or times."""
    value = literal.value
    if isinstance(value, str):
        if patypes.is_time(type_):
            return Fraction(parse_time_text(value, column))
        return Fraction(parse_date_text(value, column)[0])
    return Fraction(value if isinstance(value, (int, Decimal)) else int(value))


def on_grid(operator: Operator, value: Fraction, grid: Grid) -> tuple[Operator, int] | bool:
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
