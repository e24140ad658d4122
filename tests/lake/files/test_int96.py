"""Times of Impala, Hive and Spark that microseconds in 64 bits cannot hold."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import distmom as dm
from distmom.lake import open_lake
from distmom.lake.source import ReadOptions

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
        lambda: dm.describe(bad, "t"),
        lambda: dm.mean(bad, "x", where="t > '2021-01-01'"),
        lambda: dm.mean(bad, "x", by="t"),
    ):
        with pytest.raises(dm.DataError, match=r"a\.parquet: column 't' has INT96 times that 64-bit micro"):
            call()
    assert dm.mean(bad, "x").plain_estimate == 1.0
    assert [one["column"] for one in dm.describe(bad).data["left_out"]] == ["t"]
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


@pytest.mark.parametrize("nanoseconds", [-1, -500_000_000, 86_400_000_000_000, -(2**63)])
def test_nanoseconds_outside_of_a_day(tmp_path: Path, nanoseconds: int) -> None:
    """They count from the day's midnight, also backwards: without a sign they were 584 years later."""
    noon, file = (43_200_000_000_000).to_bytes(8, "little"), write(tmp_path / "a.parquet", [DAY, DAY + 1])
    day = (DAY + 1).to_bytes(4, "little")
    assert file.read_bytes().count(noon + day) == 1
    file.write_bytes(
        file.read_bytes().replace(noon + day, nanoseconds.to_bytes(8, "little", signed=True) + day)
    )
    right = np.datetime64("2020-01-02T00:00", "us") + np.timedelta64(nanoseconds // 1_000, "us")
    first = np.datetime64("2020-01-01T12:00", "us")
    mean = dm.mean(file, "t", where="x = 1").plain_estimate
    assert np.datetime64(mean) == right
    with pytest.raises(dm.NoAnswerError, match="no rows left after the filter"):
        dm.mean(file, "x", where="t > '2100-01-01'")
    assert {np.datetime64(group.group["t"]) for group in dm.mean(file, "x", by="t")} == {first, right}


def both_ways(folder: Path, **options: Any) -> tuple[Path, Path]:
    """One table with INT96 times and with plain ones: texts, nulls, one column that cannot be null."""
    rng = np.random.default_rng(0)
    times = np.datetime64("2024-01-01", "us") + rng.integers(-(10**17), 10**15, 5_000).astype("m8[us]")
    table = pa.table(
        {
            "k": pa.array(rng.choice(["a", "b", "c"], 5_000)),
            "t": pa.array(times, mask=rng.random(5_000) < 0.2),
            "u": pa.array(times[::-1].copy()),
            "x": rng.normal(size=5_000),
        },
    )
    table = table.cast(table.schema.set(2, table.schema.field("u").with_nullable(False)))
    files = folder / "plain/a.parquet", folder / "int96/a.parquet"  # of one name, on which blocks depend
    for file in files:
        file.parent.mkdir()
        pq.write_table(table, file, use_deprecated_int96_timestamps=file.parent.name == "int96", **options)
    return files


def same(plain: Path, int96: Path, **scanned: Any) -> None:
    """The same means, conditions and groups, of one such column, of two, and of one beside others."""
    calls: list[dict[str, Any]] = [
        {"column": "t"},
        {"column": ["u", "x", "t"]},
        {"column": ["x", "t"], "by": "k"},
        {"column": "x", "where": "t < '2020-01-01' and u > '0500-01-01'"},
    ]
    for call in calls:
        found = [dm.mean(dm.scan(file, **scanned), **call, rng=0) for file in (plain, int96)]
        tables = [
            [one] if isinstance(one, dm.MeanResult) else list(one)  # type: ignore[call-overload]
            for one in found
        ]
        for right, ours in zip(*tables, strict=True):
            assert (ours.estimate, ours.n_used, ours.n_null) == (right.estimate, right.n_used, right.n_null)


@pytest.mark.parametrize("batch_rows", [70, 640, 131_072])
def test_they_are_read_as_plain_times_are(tmp_path: Path, batch_rows: int) -> None:
    """Row groups cut the batches of dictionaries, not those of times."""
    same(*both_ways(tmp_path, row_group_size=999), batch_rows=batch_rows)


@pytest.mark.parametrize("codec", ["none", "snappy", "gzip", "zstd", "lz4", "brotli", "hadoop"])
def test_under_each_compression(tmp_path: Path, codec: str) -> None:
    plain, int96 = both_ways(tmp_path, compression="lz4" if codec == "hadoop" else codec)
    if codec == "hadoop":  # the older number of LZ4, under which readers try both framings
        data = int96.read_bytes()
        old, new = (b"\x18\x01t\x15" + number for number in (b"\x0e", b"\x0a"))
        assert data.count(old) == 1
        int96.write_bytes(data.replace(old, new))
        assert pq.read_metadata(int96).row_group(0).column(1).compression == "UNKNOWN"
    same(plain, int96)


def test_of_part_of_a_file(tmp_path: Path) -> None:
    """Files are cut into parts, of which each reads the row groups that it needs."""
    plain, int96 = both_ways(tmp_path, row_group_size=500)
    found = []
    for file in (plain, int96):
        source = open_lake(file)
        reader = source.reader(ReadOptions(("t", "x"), batch_rows=300))
        (file_,) = source.files
        parts = [batch for begin in (0, 700) for batch in reader.batches(file_, begin, begin + 1_300)]
        valid = np.concatenate([batch.valid[0] for batch in parts])
        found.append([np.concatenate([batch.values[c] for batch in parts])[valid] for c in (0, 1)])
    assert 2_000 < found[0][0].size < 2_600
    np.testing.assert_array_equal(found[0], found[1])


def test_damage_within_their_pages_is_named(tmp_path: Path) -> None:
    _, file = both_ways(tmp_path, compression="none", use_dictionary=False, write_page_checksum=True)
    chunk, data = pq.read_metadata(file).row_group(0).column(1), bytearray(file.read_bytes())
    data[chunk.data_page_offset + chunk.total_compressed_size // 2] ^= 1
    file.write_bytes(data)
    with pytest.raises(dm.DataError, match=r"a\.parquet is damaged in row group 0, column 't'"):
        dm.mean(file, ["t", "x"])
    assert dm.mean(file, ["u", "x"])[0].n_rows == 5_000


def test_times_that_are_not_shown_are_told_in_profiles(tmp_path: Path) -> None:
    profile = dm.describe(write(tmp_path / "a.parquet", [9_025_588] * 50))["t"]
    assert profile.estimate is None and profile.maximum is None
    assert "a value lies beyond the years 1 to 9999 and is not shown" in profile.notes
    plain = dm.describe(write(tmp_path / "b.parquet", [DAY] * 50))["t"]
    assert not any("beyond the years" in note for note in plain.notes)
