"""ISO dates and times as exact counts of nanoseconds."""

from __future__ import annotations

import datetime
import re

from distmom.errors import ConfigError

_TIME = r"(\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,9}))?)?"
_TIME_TEXT = re.compile(_TIME, re.ASCII)
_DATE_TEXT = re.compile(rf"(\d{{4}})-(\d\d)-(\d\d)(?:[T ]{_TIME} ?(Z|[+-]\d\d:?\d\d)?)?", re.ASCII)
_EPOCH = datetime.date(1970, 1, 1).toordinal()

SECOND = 1_000_000_000
DAY = 86_400 * SECOND


def parse_date_text(text: str, column: str) -> tuple[int, bool]:
    """Nanoseconds since 1970 of an ISO date or date and time, and whether it has a zone or offset.

    Raises
    ------
    ConfigError
        If it is none; it names the column that it is compared with.
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

    Raises
    ------
    ConfigError
        If it is none; it names the column that it is compared with.
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
