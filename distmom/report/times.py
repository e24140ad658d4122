"""Numbers on a `TimeScale` as times: for Python, for Arrow, or as text.

Every function takes the computed offset in nanoseconds, so that each form is rounded once.
"""

from __future__ import annotations

import math
import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from distmom.lake.columns.times import DAY, NANOSECONDS, TimeScale, duration_text, fraction
from distmom.numerics.arrays import Floats
from distmom.numerics.rung import Rung
from distmom.report.kinds.mean import MeanResult
from distmom.report.kinds.profile import ColumnProfile, Quantile

T = TypeVar("T", "MeanResult", "ColumnProfile")

DIGITS = {0: 1e11, 3: 1e8, 6: 1e5}
"""Digits of a second shown for times, by the smallest width of their interval in nanoseconds."""

MOMENTS = ("estimate", "plain_estimate", "other_estimate", "minimum", "maximum")
LENGTHS = ("robust_std", "plain_std", "gini", "skewness_shift", "skewness_noise")
"""Fields that are times, and differences of times."""

BEYOND = "a value lies beyond the years 1 to 9999 and is not shown"
NAT = -(2**63)
"""NumPy's value for a missing time."""


def as_times(result: T, scale: TimeScale) -> T:
    """Convert a result or profile in nanoseconds to one of times; the numbers are kept in `offsets`."""
    length = replace(scale, kind="duration", base=0)
    low, high = (value(scale, end) for end in result.interval or (None, None))
    interval = None if low is None or high is None else (low, high)
    given: dict[str, Any] = {"interval": interval, "scale": scale, "offsets": result}
    for names, unit in ((MOMENTS, scale), (LENGTHS, length)):
        given |= {name: value(unit, getattr(result, name)) for name in names if hasattr(result, name)}
    if isinstance(result, ColumnProfile):
        given["quantiles"] = tuple(
            Quantile(q.share, *(value(scale, number) for number in q[1:])) for q in result.quantiles
        )
    ends: list[Any] = [
        getattr(result, name, None) for name in ("estimate", "plain_estimate", "minimum", "maximum")
    ]
    numbers = [float(number) for number in (*ends, *(result.interval or ())) if number is not None]
    if any(math.isfinite(number) and value(scale, number) is None for number in numbers):
        given["notes"] = (*result.notes, BEYOND)
    if isinstance(result, MeanResult):
        if result.interval and interval is None:
            given["interval_reason"] = BEYOND
        given["block_estimates"] = array(scale, result.block_estimates)
        given["path"] = tuple(Rung(k, value(scale, v), value(length, half)) for k, v, half in result.path)
    return replace(result, **given)


def value(scale: TimeScale, offset: float | None) -> datetime | timedelta | None:
    """A datetime or timedelta, in microseconds; None if not finite or beyond their range."""
    count = _count(scale, offset, NANOSECONDS["us"])
    return None if count is None else _of_microseconds(scale, count)


def array(scale: TimeScale, offsets: Floats) -> NDArray[Any]:
    """A datetime64 (in UTC) or timedelta64 array, with NaT for missing times."""
    found = [stored(scale, offset) for offset in offsets.tolist()]
    kind = "m8" if scale.kind == "duration" else "M8"
    return np.array([NAT if n is None else n for n in found], np.int64).view(f"{kind}[{scale.unit}]")


def stored(scale: TimeScale, offset: float | None) -> int | None:
    """Arrow's stored value in the scale's unit; None also if it exceeds int64."""
    count = _count(scale, offset, NANOSECONDS[scale.unit])
    return count if count is not None and abs(count) < 2**63 and value(scale, offset) is not None else None


def arrow_type(scale: TimeScale) -> pa.DataType:
    """Type of a column of results."""
    return pa.duration(scale.unit) if scale.kind == "duration" else pa.timestamp(scale.unit, scale.zone)


def text(scale: TimeScale, offset: float | None) -> str | None:
    """ISO 8601: ``2024-05-17T12:30:00.250+02:00``, or seconds as ``PT3723.500S``; None as for `value`."""
    count = _count(scale, offset, NANOSECONDS[scale.unit])
    if count is None or value(scale, offset) is None:
        return None
    per_second = 10**9 // NANOSECONDS[scale.unit]
    return duration_text(count, per_second) if scale.kind == "duration" else _moment(scale, count, per_second)


def readable(scale: TimeScale, offset: float | None, digits: int) -> str:
    """For people: ``2024-05-17 12:30:00.250+02:00``, ``1 d 01:02:03.500``; a dash for None.

    Parameters
    ----------
    scale : TimeScale
    offset : float or None
    digits : int
        Most digits of a second; the last one is rounded.
    """
    count = _count(scale, offset, 10 ** (9 - digits))
    if count is None or value(scale, offset) is None:
        return "-"
    if scale.kind != "duration":
        return (_moment(scale, count, 10**digits) or "-").replace("T", " ")
    seconds, rest = divmod(abs(count), 10**digits)
    days, seconds = divmod(seconds, 86_400)
    clock = f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}{fraction(rest, 10**digits)}"
    return f"{'-' if count < 0 else ''}{f'{days:,} d ' if days else ''}{clock}"


def shown(numbers: MeanResult | ColumnProfile, scale: TimeScale) -> tuple[str, str, str]:
    """Estimate, interval and sample mean of a result in nanoseconds, with digits that suit the interval."""
    low, high = numbers.interval or (None, None)
    digits = 3 if low is None else next((n for n, least in DIGITS.items() if high - low >= least), 9)
    estimate, begin, end, plain = (
        readable(scale, offset, digits) for offset in (numbers.estimate, low, high, numbers.plain_estimate)
    )
    if scale.kind != "duration" and begin[:11] == end[:11]:  # on the same day
        begin, end = begin.removesuffix(end[19:].lstrip(".0123456789")), end[11:]
    return estimate, "-" if low is None else f"{begin} … {end}", plain


def _count(scale: TimeScale, offset: float | None, nanoseconds: int) -> int | None:
    """Count since 1970, or of a duration, in units of `nanoseconds`; None if not finite."""
    if offset is None or not math.isfinite(offset):
        return None
    return scale.base * (DAY // nanoseconds) + round(offset / nanoseconds)


def _of_microseconds(scale: TimeScale, count: int) -> datetime | timedelta | None:
    try:
        span = timedelta(microseconds=count)
        if scale.kind == "duration":
            return span
        if scale.kind == "timestamp":
            return datetime(1970, 1, 1) + span
        return (datetime(1970, 1, 1, tzinfo=UTC) + span).astimezone(time_zone(scale.zone))
    except OverflowError:
        return None


def _moment(scale: TimeScale, count: int, per_second: int) -> str | None:
    seconds, rest = divmod(count, per_second)
    whole = _of_microseconds(scale, seconds * 10**6)
    if not isinstance(whole, datetime):
        return None
    words = whole.isoformat()
    return words[:19] + fraction(rest, per_second) + words[19:]


def time_zone(name: str | None) -> tzinfo:
    """The time zone of an Arrow type: a name, or an offset such as ``+02:00``; UTC if it is unknown."""
    offset = re.fullmatch(r"([+-])(\d\d):?(\d\d)", name or "")
    if offset:
        span = timedelta(hours=int(offset[2]), minutes=int(offset[3]))
        return timezone(-span if offset[1] == "-" else span)
    if name in (None, "UTC", "Etc/UTC", "Z"):
        return UTC
    from zoneinfo import ZoneInfo

    try:
        return ZoneInfo(str(name))
    except (KeyError, OSError, ValueError):  # no such name, or no database of zones on this system
        return UTC


def shown_profile(numbers: ColumnProfile, scale: TimeScale) -> tuple[str, ...]:
    """Mean, interval, sample mean, standard deviations and extremes of a profile in nanoseconds."""
    length = replace(scale, kind="duration", base=0)
    stds = (readable(length, offset, 0) for offset in (numbers.robust_std, numbers.plain_std))
    ends = (readable(scale, offset, 0) for offset in (numbers.minimum, numbers.maximum))
    return (*shown(numbers, scale), *stds, *ends)
