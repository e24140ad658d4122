"""Dates, timestamps and durations: averaged as themselves, exactly enough, and given back as times."""

from __future__ import annotations

import csv
import json
from datetime import UTC, date, datetime, timedelta
from fractions import Fraction
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from flat import flat
from mean_lakes import write

import distmom as dm

DAY = 86_400 * 10**9
N = 5_000
START = np.datetime64("2024-05-17T12:34:56.123456789", "ns").astype(np.int64)


def counts(span: int, seed: int = 0, n: int = N) -> np.ndarray:
    """Nanoseconds since 1970, over a span of them."""
    return START + np.random.default_rng(seed).integers(0, span, n)


def exact(values: np.ndarray) -> Fraction:
    return Fraction(sum(map(int, values)), len(values))


def nanoseconds(result: dm.MeanResult) -> int:
    (found,) = result.to_arrow()["plain_estimate"].cast(pa.int64()).to_pylist()
    return int(found)


@pytest.fixture
def table() -> pa.Table:
    g = np.random.default_rng(1)
    return pa.table(
        {
            "zoned": pa.array(counts(10**15), pa.timestamp("ns", "Europe/Berlin")),
            "naive": pa.array(counts(10**15) // 1000, pa.timestamp("us")),
            "day": pa.array(g.integers(19_000, 19_100, N).astype("i4")).cast(pa.date32()),
            "took": pa.array(g.exponential(size=N) * 1e6, pa.float64())
            .cast(pa.int64(), safe=False)
            .cast(pa.duration("us")),
            "x": g.normal(size=N),
            "key": g.integers(0, 3, N),
        }
    )


@pytest.mark.parametrize(("span", "error"), [(10**9, 0), (100 * DAY, 1), (3_650 * DAY, 64)])
def test_the_mean_of_timestamps_is_exact_to_the_nanosecond(span: int, error: int) -> None:
    """Neighbouring floats lie 256 ns apart at a timestamp of today: hence the day to count from."""
    t = counts(span)
    found = dm.mean(pa.table({"t": pa.array(t, pa.timestamp("ns"))}), rng=0)
    assert abs(nanoseconds(found) - exact(t)) <= Fraction(1, 2) + error
    assert abs(int(np.float64(exact(t))) - exact(t)) > 1, "the control: as plain floats"


def test_a_sentinel_in_the_first_row_costs_no_digits() -> None:
    t = counts(10**9)
    t[0] = 0
    found = dm.mean(pa.table({"t": pa.array(t, pa.timestamp("ns"))}), rng=0)
    assert found.flags == ("contaminated",) and found.n_screened_out == 1
    (estimate,) = found.to_arrow()["estimate"].cast(pa.int64()).to_pylist()
    assert abs(estimate - exact(t[1:])) < 10**8
    assert isinstance(found.estimate, datetime) and found.estimate.year == 2024


@pytest.mark.parametrize(
    "options",
    [{}, {"n_blocks": 9, "interval": "cantelli"}, {"scheme": "swor", "n_blocks": 9, "block_size": 99}],
    ids=str,
)
def test_times_are_averaged_as_the_numbers_they_are(options: dict[str, Any]) -> None:
    t = counts(10**15)
    found = flat(dm.mean)(pa.table({"t": pa.array(t, pa.timestamp("ns"))}), rng=0, **options)
    base = (int(np.sort(t[:1024])[511]) // DAY) * DAY
    numbers = flat(dm.mean)({"t": (t - base).astype(float)}, rng=0, **options)
    assert found.numbers == numbers
    low, high = numbers.interval or (0, 0)
    assert found.interval is not None and all(isinstance(end, datetime) for end in found.interval)
    assert (found.interval[1] - found.interval[0]) / timedelta(microseconds=1) == pytest.approx(
        (high - low) / 1e3, abs=2
    )
    assert found.block_estimates.dtype == "M8[ns]" and found.block_estimates.shape == (found.n_blocks,)
    for (k, at, half), (k2, _, half2) in zip(found.path, numbers.path, strict=True):
        assert (
            k == k2
            and isinstance(at, datetime)
            and half / timedelta(microseconds=1) == pytest.approx(half2 / 1e3)
        )


def test_what_python_gets(table: pa.Table) -> None:
    zoned, naive, day, took = dm.mean(table, ["zoned", "naive", "day", "took"], rng=0)
    assert zoned.estimate.tzinfo == ZoneInfo("Europe/Berlin") and zoned.estimate.utcoffset() == timedelta(
        hours=2
    )
    assert naive.estimate.tzinfo is None and naive.estimate.year == 2024
    # the same moments, cut to microseconds, with the same blocks but for the name of the column
    assert abs(zoned.plain_estimate.astimezone(UTC).replace(tzinfo=None) - naive.plain_estimate) < timedelta(
        microseconds=2
    )
    days = table["day"].to_pylist()
    middle = datetime(1970, 1, 1) + sum((d - date(1970, 1, 1) for d in days), timedelta()) / N
    assert isinstance(day.plain_estimate, datetime) and abs(day.plain_estimate - middle) < timedelta(
        milliseconds=1
    )
    assert isinstance(took.estimate, timedelta) and timedelta(0) < took.interval[0] < took.estimate
    assert took.block_estimates.dtype == "m8[us]"
    assert [r.type for r in (zoned, naive, day, took)] == [
        "timestamp[ns, tz=Europe/Berlin]",
        "timestamp[us]",
        "timestamp[us]",
        "duration[us]",
    ]
    assert took == dm.mean(table, "took", rng=0) and took != naive


def test_json(table: pa.Table) -> None:
    found = dm.mean(table, ["zoned", "took", "x"], rng=0)
    zoned, took, x = json.loads(json.dumps(found.to_dict(), allow_nan=False))["results"]
    assert zoned["type"] == "timestamp[ns, tz=Europe/Berlin]" and x["type"] == "double"
    assert zoned["estimate"].endswith("+02:00") and len(zoned["estimate"]) == len(
        "2024-05-17T12:34:56.123456789+02:00"
    )
    assert datetime.fromisoformat(zoned["interval"][0]) <= datetime.fromisoformat(zoned["estimate"])
    assert took["estimate"] == f"PT{found[1].estimate.total_seconds():.6f}S"
    assert isinstance(x["estimate"], float)
    grouped = dm.mean({"t": [1.0] * 20, "k": [timedelta(seconds=90)] * 20}, "t", by="k", rng=0)
    assert grouped.to_dict()["results"][0]["group"] == {"k": "PT90S"}


def test_arrow_tables_of_one_kind_and_of_several(table: pa.Table, tmp_path: Path) -> None:
    alone = dm.mean(table, "zoned", by="key", rng=0).to_arrow()
    for name in ("estimate", "interval_low", "interval_high", "plain_estimate"):
        assert alone.schema.field(name).type == pa.timestamp("ns", "Europe/Berlin")
    assert dm.mean(table, "took", rng=0).to_arrow().schema.field("estimate").type == pa.duration("us")
    found = dm.mean(table, ["x", "zoned", "naive", "day", "took"], rng=0)
    mixed = found.to_arrow()
    types = {n: str(mixed.schema.field(n).type) for n in mixed.schema.names if n.startswith("estimate")}
    assert types == {
        "estimate": "double",
        "estimate_time": "timestamp[us]",
        "estimate_zoned": "timestamp[ns, tz=Europe/Berlin]",
        "estimate_duration": "duration[us]",
    }
    filled = [[v is not None for v in mixed[name].to_pylist()] for name in types]
    assert np.array(filled).astype(int).tolist() == [
        [1, 0, 0, 0, 0],
        [0, 0, 1, 1, 0],
        [0, 1, 0, 0, 0],
        [0, 0, 0, 0, 1],
    ]
    dm.write_results(found, tmp_path / "out.parquet")
    assert pq.read_table(tmp_path / "out.parquet")["estimate_zoned"].equals(mixed["estimate_zoned"])
    zones = pa.table(
        {"a": table["zoned"], "b": table["zoned"].cast(pa.timestamp("us", "Asia/Tokyo"), safe=False)}
    )
    both = dm.mean(zones, ["a", "b"], rng=0).to_arrow()
    assert both.schema.field("estimate").type == pa.timestamp("us", "UTC")


def test_files_for_people(table: pa.Table, tmp_path: Path) -> None:
    found = dm.mean(table, ["x", "zoned", "took"], rng=0)
    dm.write_results(found, tmp_path / "out.csv")
    rows = list(csv.DictReader((tmp_path / "out.csv").read_text().splitlines()))
    assert rows[2]["estimate_duration"].startswith("PT") and rows[1]["estimate_zoned"].startswith("2024-05-2")
    dm.write_results(found, tmp_path / "out.html")
    assert "2024-05-2" in (tmp_path / "out.html").read_text()
    text = str(found).splitlines()
    assert "2024-05-2" in text[3] and "+02:00" in text[3] and text[3].rstrip().endswith("ok")
    assert "00:00:0" in text[4]
    alone = str(dm.mean(pa.table({"t": pa.array(counts(10**6), pa.timestamp("ns"))}), rng=0)).splitlines()[2]
    # within one day the second end of an interval is told by its clock
    assert alone.count("2024-05-17") == 3 and alone.count("12:34:56.12") == 4


def test_nulls_constants_and_no_answer(tmp_path: Path) -> None:
    moment = datetime(2024, 2, 29, 12, tzinfo=UTC)
    write(
        tmp_path / "a.parquet", {"t": pa.array([moment] * 100 + [None] * 7), "n": pa.nulls(107, pa.date32())}
    )
    found = dm.mean(tmp_path, "t", rng=0)
    assert (found.estimate, found.interval) == (moment, (moment, moment))
    assert (found.n_null, found.n_used, found.status) == (7, 100, "ok")
    with pytest.raises(dm.NoAnswerError, match=r"'n': none of the 107 rows has a value"):
        dm.mean(tmp_path, "n", rng=0)
    both = dm.mean(tmp_path, ["t", "n"], rng=0)
    assert both[1].estimate is None and both[1].to_dict()["estimate"] is None
    assert both.to_arrow()["estimate_time"].to_pylist()[1] is None and "no rows" in str(both)


def test_times_beyond_the_calendar_are_not_shown() -> None:
    seconds = np.where(np.arange(2_000) % 2, 250_000_000_000, -60_000_000_000)  # the years 9892 and 68
    found = dm.mean(
        pa.table({"t": pa.array(seconds, pa.timestamp("s"))}), interval="cantelli", rng=0, blocks=9
    )
    assert isinstance(found.estimate, datetime)
    far = dm.mean(
        pa.table({"t": pa.array(seconds * 1_000, pa.timestamp("s"))}), interval="cantelli", rng=0, blocks=9
    )
    assert far.estimate is None and far.interval is None
    assert far.interval_reason == far.notes[-1] and "9999" in far.notes[-1]
    assert "-" in str(far) and far.to_dict()["estimate"] is None


def test_python_lists_and_numpy_arrays_of_times() -> None:
    moments = [datetime(2024, 1, 1) + timedelta(hours=i) for i in range(10)]
    assert dm.mean(moments, rng=0).plain_estimate == datetime(2024, 1, 1, 4, 30)
    days = np.array(["2024-01-01", "2024-01-02"], "M8[D]")
    assert dm.mean(days, rng=0).plain_estimate == datetime(2024, 1, 1, 12)
    assert dm.mean(np.array([1, 2], "m8[h]"), rng=0).plain_estimate == timedelta(hours=1.5)


def test_a_state_keeps_the_day_from_which_it_counts(tmp_path: Path) -> None:
    """A later run goes on with it, whatever file comes first then, and another type is refused."""
    lake, state = tmp_path / "lake", tmp_path / "t.state"
    lake.mkdir()

    def day(number: int) -> None:
        start = np.datetime64("2020-03-01", "us") + np.timedelta64(100 * number, "D")
        times = start + np.random.default_rng(number).integers(0, 10**10, 500).astype("timedelta64[us]")
        pq.write_table(pa.table({"t": times, "d": times - times[0]}), lake / f"{number}.parquet")

    for number in (3, 4):
        day(number)
    dm.mean(lake, ["t", "d"], rng=0, state=state)
    for number in (5, 6):
        day(number)
    grown, whole = dm.mean(lake, ["t", "d"], rng=0, state=state), dm.mean(lake, ["t", "d"], rng=0)
    shown = dm.merge_states(state)
    for one, other, third in zip(grown, whole, shown, strict=True):
        assert one == other and one == third
    assert grown.data["state"]["n_files_read"] == 2
    day(1)  # sorts before the first file: counted from the state's day, not from its own
    again = dm.mean(lake, ["t", "d"], rng=0, state=state)
    fresh = dm.mean(lake, ["t", "d"], rng=0)
    assert abs(again[0].plain_estimate - fresh[0].plain_estimate) <= timedelta(microseconds=1)
    numbers = tmp_path / "numbers.state"
    other = tmp_path / "other"
    other.mkdir()
    pq.write_table(pa.table({"t": np.arange(100.0), "d": np.arange(100.0)}), other / "a.parquet")
    dm.mean(other, ["t", "d"], rng=0, state=numbers)
    with pytest.raises(dm.ConfigError, match="column 't' was 'numbers', now 'timestamps'"):
        dm.mean(lake, ["t", "d"], rng=0, state=numbers)
