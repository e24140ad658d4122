"""Rows of a file that are correlated: the result says so, and its interval pays for it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from flat import flat
from mean_lakes import write

import distmom as dm
from distmom.estimators.mean.notes import PAID, UNPAID


def lake(folder: Path, effect: float, n_files: int = 60, n_rows: int = 200) -> Path:
    """Files whose means differ by `effect` standard deviations of a row."""
    g = np.random.default_rng(3)
    for i in range(n_files):
        write(folder / f"{i:02}.parquet", {"x": g.exponential(size=n_rows) + effect * g.standard_normal()})
    return folder


@pytest.mark.parametrize(
    ("effect", "options", "note", "status"),
    [
        (0.0, {}, None, "ok"),
        (0.05, {}, None, "ok"),  # design effect: 1 + 200 * 0.05**2 = 1.5
        (0.3, {}, PAID, "rows correlated"),
        (0.3, {"interval": "order"}, UNPAID, "rows correlated"),
        (0.3, {"interval": "none"}, PAID, "rows correlated"),
        (0.3, {"n_blocks": 21}, UNPAID, "rows correlated"),
        (0.3, {"contamination": 5}, UNPAID, "rows correlated"),
        (0.3, {"block_by": "file"}, None, "ok"),
        (0.3, {"order": "stored"}, None, "ok"),
    ],
)
def test_file_effects_are_told(
    tmp_path: Path, effect: float, options: dict[str, Any], note: str | None, status: str
) -> None:
    found = flat(dm.mean)(lake(tmp_path, effect), "x", rng=0, **options)
    assert found.status == status
    told = [line for line in found.notes if line.startswith("rows within files")]
    assert [PAID.split("}")[2][:20] in line for line in told] == [note == PAID] if note else not told


def test_the_default_interval_is_that_of_whole_files(tmp_path: Path) -> None:
    folder = lake(tmp_path / "lake", 0.3)
    found, rows = (flat(dm.mean)(folder, "x", rng=0, **more) for more in ({}, {"interval": "order"}))
    assert (
        found.estimate == rows.estimate and found.interval_kind == "clusters" and found.actual_level is None
    )
    low, high = found.interval
    assert low < found.estimate < high and high - low > 2.0 * (rows.interval[1] - rows.interval[0])
    page = tmp_path / "page.html"
    dm.write_results(found, page)
    text = page.read_text()
    assert "Nothing to do" not in text and "rows correlated" in text and "cluster-robust" in text
    assert found.to_dict()["flags"] == ["rows correlated"]
    kept = flat(dm.mean)(folder, "x", rng=0, state=tmp_path / "state")
    assert kept.interval == found.interval and kept.flags == found.flags


def test_few_files_have_no_interval(tmp_path: Path) -> None:
    found = dm.mean(lake(tmp_path, 1.0, n_files=15), "x", rng=0)
    assert found.status == "rows correlated" and found.interval is None
    assert "24 independent files" in str(found.interval_reason)
    nine = dm.mean(lake(tmp_path / "nine", 1.0, n_files=9), "x", rng=0)  # seen by their stretches
    assert nine.status == "rows correlated" and nine.interval is None


def test_groups_pay_for_their_files(tmp_path: Path) -> None:
    g = np.random.default_rng(3)
    for i in range(60):
        shift = np.repeat([0.0, g.standard_normal()], 200)
        write(
            tmp_path / f"{i:02}.parquet", {"x": g.standard_normal(400) + shift, "k": np.repeat([0, 1], 200)}
        )
    alone, alike = dm.mean(tmp_path, "x", by="k", rng=0)
    assert (alone.status, alike.status, alike.interval_kind) == ("ok", "rows correlated", "clusters")


@pytest.mark.slow
def test_the_remedy_holds(tmp_path: Path) -> None:
    """Over lakes of such files the default interval covers their common mean; the one by rows does not."""
    covered = {"auto": 0, "order": 0, "file": 0}
    for seed in range(40):
        g = np.random.default_rng(seed)
        folder = tmp_path / str(seed)
        for i in range(60):
            write(folder / f"{i:02}.parquet", {"x": g.standard_normal(100) + 0.5 * g.standard_normal()})
        for name, options in {
            "auto": {},
            "order": {"interval": "order"},
            "file": {"block_by": "file"},
        }.items():
            found = flat(dm.mean)(folder, "x", rng=seed, confidence_level=0.95, **options)
            covered[name] += found.interval[0] <= 0.0 <= found.interval[1]
    assert min(covered["auto"], covered["file"]) >= 31  # P(Bin(40, 0.95) < 31) = 1e-4
    assert covered["order"] < 31


@pytest.mark.slow
def test_clean_flights_of_a_day_are_alike(demo: Path) -> None:
    found = dm.mean(demo / "clean", "arr_delay", rng=0)
    low, high = found.interval  # 6.61 to 7.12 for independent rows; by 365 files about 4.6 to 9.2
    assert found.flags == ("rows correlated",) and 4.2 < low < 5.0 and 8.8 < high < 9.6
    assert dm.mean(demo / "clean", "distance", rng=0).status == "ok"


def test_weights_and_times_have_the_interval_of_files(tmp_path: Path) -> None:
    g = np.random.default_rng(3)
    for i in range(40):
        x = 1e6 * (g.standard_normal(200) + g.standard_normal())
        times = x.astype("int64").astype("timedelta64[us]")
        write(tmp_path / f"{i:02}.parquet", {"x": np.trunc(x), "t": times, "w": np.full(200, 2.0)})
    found, weighted = (dm.mean(tmp_path, "x", rng=0, **more) for more in ({}, {"weights": "w"}))
    assert weighted.interval == pytest.approx(found.interval, rel=1e-12) and weighted.flags == found.flags
    took = dm.mean(tmp_path, "t", rng=0)
    assert took.flags == ("rows correlated",) and took.interval_kind == "clusters"
    seconds = [end.total_seconds() * 1e6 for end in took.interval]
    assert seconds == pytest.approx(found.interval, abs=1.0)


@pytest.mark.slow
def test_resampled_days_are_covered(demo: Path, tmp_path: Path) -> None:
    """Lakes of days drawn from the year: the interval holds its mean, that of independent rows does not."""
    days = [
        pq.read_table(file, columns=["arr_delay"]) for file in sorted((demo / "clean").rglob("*.parquet"))
    ]
    truth, covered = dm.mean(demo / "clean", "arr_delay", rng=0).plain_estimate, [0, 0]
    g = np.random.default_rng(0)
    for run in range(20):
        folder = tmp_path / str(run)
        folder.mkdir()
        for i, day in enumerate(g.integers(0, len(days), 365)):
            pq.write_table(days[day], folder / f"{i:03}.parquet")
        for way, interval in enumerate(("auto", "order")):
            low, high = dm.mean(folder, "arr_delay", rng=run, interval=interval).interval
            covered[way] += low <= truth <= high
    assert covered[0] >= 17 and covered[1] < 17  # P(Bin(20, 0.99) < 17) = 4e-5
