"""Dates, timestamps and durations as numbers.

A float64 holds whole numbers up to 2**53 exactly. In nanoseconds that is 104 days, while a timestamp of today
lies 1.7e18 of them after 1970, where neighbouring floats are 256 apart. So times are counted in nanoseconds
from midnight (UTC) of a day in the middle of a column's first rows: exactly within 104 days of it, and to
2**-53 of the distance beyond (2 ns at a year, 32 ns at ten). A duration has its own zero.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import numpy as np
import pyarrow as pa
from pyarrow import types as patypes

from distmom.lake.columns.convert import native_values, valid_rows
from distmom.numerics.arrays import Floats, Ints

if TYPE_CHECKING:
    from distmom.lake.columns.schema import Reference
    from distmom.lake.source import ReadOptions

TimeKind = Literal["timestamp", "zoned", "duration"]
Unit = Literal["us", "ns"]

NANOSECONDS = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}
DAY = 86_400 * 10**9


@dataclass(frozen=True)
class TimeScale:
    """What the numbers of a column of times mean: nanoseconds from a day, or of a duration.

    Attributes
    ----------
    kind : {"timestamp", "zoned", "duration"}
        A date is the timestamp of its midnight, as the mean of dates is no date.
    unit : {"us", "ns"}
        Resolution of results: nanoseconds where the column has them.
    zone : str, optional
        The time zone of a ``"zoned"`` column, as Arrow writes it.
    base : int
        Days from 1970 to the day that is 0.
    """

    kind: TimeKind
    unit: Unit = "us"
    zone: str | None = None
    base: int = 0

    @staticmethod
    def of(type_: pa.DataType) -> TimeScale | None:
        """The scale of a type, counted from 1970; None if it is no date, timestamp or duration."""
        if patypes.is_dictionary(type_):
            return TimeScale.of(type_.value_type)
        if patypes.is_date(type_):
            return TimeScale("timestamp")
        unit: Unit = "ns" if getattr(type_, "unit", None) == "ns" else "us"
        if patypes.is_duration(type_):
            return TimeScale("duration", unit)
        if patypes.is_timestamp(type_):
            return TimeScale("timestamp" if type_.tz is None else "zoned", unit, type_.tz)
        return None

    def near(self, array: pa.Array) -> TimeScale:
        """The same counted from the day of an array's lower median: a few strange values do not matter.

        Durations keep their zero.
        """
        if isinstance(array, pa.DictionaryArray):
            array = array.dictionary_decode()
        counts, per_count = stored_counts(array)
        valid = valid_rows(array)
        counts = counts if valid is None else counts[valid]
        if self.kind == "duration" or counts.size == 0:
            return self
        middle = int(np.sort(counts)[(counts.size - 1) // 2])
        return replace(self, base=middle * per_count // DAY)

    def offsets(self, array: pa.Array) -> Floats:
        """Nanoseconds from the day 0, of an array of any unit; anything at null positions."""
        counts, per_count = stored_counts(array)
        away = _differences(counts, self.base * (DAY // per_count))
        return away if per_count == 1 else away * float(per_count)


def with_times(
    options: ReadOptions, references: Mapping[str, Reference], near: Callable[[Reference], TimeScale]
) -> ReadOptions:
    """The options with what the numbers of their columns mean, as far as the types are known.

    A given scale stays where the column is of the same kind; `near` looks at the first values for others.
    """
    given = dict(options.times)
    found = dict(given)
    for name in options.columns:
        reference = references.get(name)
        if reference is None:
            continue
        scale = reference.scale
        if name not in given or kind_of_times(given[name]) != kind_of_times(scale):
            found[name] = None if scale is None else near(reference)
    return replace(options, times=tuple((name, found[name]) for name in options.columns if name in found))


def kind_of_times(scale: TimeScale | None) -> str:
    """Kind of a column's values, as messages name it."""
    if scale is None:
        return "number"
    return "zoned timestamp" if scale.kind == "zoned" else scale.kind


def stored_counts(array: pa.Array) -> tuple[Ints, int]:
    """Stored counts of an array of dates, timestamps or durations, and nanoseconds of one count."""
    if patypes.is_date32(array.type):
        return native_values(array.view(pa.int32())).astype(np.int64), DAY
    per_count = NANOSECONDS["ms" if patypes.is_date64(array.type) else array.type.unit]
    counts: Ints = native_values(array.view(pa.int64()))  # type: ignore[assignment]
    return counts, per_count


def _differences(counts: Ints, base: int) -> Floats:
    """``counts - base``, rounded once to float64, also where int64 does not hold it."""
    if counts.size == 0:
        return np.zeros(0)
    if int(counts.min()) - base >= -(2**63) and int(counts.max()) - base < 2**63:
        return (counts - base).astype(np.float64)
    half = 2**32  # both halves, and the upper one times 2**32, are exact: the sum alone is rounded
    upper, lower = (counts >> 32) - base // half, (counts & (half - 1)) - base % half
    return upper.astype(np.float64) * float(half) + lower.astype(np.float64)


def duration_text(count: int, per_second: int) -> str:
    """ISO 8601 in seconds alone: ``PT3723.500S``, with a minus sign before it where it is negative."""
    seconds, rest = divmod(abs(count), per_second)
    return f"{'-' if count < 0 else ''}PT{seconds}{fraction(rest, per_second)}S"


def fraction(rest: int, per_second: int) -> str:
    """Parts of a second as ``.250``, with three, six or nine digits, or none.

    Examples
    --------
    >>> fraction(250_000, 10**6), fraction(0, 10**6), fraction(250_001, 10**6)
    ('.250', '', '.250001')
    """
    digits = str(per_second + rest)[1:]
    while digits.endswith("000"):
        digits = digits[:-3]
    return f".{digits}" if digits else ""
