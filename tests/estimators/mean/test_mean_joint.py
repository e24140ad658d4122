"""Mean vectors: against single columns, against slow formulas, their symmetries, in every output."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from flat import flat
from hypothesis import given, settings
from hypothesis import strategies as st
from joint_vectors import JOINT, LAYOUTS, cloud
from mean_lakes import dirty_lake, write
from pyarrow import csv

import distmom as dm
from distmom.numerics.linalg.geometric_median import geometric_median
from distmom.report import write_results
from distmom.theory.bounds import width_factor
from distmom.theory.resampled import resampled_margin
from distmom.theory.variances import row_inverse_inclusion
from distmom.theory.vectors import resampled_vector_factor, vector_factor


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """As `dirty_lake`, with a column that tells which rows have both values, and the values as a list."""
    folder = dirty_lake(tmp_path_factory.mktemp("lake"))
    for path in folder.rglob("*.parquet"):
        table = pq.read_table(path, partitioning=None)
        x, y = (table[name].to_numpy() for name in ("x", "y"))
        there = table["x"].is_valid().to_numpy() & ~np.isnan(x)
        lists = [
            None if not known else [a, b]
            for known, a, b in zip(table["x"].is_valid().to_pylist(), x, y, strict=True)
        ]
        table = table.append_column("both", pa.array(there))
        write(path, table.append_column("v", pa.array(lists, pa.list_(pa.float64()))), row_group_size=70)
    return folder


# --- against single columns and slow formulas


@JOINT
@pytest.mark.parametrize("by", [None, "key"])
@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
@pytest.mark.one_in(12)
def test_blocks_are_those_of_the_columns_on_complete_rows(
    lake: Path, layout: dict[str, Any], by: str | None, joint: str
) -> None:
    """The slow way: one run a column, over the rows that have both; then a median of what they give."""
    if by and "swor" in layout.values():
        layout = {**layout, "block_size": 300}
    options = {"rng": 3, "threads": 1, "by": by, **layout}
    found = flat(dm.mean)(lake, ["x", "y"], joint=joint, **options)
    if "scheme" in layout:  # the filter would change the number of rows that a sample draws
        alone = [flat(dm.mean)(lake, name, **options) for name in ("x", "y")]
    else:
        alone = [flat(dm.mean)(lake, name, where="both", **options) for name in ("x", "y")]
    vectors = list(found) if by else [found]
    columns = [list(a) if by else [a] for a in alone]
    for vector, x, y in zip(vectors, *columns, strict=True):
        assert vector.columns == ("x", "y") and vector.method == joint and vector.column == "x, y"
        if "scheme" not in layout:
            assert vector.n_used == x.n_used
            assert (vector.n_blocks, vector.block_size) == (x.n_blocks, x.block_size)
            whole = np.isfinite(x.block_estimates)
            pairs = np.column_stack([x.block_estimates, y.block_estimates])[whole]
            np.testing.assert_allclose(vector.block_estimates[whole], pairs, rtol=1e-13)
            assert not np.isfinite(vector.block_estimates[~whole]).any()
            assert vector.plain_estimate.tolist() == [x.plain_estimate, y.plain_estimate]
        points = vector.block_estimates[np.isfinite(vector.block_estimates).all(axis=1)]
        assert vector.n_non_finite_blocks == vector.n_blocks - len(points)
        if 2 * len(points) <= vector.n_blocks:
            assert np.isnan(vector.estimate).all() and vector.status == "no finite answer"
            continue
        if joint == "geometric":
            right = geometric_median(points)
            assert vector.estimate.tolist() == right.point.tolist() and vector.gap == right.gap
        else:
            ordered = np.sort(points, axis=0)
            assert vector.estimate.tolist() == ordered[(len(points) + 1) // 2 - 1].tolist()


def test_rows_are_counted_once(lake: Path) -> None:
    x = np.concatenate([pq.read_table(p, columns=["x"])["x"].to_numpy() for p in lake.rglob("*.parquet")])
    valid = np.concatenate([pq.read_table(p)["x"].is_valid().to_numpy() for p in lake.rglob("*.parquet")])
    nan = np.isnan(x) & valid
    for column in (["x", "y"], "v"):
        found = dm.mean(lake, column, joint=True, rng=0)
        counts = (found.n_rows, found.n_null, found.n_nan, found.n_inf, found.n_used)
        assert counts == (x.size, (~valid).sum(), nan.sum(), 1, (valid & ~nan).sum())
        kept = dm.mean(dm.scan(lake, nan="keep"), column, joint=True, rng=0, blocks=301)
        assert kept.n_used == valid.sum() and kept.n_non_finite_blocks > 1
        with pytest.raises(dm.DataError, match=r"parquet: column '(x|v\[0\])' is NaN in row \d+"):
            dm.mean(dm.scan(lake, nan="raise"), column, joint=True, rng=0)


def test_the_radius_of_a_given_number_of_blocks() -> None:
    x = cloud()
    found = dm.mean(x, joint=True, rng=1, blocks=11)
    assert found.interval_kind == "cantelli" and found.radius is not None
    [columns] = [dm.mean(x, rng=1, interval="cantelli", blocks=11)]
    # the margin of error of a column is sd sqrt(average/least) factor: the same sd, by the other factor
    halves = [(r.interval[1] - r.interval[0]) / 2 for r in columns]
    scale = vector_factor(11, 0.01) / width_factor(11, 0.01)
    assert found.radius == pytest.approx(math.sqrt(sum(h * h for h in halves)) * scale, rel=1e-9)
    sizes = found.block_size[0] / (6_000 / 11)
    sd = [h / width_factor(11, 0.01) * math.sqrt(sizes) for h in halves]
    assert found.trace == pytest.approx(sum(s * s for s in sd) * 6_000 / 11, rel=1e-9)
    assert found.trace == pytest.approx(2.0 * (1 + 4 + 9), rel=0.2)


def test_the_automatic_radius_is_that_of_the_best_level_moved_to_the_estimate() -> None:
    x = cloud(12_000)
    found = dm.mean(x, joint=True, rng=1)
    best = min((5, 7, 9, 15, 21, 27), key=lambda k: k * vector_factor(k, 0.01) ** 2)
    ball = dm.mean(x, joint=True, rng=1, blocks=105)  # of 945 fine blocks, as under auto
    groups = ball.block_estimates.reshape(best, -1, 3)
    rows = np.array([12_000 // 105 + (i < 12_000 % 105) for i in range(105)])
    assert found.n_blocks == 35 and found.radius is not None
    centre = geometric_median(groups.mean(axis=1)).point
    moved = np.linalg.norm(centre - found.estimate)
    sd = math.sqrt(found.trace / (12_000 / best))
    assert found.radius == pytest.approx(vector_factor(best, 0.01) * sd + moved, rel=2e-3)
    assert rows.sum() == 12_000
    wider = vector_factor(35, 0.01) * math.sqrt(found.trace / (12_000 / 35))
    assert found.radius < 0.8 * wider, "the level of the answer has a wider ball"


def test_intervals_of_coordinates_hold_together() -> None:
    x = cloud()
    for n_blocks, interval in ((63, "order"), (7, "cantelli")):
        found = dm.mean(x, joint="coordinatewise", rng=1, interval=interval, blocks=n_blocks)
        level = 1.0 - 0.01 / 3
        alone = dm.mean(x, rng=1, interval=interval, confidence_level=level, blocks=n_blocks)
        assert found.interval_kind == interval and found.radius is None and found.gap is None
        np.testing.assert_allclose(found.intervals, [r.interval for r in alone], rtol=1e-9)
        assert found.estimate.tolist() == [r.estimate for r in alone]
        if interval == "order":
            assert found.actual_level == pytest.approx(1 - sum(1 - r.actual_level for r in alone))
    assert dm.mean(x, joint="coordinatewise", rng=1, blocks=7).interval_kind == "cantelli"
    assert dm.mean(x, joint="coordinatewise", rng=1).interval_kind == "order"


@JOINT
@pytest.mark.parametrize("scheme", ["swor", "monte_carlo"])
def test_errors_of_samples(joint: str, scheme: str) -> None:
    x = cloud()
    options = {"scheme": scheme, "n_blocks": 15, "block_size": 400, "rng": 1}
    found = flat(dm.mean)(x, joint=joint, **options)
    alone = flat(dm.mean)(x, **options)
    blocks = np.column_stack([r.block_estimates for r in alone])
    assert np.array_equal(found.block_estimates, blocks)
    a, delta = row_inverse_inclusion(6_000, 400, replacement=scheme == "monte_carlo"), 0.01
    halves = np.array([(r.interval[1] - r.interval[0]) / 2 for r in alone])
    variances = (halves / resampled_margin(1.0, 15, a, delta)) ** 2
    rows = 400 if scheme == "swor" else 1.0 / (1 / 6_000 + (1 - 1 / 6_000) / 400)
    assert found.trace == pytest.approx(variances.sum() * rows)
    if joint == "geometric":
        right = resampled_vector_factor(15, a, delta) * math.sqrt(variances.sum())
        assert found.radius == pytest.approx(right)
    else:
        half = [resampled_margin(float(v), 15, a, delta / 3) for v in variances]
        np.testing.assert_allclose(found.intervals, found.estimate[:, None] + np.outer(half, [-1, 1]))


def test_outlying_rows_are_allowed_for() -> None:
    x = cloud()
    found = dm.mean(x, joint=True, contamination=4, rng=0)
    k = found.n_blocks
    sd = math.sqrt(found.trace / (6_000 / k) * (6_000 / k) / found.block_size[0])
    assert found.radius == pytest.approx(vector_factor(k, 0.01, 4) * sd, rel=1e-9) and k > 8
    assert found.radius > 1.2 * vector_factor(k, 0.01) * sd
    x[:4] = 1e9
    outlying = dm.mean(x, joint=True, contamination=4, rng=0)
    assert np.linalg.norm(outlying.estimate - np.arange(3)) < outlying.radius < 2.0 * found.radius
    assert "allows for 4 arbitrary rows" in outlying.notes
    by_columns = dm.mean(x, joint="coordinatewise", contamination=4, rng=0)
    assert by_columns.interval_kind == "cantelli"
    assert ((by_columns.intervals - np.arange(3.0)[:, None]) * [-1, 1] > 0).all()


def test_one_column_is_a_vector_of_one() -> None:
    x = cloud(d=1)
    alone = dm.mean(x, rng=0, blocks=9)
    for joint in ("geometric", "coordinatewise"):
        found = dm.mean(x, joint=joint, rng=0, blocks=9)
        assert found.estimate.tolist() == [alone.estimate] and found.status == alone.status


def test_unequal_blocks_and_non_finite_ones_widen_the_radius(tmp_path: Path) -> None:
    for i, n in enumerate((2_000, 500, 500, 400, 300, 300, 100)):
        write(tmp_path / f"{i}.parquet", {name: cloud(n, 2, i)[:, j] for j, name in enumerate("xy")})
    found = dm.mean(tmp_path, ["x", "y"], joint=True, rng=0, blocks=dm.FileBlocks(5))
    assert found.radius is not None and found.block_size[1] > 1.5 * found.block_size[0]
    equal = vector_factor(found.n_blocks, 0.01) * math.sqrt(found.trace / (4_100 / found.n_blocks))
    assert found.radius > equal
    x = cloud()
    clean = dm.mean(x, joint=True, rng=0, blocks=25)
    x[0, 1] = np.inf
    non_finite = dm.mean(x, joint=True, rng=0, blocks=25)
    assert non_finite.n_non_finite_blocks == 1 and np.isfinite(non_finite.estimate).all()
    factor = vector_factor(25, 0.01, 1) / vector_factor(25, 0.01)
    assert non_finite.radius == pytest.approx(clean.radius * factor, rel=0.05)
    assert np.isinf(non_finite.plain_estimate[1]) and np.isfinite(non_finite.plain_estimate[0])


def test_no_radius_and_why() -> None:
    x = cloud(2_000, 2)
    assert dm.mean(x, joint=True, interval="none", rng=0).radius is None
    few = dm.mean(x[:20], joint=True, rng=0)
    assert few.flags == ("sample mean, no guarantee",) and few.n_blocks == 1
    assert few.radius is None and "too few rows" in (few.interval_reason or "")
    assert few.estimate == pytest.approx(x[:20].mean(axis=0))
    fewer = dm.mean(x[:3], joint=True, rng=0, blocks=5)
    assert fewer.n_blocks == 3 and fewer.interval_reason == "fewer rows than blocks"
    assert "lowered from 5 to 3" in fewer.notes[0]
    level = np.column_stack([x[:, 0], np.full(2_000, 7.0)])
    found = dm.mean(level, joint=True, rng=0)
    assert found.radius is not None and found.estimate[1] == 7.0 and found.status == "ok"
    by_columns = dm.mean(level, joint="coordinatewise", rng=0)
    assert by_columns.intervals[1].tolist() == [7.0, 7.0] and np.ptp(by_columns.intervals[0]) > 0.1
    assert found.notes == by_columns.notes and found.notes[0].startswith("1: all values are identical")
    for options in ({}, {"n_blocks": 5}, {"scheme": "swor", "n_blocks": 5, "block_size": 30}):
        constant = flat(dm.mean)(np.ones((200, 2)), joint=True, rng=0, **options)
        assert constant.estimate.tolist() == [1.0, 1.0] and constant.trace == constant.radius == 0.0
        assert constant.notes[0].startswith("0, 1: all values are identical")
    rare = np.column_stack([x[:, 0], np.arange(2_000) == 77, np.arange(2_000) == 5])
    found = dm.mean(rare[:, 1:], joint=True, rng=0, blocks=5)
    assert found.radius is None and "constant" in found.interval_reason
    by_columns = dm.mean(rare, joint="coordinatewise", rng=0, blocks=63)
    assert np.isnan(by_columns.intervals[1]).all() and np.isfinite(by_columns.intervals[0]).all()
    assert "constant" in by_columns.interval_reason
    assert dm.mean(rare, joint=True, rng=0, blocks=63).radius > 0.0
    x[:1_500:3, 1] = np.inf
    for n_blocks in (5, "auto"):
        with pytest.raises(dm.NoAnswerError, match=r"'0, 1'.*non-finite.*500 infinite"):
            dm.mean(x, joint=True, rng=0, blocks=n_blocks)
    with pytest.raises(dm.NoAnswerError, match=r"'0, 1': none of the 9 rows has a value \(0 null, 9 NaN\)"):
        dm.mean(np.full((9, 2), np.nan), joint=True, rng=0)


# --- symmetries


@settings(max_examples=10)
@given(st.integers(0, 2**32), st.sampled_from(["random", "stored", "samples"]), st.integers(-40, 40))
@pytest.mark.slow
def test_shifts_rotations_and_powers_of_two(seed: int, layout: str, power: int) -> None:
    g = np.random.default_rng(seed)
    x = g.standard_t(3, (500, 3))
    turn, _ = np.linalg.qr(g.normal(size=(3, 3)))
    shift = g.normal(size=3) * 10.0
    options = {"joint": True, "rng": 0, "threads": 1, **LAYOUTS[layout]}
    found = flat(dm.mean)(x, **options)
    moved = flat(dm.mean)(x @ turn + shift, **options)
    np.testing.assert_allclose(moved.estimate, found.estimate @ turn + shift, rtol=0, atol=1e-9)
    scaled = flat(dm.mean)(x * 2.0**power, **options)
    assert scaled.estimate.tolist() == (found.estimate * 2.0**power).tolist()
    mixed = flat(dm.mean)(x[:, [2, 0, 1]], **options)
    np.testing.assert_allclose(mixed.estimate, found.estimate[[2, 0, 1]], rtol=0, atol=1e-12)
    if found.radius is not None:
        assert mixed.radius == pytest.approx(found.radius) and scaled.radius == pytest.approx(
            found.radius * 2.0**power
        )
    by_columns = flat(dm.mean)(x, **{**options, "joint": "coordinatewise"})
    permuted = flat(dm.mean)(x[:, [2, 0, 1]], **{**options, "joint": "coordinatewise"})
    assert permuted.estimate.tolist() == by_columns.estimate[[2, 0, 1]].tolist()


# --- results


def test_a_vector_in_every_output(tmp_path: Path) -> None:
    table = pa.table({"v": pa.array(cloud(3_000).tolist()), "k": np.arange(3_000) % 2})
    for options in ({}, {"by": "k"}, {"joint": "coordinatewise"}):
        found = dm.mean(table, "v", **{"joint": True, "rng": 0, **options})
        every = dm.Results.of(found)
        assert len(every) == (2 if "by" in options else 1)
        paths = {ending: tmp_path / f"out{ending}" for ending in (".json", ".csv", ".parquet", ".html")}
        for path in paths.values():
            write_results(found, path)
        document = json.loads(paths[".json"].read_text())
        first = document["results"][0]
        assert first["estimate"] == every[0].estimate.tolist() and first["columns"] == [
            "v[0]",
            "v[1]",
            "v[2]",
        ]
        assert first["radius"] == every[0].radius and first["n_used"] == every[0].n_used
        arrow = found.to_arrow()
        assert arrow.num_rows == 3 * len(every)
        assert arrow["column"].to_pylist()[:3] == ["v[0]", "v[1]", "v[2]"]
        assert arrow["estimate"].to_pylist()[:3] == every[0].estimate.tolist()
        assert pq.read_table(paths[".parquet"]).equals(arrow)
        assert csv.read_csv(paths[".csv"]).num_rows == arrow.num_rows
        page = paths[".html"].read_text()
        assert page.count("<tr>") == 1 + arrow.num_rows and "v[2]" in page
        lines = str(found).splitlines()
        assert len(lines) == 2 + arrow.num_rows and lines[2].startswith("v[0]")
        assert ("radius" in lines[0]) == (options.get("joint") != "coordinatewise")
        assert every.exit_code == 0
    assert "k" in arrow.column_names or options["joint"] == "coordinatewise"
    assert found == dm.mean(table, "v", joint="coordinatewise", rng=0)
    assert found != dm.mean(table, "v", joint="coordinatewise", rng=1)


def test_long_vectors_are_shortened_for_people_only() -> None:
    x = np.random.default_rng(0).normal(size=(400, 30))
    found = dm.mean(x, joint=True, rng=0, blocks=5)
    lines = str(found).splitlines()
    assert len(lines) == 22 and "… 11 more" in lines[-1]
    assert found.to_arrow().num_rows == 30 and len(found.to_dict()["estimate"]) == 30


def test_wrong_words() -> None:
    x = cloud(100)
    with pytest.raises(dm.ConfigError, match=r"joint.*'geometrical'.*did you mean 'geometric'"):
        dm.mean(x, joint="geometrical")
    with pytest.raises(dm.ConfigError, match=r"joint cannot be combined with blocks='paper'"):
        dm.mean(x, joint=True, blocks="paper")
    with pytest.raises(
        dm.ConfigError, match=r"joint='geometric' cannot be combined with interval='order'.*coordinatewise"
    ):
        dm.mean(x, joint=True, interval="order")
    assert dm.mean(x, joint=False, rng=0)[0].column == "0"
