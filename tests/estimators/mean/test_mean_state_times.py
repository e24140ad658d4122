"""States and accumulators of dates, timestamps and durations: they know from which day they count."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import distmom as dm
from distmom.estimators.mean.fingerprint import MOST_DAYS, known_scale
from distmom.lake.columns.times import DAY

NEAR = timedelta(microseconds=1)
"""Sums of rows of ten years are rounded to 32 ns; datetimes to a microsecond."""


def moments(year: int, n: int = 400, seed: int = 0, unit: str = "us") -> pa.Array:
    """Times of one year, some of them null."""
    g = np.random.default_rng([seed, year])
    day = np.datetime64(f"{year}-01-01", "us").astype(np.int64)
    times = (day + g.integers(0, 365 * 86_400 * 10**6, n)).astype("M8[us]")
    return pa.array(times, pa.timestamp("us"), mask=g.random(n) < 0.05).cast(pa.timestamp(unit), safe=False)


def spans(year: int) -> pa.Array:
    """As many durations."""
    return moments(year).cast(pa.int64()).cast(pa.duration("us"))


def store(folder: Path, name: str, **columns: Any) -> None:
    folder.mkdir(exist_ok=True)
    pq.write_table(pa.table(columns), folder / name)


def test_a_lake_of_times_that_grows_is_read_once(tmp_path: Path) -> None:
    lake, state = tmp_path / "lake", tmp_path / "t.state"
    for i, year in enumerate((2020, 2021, 2022)):
        store(lake, f"{i + 1}.parquet", t=moments(year), d=spans(year))
        found = dm.mean(lake, ["t", "d"], rng=0, state=state)
        assert found.data["state"]["n_files_read"] == 1
    whole = dm.mean(lake, ["t", "d"], rng=0)
    assert [a == b for a, b in zip(found, whole, strict=True)] == [True, True]
    assert isinstance(found[0].estimate, datetime) and isinstance(found[1].estimate, timedelta)
    # a file that comes first would decide from which day a new run counts: the state goes on from its own
    store(lake, "0.parquet", t=moments(1990), d=spans(1990))
    grown, new = dm.mean(lake, ["t", "d"], rng=0, state=state), dm.mean(lake, ["t", "d"], rng=0)
    for a, b in zip(grown, new, strict=True):
        assert abs(a.estimate - b.estimate) <= NEAR and abs(a.plain_estimate - b.plain_estimate) <= NEAR
        assert a.n_used == b.n_used and a.n_blocks == b.n_blocks
    (lake / "2.parquet").unlink()
    again = dm.mean(lake, "t", rng=0, state=tmp_path / "other.state")
    afresh = dm.mean(lake, ["t", "d"], rng=0, state=dm.State(state, "restart"))
    assert again == afresh[0]


def test_a_state_of_other_times_is_refused(tmp_path: Path) -> None:
    lake, state = tmp_path / "lake", tmp_path / "t.state"
    store(lake, "0.parquet", t=moments(2020))
    dm.mean(lake, "t", rng=0, state=state)
    before = state.read_bytes()
    store(lake, "0.parquet", t=moments(2020).cast(pa.int64()))
    with pytest.raises(dm.ConfigError, match="column 't' was 'timestamps', now 'numbers'"):
        dm.mean(lake, "t", rng=0, state=dm.State(state, "restart"))
    store(lake, "0.parquet", t=moments(2020).cast(pa.timestamp("us", "UTC")))
    with pytest.raises(dm.ConfigError, match="now 'zoned timestamps'"):
        dm.mean(lake, "t", rng=0, state=state)
    assert state.read_bytes() == before


def test_states_that_count_from_different_days_merge(tmp_path: Path) -> None:
    for year in (2001, 2024):
        columns = {"t": moments(year), "w": np.arange(400.0), "k": np.arange(400) % 2}
        store(tmp_path / "all", f"{year}.parquet", **columns)
    for options in ({}, {"weights": "w"}, {"by": "k"}):
        for year in (2001, 2024):
            state = tmp_path / f"{year}.state"
            state.unlink(missing_ok=True)
            dm.mean(f"{tmp_path}/all/{year}*", "t", rng=0, state=state, **options)
        states = [tmp_path / f"{year}.state" for year in (2024, 2001)]
        merged = dm.merge_states(*states, output=tmp_path / "m.state")
        whole = dm.mean(tmp_path / "all", "t", rng=0, **options)
        shown = dm.merge_states(tmp_path / "m.state")
        for a, b, c in zip(dm.Results.of(merged), dm.Results.of(whole), dm.Results.of(shown), strict=True):
            assert abs(a.estimate - b.estimate) <= NEAR and abs(a.plain_estimate - b.plain_estimate) <= NEAR
            assert a.n_used == b.n_used and a.status == b.status
            assert all(abs(x - y) <= NEAR for x, y in zip(a.interval, b.interval, strict=True))
            assert a == c


def test_a_column_may_be_null_before_its_first_times(tmp_path: Path) -> None:
    lake, state = tmp_path / "lake", tmp_path / "t.state"
    store(lake, "0.parquet", t=pa.nulls(50), x=np.arange(50.0))
    dm.mean(lake, ["t", "x"], rng=0, state=state)
    store(lake, "1.parquet", t=moments(2020), x=np.arange(400.0))
    found = dm.mean(lake, ["t", "x"], rng=0, state=state)
    assert found[0] == dm.mean(lake, "t", rng=0) and isinstance(found[0].estimate, datetime)


@pytest.mark.parametrize(
    "kind", [pa.timestamp("us"), pa.timestamp("ns"), pa.timestamp("s", "UTC"), pa.date32(), pa.duration("ns")]
)
def test_an_accumulator_takes_times(kind: pa.DataType) -> None:
    times = moments(2020, 3_000)
    times = (times.cast(pa.int64()) if kind == pa.duration("ns") else times).cast(kind, safe=False)
    table = pa.table({"t": times})
    stream = dm.MeanAccumulator("t", rng=0)
    stream.update(pa.table({"t": pa.nulls(0, times.type)}))  # tells the type, but no day
    stream.update(pa.table({"t": pa.nulls(0)}))
    for start in (0, 1_024, 1_500):  # a run, too, counts from the middle of the first 1,024 rows
        stop = {0: 1_024, 1_024: 1_500}.get(start, 3_000)
        stream.update(table.slice(start, stop - start))
    found = stream.result()
    assert found == dm.mean(table, rng=0)
    assert dm.MeanAccumulator.from_bytes(stream.to_bytes()).result() == found
    with pytest.raises(dm.DataError, match="column 't' holds numbers in this batch"):
        stream.update({"t": np.arange(3.0)})
    assert stream.result() == found


def test_accumulators_that_count_from_different_days_merge() -> None:
    tables = {year: pa.table({"t": moments(year, 2_000)}) for year in (1999, 2025)}
    streams = {year: dm.MeanAccumulator("t", rng=0, name=str(year)) for year in (*tables, 0)}
    for year, table in tables.items():
        streams[year].update(table)
    streams[0].merge(streams[1999])  # has no rows of its own, hence no day
    streams[0].merge(streams[2025])
    found = streams[0].result()
    plain = pa.concat_arrays([t["t"].combine_chunks() for t in tables.values()]).drop_null().cast(pa.int64())
    exact = sum(plain.to_pylist()) / len(plain)
    assert found.n_used == len(plain)
    assert abs(found.plain_estimate - (datetime(1970, 1, 1) + timedelta(microseconds=exact))) <= 2 * NEAR
    numbers = dm.MeanAccumulator("t", rng=0, name="numbers")
    numbers.update({"t": np.arange(9.0)})
    with pytest.raises(dm.ConfigError, match="column 't' was 'numbers', here 'timestamps'"):
        streams[0].merge(numbers)


def test_points_in_time_are_no_weights_of_an_accumulator() -> None:
    stream = dm.MeanAccumulator("x", weights="w", rng=0)
    with pytest.raises(dm.DataError, match="weights: column 'w' holds points in time"):
        stream.update(pa.table({"x": np.arange(400.0), "w": moments(2020)}))
    assert stream.n_rows == 0
    spans = np.arange(1, 401).astype("m8[s]")
    stream.update({"x": np.arange(400.0), "w": spans})
    weights = np.arange(1.0, 401.0)
    assert stream.result().plain_estimate == pytest.approx(np.average(np.arange(400.0), weights=weights))


def test_a_scale_that_is_none_is_refused() -> None:
    good = {"kind": "timestamp", "unit": "us", "zone": None, "base": 3}
    assert known_scale(**good).base * DAY == 3 * DAY
    for change in ({"kind": "week"}, {"unit": "h"}, {"zone": 3}, {"base": 1.0}, {"base": MOST_DAYS + 1}):
        with pytest.raises(ValueError, match=r"not a scale|not a day"):
            known_scale(**{**good, **change})
