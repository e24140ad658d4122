"""Times of Impala, Hive and Spark that microseconds in 64 bits cannot hold."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import distmom as dm

DAY = 2_458_850
"""The Julian day of 2020-01-01."""


def write(path: Path, days: list[int]) -> Path:
    """Times at noon of these Julian days, as INT96: all but the first are put into the bytes."""
    known = np.datetime64("2020-01-01T12:00") + np.zeros(len(days), "m8[us]")
    options = {"compression": "none", "use_dictionary": False, "use_deprecated_int96_timestamps": True}
    pq.write_table(pa.table({"t": known, "x": np.arange(len(days))}), path, **options)
    data, at = bytearray(path.read_bytes()), -1
    for day in days:
        at = data.index(DAY.to_bytes(4, "little"), at + 1)
        data[at : at + 4] = (day % 2**32).to_bytes(4, "little")
    path.write_bytes(data)
    return path


@pytest.mark.parametrize("day", [-1, -2_440_588, 2**31 - 1, 2_440_588 + 106_751_992])
def test_times_that_would_be_wrapped_around_are_refused(tmp_path: Path, day: int) -> None:
    (tmp_path / "lake").mkdir()
    bad = write(tmp_path / "lake/a.parquet", [DAY, day, DAY + 1])
    for call in (
        lambda: dm.mean(bad, "t"),
        lambda: dm.describe(bad),
        lambda: dm.mean(bad, "x", where="t > '2021-01-01'"),
        lambda: dm.mean(bad, "x", by="t"),
    ):
        with pytest.raises(dm.DataError, match=r"a\.parquet: column 't' has INT96 times that 64-bit micro"):
            call()
    assert dm.mean(bad, "x").plain_estimate == 1.0
    write(tmp_path / "lake/b.parquet", [DAY, DAY + 2])
    left = dm.mean(dm.scan(tmp_path / "lake", on_bad_file="skip"), "t")
    assert left.plain_estimate.isoformat() == "2020-01-02T12:00:00"


def test_times_far_away_that_microseconds_hold(tmp_path: Path) -> None:
    """Before the year 1, after 9999, and the last day there is: none of them has wrapped."""
    last = 2_440_588 + 106_751_990
    file = write(tmp_path / "a.parquet", [1_000, DAY, 9_025_588, last])
    assert dm.mean(file, "x", where="t > '2020-01-01'").n_rows == 3
    assert dm.mean(file, "x", where="t > '9999-12-31'").n_rows == 2
    assert dm.mean(file, "x", where="t < '0001-01-01'").n_rows == 1


def test_times_that_are_not_shown_are_told_in_profiles(tmp_path: Path) -> None:
    profile = dm.describe(write(tmp_path / "a.parquet", [9_025_588] * 50))["t"]
    assert profile.estimate is None and profile.maximum is None
    assert "a value lies beyond the years 1 to 9999 and is not shown" in profile.notes
    plain = dm.describe(write(tmp_path / "b.parquet", [DAY] * 50))["t"]
    assert not any("beyond the years" in note for note in plain.notes)
