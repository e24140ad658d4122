"""Rows that resemble their neighbours: in folders, in runs of a table, in sorted lakes, and in vectors."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from mean_lakes import write
from scipy.signal import lfilter

import distmom as dm


def series(n: int, one: float, seed: int = 0) -> np.ndarray:
    """An autoregressive series of mean 0 and variance 1."""
    noise = np.random.default_rng(seed).standard_normal(n + 1_000) * np.sqrt(1.0 - one * one)
    return np.asarray(lfilter([1.0], [1.0, -one], noise)[1_000:])


def days(folder: Path, effect: float, n_days: int = 70) -> Path:
    """Three files a day, whose rows are alike in columns x and y, and not in z."""
    g = np.random.default_rng(7)
    for day in range(n_days):
        shift = g.standard_normal(2)
        for part in range(3):
            rows = g.standard_normal((3, 60))
            rows[:2] += effect * shift[:, None]
            write(folder / f"day={day}" / f"part-{part}.parquet", dict(zip("xyz", rows, strict=True)))
    return folder


@pytest.mark.filterwarnings("ignore::distmom.DoubtfulResultWarning")
def test_a_table_of_neighbours_pays_for_them() -> None:
    x = series(40_000, 0.9)
    found, rows = dm.mean(x, rng=0), dm.mean(x, interval="order", rng=0)
    assert found.flags == rows.flags == ("rows correlated",) and found.interval_kind == "clusters"
    assert "stretches of" in found.notes[0] and found.interval[0] < 0.0 < found.interval[1]
    wider = (found.interval[1] - found.interval[0]) / (rows.interval[1] - rows.interval[0])
    assert 2.5 < wider < 6.0  # the root of the design effect of 19, about
    shuffled = dm.mean(np.random.default_rng(1).permutation(x), rng=0)
    assert shuffled.status == "ok" and shuffled.interval_kind == "order"


@pytest.mark.filterwarnings("ignore::distmom.DoubtfulResultWarning")
def test_rows_alike_over_the_whole_table_have_no_interval() -> None:
    found = dm.mean(series(3_000, 0.999, seed=2), rng=0)
    assert found.flags == ("rows correlated",) and found.interval is None and found.interval_reason


@pytest.mark.filterwarnings("ignore::distmom.DoubtfulResultWarning")
def test_folders_are_the_units_where_they_are_alike(tmp_path: Path) -> None:
    lake = days(tmp_path / "lake", 0.6)
    x, _, z = dm.mean(lake, ["x", "y", "z"], rng=0)
    assert (x.status, z.status) == ("rows correlated", "ok") and "whole folders" in x.notes[0]
    kept = dm.mean(lake, ["x", "y", "z"], rng=0, state=tmp_path / "state")["x"]
    assert kept.interval == pytest.approx(x.interval, rel=1e-9) and kept.notes == x.notes
    page = tmp_path / "page.html"
    dm.write_results(dm.mean(lake, "x", blocks=21, rng=0), page)
    assert "Nothing to do" not in page.read_text()


@pytest.mark.filterwarnings("ignore::distmom.DoubtfulResultWarning")
def test_vectors_pay_for_their_units(tmp_path: Path) -> None:
    lake = days(tmp_path, 0.6)
    ball, box = (dm.mean(lake, ["x", "y", "z"], joint=joint, rng=0) for joint in (True, "coordinatewise"))
    alone = dm.mean(lake, "x", rng=0)
    assert ball.flags == box.flags == ("rows correlated",)
    assert np.linalg.norm(ball.estimate) < ball.radius
    assert (box.intervals[:, 0] < 0.0).all() and (box.intervals[:, 1] > 0.0).all()
    assert np.diff(box.intervals[0])[0] > np.diff(alone.interval)[0]  # together at 99%
    assert dm.mean(lake, ["z"], joint=True, rng=0).status == "ok"


@pytest.mark.parametrize("distribution", ["normal", "exponential", "lognormal"])
@pytest.mark.parametrize("way", ["table", "by another", "files", "files in turn"])
def test_sorted_rows_are_not_taken_for_correlated_ones(tmp_path: Path, distribution: str, way: str) -> None:
    g = np.random.default_rng(5)
    x = getattr(g, distribution)(size=6_000)
    x = x[np.argsort(x if way != "by another" else np.log(np.abs(x)) * np.sign(x) + g.standard_normal(6_000))]
    if not way.startswith("files"):
        found = dm.mean(x, rng=0)
    else:
        for i, part in enumerate(np.array_split(x, 30)):
            place = i if way == "files" else (i % 2) * 15 + i // 2
            write(tmp_path / f"{place:02}.parquet", {"x": part})
        found = dm.mean(tmp_path, "x", rng=0)
    assert found.status == "ok" and found.interval_kind == "order"
    half = (found.interval[1] - found.interval[0]) / 2.0
    assert 2.0 < half / (x.std() / np.sqrt(x.size)) < 5.5


def test_rows_sorted_within_files_are_independent_on_a_large_scale(tmp_path: Path) -> None:
    g = np.random.default_rng(5)
    for i in range(40):
        write(tmp_path / f"{i}.parquet", {"x": np.sort(g.standard_normal(400))})
    assert dm.mean(tmp_path, "x", rng=0).status == "ok"


@pytest.mark.filterwarnings("ignore::distmom.DoubtfulResultWarning")
def test_the_same_bits_on_any_threads_and_batches(tmp_path: Path) -> None:
    for i in range(4):
        write(tmp_path / f"{i}.parquet", {"x": series(9_000, 0.9, seed=i)})
    one = dm.mean(dm.scan(tmp_path, batch_rows=100_000), "x", rng=0, executor=dm.Threads(1))
    other = dm.mean(dm.scan(tmp_path, batch_rows=37), "x", rng=0, executor=dm.Threads(3))
    assert one.flags == ("rows correlated",) and one.interval == other.interval


@pytest.mark.filterwarnings("ignore::distmom.DoubtfulResultWarning")
@pytest.mark.parametrize(("n_files", "effect"), [(50, 0.0), (50, 1.0), (7, 0.0)])
def test_a_file_of_the_other_sign_is_named_and_left_out(tmp_path: Path, n_files: int, effect: float) -> None:
    g, kept = np.random.default_rng(3), []
    for i in range(n_files):
        x = 64.0 + g.standard_normal(400) * 8.0 + effect * g.standard_normal()
        if i != 3:
            kept.append(x)
        write(tmp_path / f"{i:02}.parquet", {"x": x if i != 3 else -x, "y": x})
    bad, good = dm.mean(tmp_path, ["x", "y"], rng=0)
    assert bad.status == "files disagree" and bad.accused_files == ("03.parquet",)
    assert "files disagree" not in good.flags
    assert bad.estimate == pytest.approx(np.concatenate(kept).mean(), abs=0.3)
    assert bad.interval[0] < np.concatenate(kept).mean() < bad.interval[1]
    assert ("rows correlated" in bad.flags) == (effect > 0.0)
    both = dm.mean(tmp_path, ["x", "y"], joint=True, rng=0)
    assert both.accused_files == bad.accused_files and abs(both.estimate[0] - bad.estimate) < 1.0


@pytest.mark.filterwarnings("ignore::distmom.DoubtfulResultWarning")
@pytest.mark.parametrize("n_rows", [200, pytest.param(2_500, marks=pytest.mark.slow)])
def test_rows_that_are_left_of_correlated_files_pay_for_these(tmp_path: Path, n_rows: int) -> None:
    """Of all rows in memory, and of a sample of 65,536 of them."""
    g = np.random.default_rng(4)
    for i in range(60):
        x = g.standard_normal(n_rows) + g.standard_normal()
        x[::50] = -9_999.0
        write(tmp_path / f"{i:02}.parquet", {"x": x})
    found = dm.mean(tmp_path, "x", rng=0)
    assert found.flags == ("share screened out", "rows correlated") and found.interval_kind == "clusters"
    low, high = found.interval
    assert low < 0.0 < high and 0.4 < high - low < 1.3  # 2 * 2.66 / sqrt(60) = 0.69 for known effects
    both = dm.mean(dm.scan(tmp_path, where="x > -100"), "x", rng=0)
    assert high - low == pytest.approx(both.interval[1] - both.interval[0], rel=0.1)
