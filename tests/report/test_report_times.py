"""Numbers of a scale as times of Python, Arrow and text."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from distmom.lake.columns.times import DAY, TimeScale
from distmom.report.times import array, arrow_type, readable, stored, text, time_zone, value

NAIVE = TimeScale("timestamp", "us", None, 19_860)  # 2024-05-17
BERLIN = TimeScale("zoned", "ns", "Europe/Berlin", 19_860)
LENGTH = TimeScale("duration", "ns")
OFFSETS = st.one_of(st.floats(-1e25, 1e25), st.sampled_from([math.nan, math.inf, -math.inf]))


def test_a_timestamp() -> None:
    offset = 3600e9 + 250e6 + 1.0
    assert value(NAIVE, offset) == datetime(2024, 5, 17, 1, 0, 0, 250_000)
    assert text(NAIVE, offset) == "2024-05-17T01:00:00.250"
    assert readable(NAIVE, offset, 0) == "2024-05-17 01:00:00"
    assert text(BERLIN, offset) == "2024-05-17T03:00:00.250000001+02:00"
    assert readable(BERLIN, offset, 3) == "2024-05-17 03:00:00.250+02:00"
    moment = value(BERLIN, offset)
    assert isinstance(moment, datetime) and moment == datetime(2024, 5, 17, 1, 0, 0, 250_000, UTC)
    assert moment.tzinfo == ZoneInfo("Europe/Berlin")
    assert stored(BERLIN, offset) == 19_860 * DAY + 3600 * 10**9 + 250_000_001
    assert arrow_type(BERLIN) == pa.timestamp("ns", "Europe/Berlin")
    before = TimeScale("timestamp", "us", None, -1)
    assert text(before, 0.5e9) == "1969-12-31T00:00:00.500"


def test_a_duration() -> None:
    assert value(LENGTH, -1.5e9) == -timedelta(seconds=1.5)
    assert (text(LENGTH, -1.5e9), readable(LENGTH, -1.5e9, 3)) == ("-PT1.500S", "-00:00:01.500")
    assert readable(LENGTH, 1000 * 86_400e9 + 3.7e12, 0) == "1,000 d 01:01:40"
    assert arrow_type(LENGTH) == pa.duration("ns")


@pytest.mark.parametrize("scale", [NAIVE, BERLIN, LENGTH, TimeScale("zoned")], ids=str)
@given(OFFSETS)
def test_all_forms_agree_or_are_missing_together(scale: TimeScale, offset: float) -> None:
    seen, count = value(scale, offset), stored(scale, offset)
    if seen is None:
        assert count is text(scale, offset) is None and readable(scale, offset, 3) == "-"
        assert np.isnat(array(scale, np.array([offset]))).all()
        return
    zero = {"zoned": datetime(1970, 1, 1, tzinfo=UTC), "timestamp": datetime(1970, 1, 1)}
    microseconds = (seen - zero.get(scale.kind, timedelta(0))) // timedelta(microseconds=1)  # type: ignore
    if count is not None:
        per_count = {"us": 1, "ns": 1000}[scale.unit]
        assert abs(count - microseconds * per_count) <= per_count / 2
        assert array(scale, np.array([offset]))[0].astype(np.int64) == count
    said = text(scale, offset)
    assert said is not None
    if scale.kind != "duration":
        again = datetime.fromisoformat(said)
        assert abs(again - seen) <= timedelta(microseconds=1)  # type: ignore[operator]
    assert readable(scale, offset, 6) != "-"


def test_times_beyond_what_a_form_holds_are_missing_there() -> None:
    for scale, offset in ((NAIVE, 3e20), (NAIVE, -1e20), (TimeScale("duration"), 1e24)):
        assert value(scale, offset) is None and stored(scale, offset) is None
    late = 300 * 366 * 86_400e9  # in 2324, which 64 bits of nanoseconds do not reach
    assert value(BERLIN, late) is not None and stored(BERLIN, late) is None
    assert str(text(BERLIN, late)).startswith("2324-")
    edge = TimeScale("zoned", "us", "America/New_York", -719_162)  # midnight of 0001-01-01 in UTC
    assert value(edge, 0.0) is None, "there it is still the year 0"


def test_zones_of_arrow() -> None:
    assert time_zone("+02:00") == timezone(timedelta(hours=2))
    assert time_zone("-0330") == timezone(-timedelta(hours=3, minutes=30))
    assert time_zone("UTC") is time_zone(None) is time_zone("No/Where") is UTC
    assert time_zone("Asia/Tokyo") == ZoneInfo("Asia/Tokyo")
