"""Mean vectors: against single columns, against slow formulas, from lists, under damage, in every output."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mean_lakes import cut_work, dirty_lake, same, write
from pyarrow import csv

import distmom as dm
from distmom.estimators.mean.explain import explain_mean
from distmom.numerics.geometric_median import geometric_median
from distmom.report import write_results
from distmom.theory import (
    resampled_halfwidth,
    resampled_vector_factor,
    row_inverse_inclusion,
    vector_factor,
    width_factor,
)

JOINT = pytest.mark.parametrize("joint", ["geometric", "coordinatewise"])
LAYOUTS: dict[str, dict[str, Any]] = {
    "random": {"n_blocks": 9},
    "stored": {"n_blocks": 9, "order": "stored"},
    "block size": {"block_size": 60},
    "files": {"n_blocks": 3, "block_by": "file"},
    "samples": {"scheme": "swor", "n_blocks": 8, "block_size": 70},
}


def cloud(n: int = 6_000, d: int = 3, seed: int = 0) -> np.ndarray:
    g = np.random.default_rng(seed)
    return g.standard_t(4, (n, d)) * np.arange(1.0, d + 1.0) + np.arange(d)


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
def test_blocks_are_those_of_the_columns_on_complete_rows(
    lake: Path, layout: dict[str, Any], by: str | None, joint: str
) -> None:
    """The slow way: one run a column, over the rows that have both; then a median of what they give."""
    if by and "swor" in layout.values():
        layout = {**layout, "block_size": 300}
    options = {"rng": 3, "threads": 1, "by": by, **layout}
    found = dm.mean(lake, ["x", "y"], joint=joint, **options)
    if "scheme" in layout:  # the filter would change the number of rows that a sample draws
        alone = [dm.mean(lake, name, **options) for name in ("x", "y")]
    else:
        alone = [dm.mean(lake, name, where="both", **options) for name in ("x", "y")]
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
        assert vector.n_ruined_blocks == vector.n_blocks - len(points)
        if 2 * len(points) <= vector.n_blocks:
            assert np.isnan(vector.estimate).all() and vector.status[0] == "no finite answer"
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
        kept = dm.mean(lake, column, joint=True, rng=0, nan="keep", n_blocks=301)
        assert kept.n_used == valid.sum() and kept.n_ruined_blocks > 1
        with pytest.raises(dm.DataError, match=r"parquet: column '(x|v\[0\])' is NaN in row \d+"):
            dm.mean(lake, column, joint=True, rng=0, nan="raise")


def test_the_radius_of_a_given_number_of_blocks() -> None:
    x = cloud()
    found = dm.mean(x, joint=True, n_blocks=11, rng=1)
    assert found.interval_kind == "exact" and found.radius is not None
    [columns] = [dm.mean(x, n_blocks=11, rng=1, interval="exact")]
    # the half-width of a column is sd sqrt(average/least) factor: the same sd, by the other factor
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
    ball = dm.mean(x, joint=True, n_blocks=105, rng=1)  # of 945 fine blocks, as under auto
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
    for n_blocks, interval in ((63, "order"), (7, "exact")):
        found = dm.mean(x, joint="coordinatewise", n_blocks=n_blocks, rng=1, interval=interval)
        level = 1.0 - 0.01 / 3
        alone = dm.mean(x, n_blocks=n_blocks, rng=1, interval=interval, confidence_level=level)
        assert found.interval_kind == interval and found.radius is None and found.gap is None
        np.testing.assert_allclose(found.intervals, [r.interval for r in alone], rtol=1e-9)
        assert found.estimate.tolist() == [r.estimate for r in alone]
        if interval == "order":
            assert found.achieved_level == pytest.approx(1 - sum(1 - r.achieved_level for r in alone))
    assert dm.mean(x, joint="coordinatewise", n_blocks=7, rng=1).interval_kind == "exact"
    assert dm.mean(x, joint="coordinatewise", rng=1).interval_kind == "order"


@JOINT
@pytest.mark.parametrize("scheme", ["swor", "monte_carlo"])
def test_errors_of_samples(joint: str, scheme: str) -> None:
    x = cloud()
    options = {"scheme": scheme, "n_blocks": 15, "block_size": 400, "rng": 1}
    found = dm.mean(x, joint=joint, **options)
    alone = dm.mean(x, **options)
    blocks = np.column_stack([r.block_estimates for r in alone])
    assert np.array_equal(found.block_estimates, blocks)
    a, delta = row_inverse_inclusion(6_000, 400, replacement=scheme == "monte_carlo"), 0.01
    halves = np.array([(r.interval[1] - r.interval[0]) / 2 for r in alone])
    variances = (halves / resampled_halfwidth(1.0, 15, a, delta)) ** 2
    rows = 400 if scheme == "swor" else 1.0 / (1 / 6_000 + (1 - 1 / 6_000) / 400)
    assert found.trace == pytest.approx(variances.sum() * rows)
    if joint == "geometric":
        right = resampled_vector_factor(15, a, delta) * math.sqrt(variances.sum())
        assert found.radius == pytest.approx(right)
    else:
        half = [resampled_halfwidth(float(v), 15, a, delta / 3) for v in variances]
        np.testing.assert_allclose(found.intervals, found.estimate[:, None] + np.outer(half, [-1, 1]))


def test_outlying_rows_are_allowed_for() -> None:
    x = cloud()
    found = dm.mean(x, joint=True, contamination=4, rng=0)
    k = found.n_blocks
    sd = math.sqrt(found.trace / (6_000 / k) * (6_000 / k) / found.block_size[0])
    assert found.radius == pytest.approx(vector_factor(k, 0.01, 4) * sd, rel=1e-9) and k > 8
    assert found.radius > 1.2 * vector_factor(k, 0.01) * sd
    x[:4] = 1e9
    wild = dm.mean(x, joint=True, contamination=4, rng=0)
    assert np.linalg.norm(wild.estimate - np.arange(3)) < wild.radius < 2.0 * found.radius
    assert "allows for 4 arbitrary rows" in wild.notes
    by_columns = dm.mean(x, joint="coordinatewise", contamination=4, rng=0)
    assert by_columns.interval_kind == "exact"
    assert ((by_columns.intervals - np.arange(3.0)[:, None]) * [-1, 1] > 0).all()


def test_one_column_is_a_vector_of_one() -> None:
    x = cloud(d=1)
    alone = dm.mean(x, n_blocks=9, rng=0)
    for joint in ("geometric", "coordinatewise"):
        found = dm.mean(x, joint=joint, n_blocks=9, rng=0)
        assert found.estimate.tolist() == [alone.estimate] and found.status == alone.status


def test_unequal_blocks_and_ruined_ones_widen_the_radius(tmp_path: Path) -> None:
    for i, n in enumerate((2_000, 500, 500, 400, 300, 300, 100)):
        write(tmp_path / f"{i}.parquet", {name: cloud(n, 2, i)[:, j] for j, name in enumerate("xy")})
    found = dm.mean(tmp_path, ["x", "y"], joint=True, block_by="file", n_blocks=5, rng=0)
    assert found.radius is not None and found.block_size[1] > 1.5 * found.block_size[0]
    equal = vector_factor(found.n_blocks, 0.01) * math.sqrt(found.trace / (4_100 / found.n_blocks))
    assert found.radius > equal
    x = cloud()
    clean = dm.mean(x, joint=True, n_blocks=25, rng=0)
    x[0, 1] = np.inf
    ruined = dm.mean(x, joint=True, n_blocks=25, rng=0)
    assert ruined.n_ruined_blocks == 1 and np.isfinite(ruined.estimate).all()
    factor = vector_factor(25, 0.01, 1) / vector_factor(25, 0.01)
    assert ruined.radius == pytest.approx(clean.radius * factor, rel=0.05)
    assert np.isinf(ruined.plain_estimate[1]) and np.isfinite(ruined.plain_estimate[0])


def test_no_radius_and_why() -> None:
    x = cloud(2_000, 2)
    assert dm.mean(x, joint=True, interval="none", rng=0).radius is None
    few = dm.mean(x[:20], joint=True, rng=0)
    assert few.status == ("plain mean, no guarantee",) and few.n_blocks == 1
    assert few.radius is None and "too few rows" in (few.interval_reason or "")
    assert few.estimate == pytest.approx(x[:20].mean(axis=0))
    fewer = dm.mean(x[:3], joint=True, n_blocks=5, rng=0)
    assert fewer.n_blocks == 3 and fewer.interval_reason == "fewer rows than blocks"
    assert "lowered from 5 to 3" in fewer.notes[0]
    flat = np.column_stack([x[:, 0], np.full(2_000, 7.0)])
    found = dm.mean(flat, joint=True, rng=0)
    assert found.radius is not None and found.estimate[1] == 7.0 and found.status == ("ok",)
    by_columns = dm.mean(flat, joint="coordinatewise", rng=0)
    assert by_columns.intervals[1].tolist() == [7.0, 7.0] and np.ptp(by_columns.intervals[0]) > 0.1
    assert found.notes == by_columns.notes and found.notes[0].startswith("1: all values are equal")
    for options in ({}, {"n_blocks": 5}, {"scheme": "swor", "n_blocks": 5, "block_size": 30}):
        constant = dm.mean(np.ones((200, 2)), joint=True, rng=0, **options)
        assert constant.estimate.tolist() == [1.0, 1.0] and constant.trace == constant.radius == 0.0
        assert constant.notes[0].startswith("0, 1: all values are equal")
    rare = np.column_stack([x[:, 0], np.arange(2_000) == 77, np.arange(2_000) == 5])
    found = dm.mean(rare[:, 1:], joint=True, n_blocks=5, rng=0)
    assert found.radius is None and "constant" in found.interval_reason
    by_columns = dm.mean(rare, joint="coordinatewise", n_blocks=63, rng=0)
    assert np.isnan(by_columns.intervals[1]).all() and np.isfinite(by_columns.intervals[0]).all()
    assert "constant" in by_columns.interval_reason
    assert dm.mean(rare, joint=True, n_blocks=63, rng=0).radius > 0.0
    x[:1_500:3, 1] = np.inf
    for n_blocks in (5, "auto"):
        with pytest.raises(dm.NoAnswerError, match=r"'0, 1'.*ruined.*500 infinite"):
            dm.mean(x, joint=True, n_blocks=n_blocks, rng=0)
    with pytest.raises(dm.NoAnswerError, match=r"'0, 1': none of the 9 rows has a value \(0 null, 9 NaN\)"):
        dm.mean(np.full((9, 2), np.nan), joint=True, rng=0)


# --- symmetries


@settings(max_examples=10)
@given(st.integers(0, 2**32), st.sampled_from(["random", "stored", "samples"]), st.integers(-40, 40))
def test_shifts_rotations_and_powers_of_two(seed: int, layout: str, power: int) -> None:
    g = np.random.default_rng(seed)
    x = g.standard_t(3, (500, 3))
    turn, _ = np.linalg.qr(g.normal(size=(3, 3)))
    shift = g.normal(size=3) * 10.0
    options = {"joint": True, "rng": 0, "threads": 1, **LAYOUTS[layout]}
    found = dm.mean(x, **options)
    moved = dm.mean(x @ turn + shift, **options)
    np.testing.assert_allclose(moved.estimate, found.estimate @ turn + shift, rtol=0, atol=1e-9)
    scaled = dm.mean(x * 2.0**power, **options)
    assert scaled.estimate.tolist() == (found.estimate * 2.0**power).tolist()
    mixed = dm.mean(x[:, [2, 0, 1]], **options)
    np.testing.assert_allclose(mixed.estimate, found.estimate[[2, 0, 1]], rtol=0, atol=1e-12)
    if found.radius is not None:
        assert mixed.radius == pytest.approx(found.radius) and scaled.radius == pytest.approx(
            found.radius * 2.0**power
        )
    by_columns = dm.mean(x, **{**options, "joint": "coordinatewise"})
    permuted = dm.mean(x[:, [2, 0, 1]], **{**options, "joint": "coordinatewise"})
    assert permuted.estimate.tolist() == by_columns.estimate[[2, 0, 1]].tolist()


# --- lists


def test_the_mean_of_a_symmetric_layout_is_one_of_its_points(tmp_path: Path) -> None:
    points = np.array([[0, 0], [1, 0], [-1, 0], [0, 1], [0, -1]], float)
    lists = pa.FixedSizeListArray.from_arrays(pa.array(points.ravel()), 2)
    write(tmp_path / "a.parquet", {"p": lists})
    found = dm.mean(tmp_path, "p", joint=True, n_blocks=5, rng=0)
    assert found.estimate.tolist() == [0.0, 0.0] and found.gap == 0.0
    assert found.columns == ("p[0]", "p[1]") and found.column == "p"


@pytest.mark.parametrize("batch_rows", [2, 131_072])
def test_sliced_lists_null_rows_and_a_batch_of_nulls(tmp_path: Path, batch_rows: int) -> None:
    rows = [[0, 0], [1, 2], [3, 4], None, [7, 8]]
    v = pa.array(rows, pa.list_(pa.float64(), 2))
    write(tmp_path / "t/0.parquet", {"id": range(5), "v": v}, row_group_size=2)
    options = {"joint": True, "rng": 0, "batch_rows": batch_rows}
    found = dm.mean(tmp_path / "t", "v", **options)
    assert found.plain_estimate.tolist() == [2.75, 3.5] and found.estimate.tolist() == [2.75, 3.5]
    assert (found.n_rows, found.n_used, found.n_null) == (5, 4, 1)
    sliced = dm.mean(pa.table({"v": v}).slice(1, 3), "v", **options)
    assert sliced.plain_estimate.tolist() == [2.0, 3.0] and sliced.n_null == 1
    write(tmp_path / "t/1.parquet", {"id": [9, 9], "v": pa.array([None, None], v.type)})
    more = dm.mean(tmp_path / "t", "v", **options)
    assert more.plain_estimate.tolist() == [2.75, 3.5] and (more.n_rows, more.n_null) == (7, 3)


TYPES = {
    "fixed": pa.list_(pa.float64(), 3),
    "list": pa.list_(pa.float64()),
    "large list": pa.large_list(pa.float64()),
    "float32": pa.list_(pa.float32(), 3),
    "float16": pa.list_(pa.float16()),
    "int32": pa.list_(pa.int32(), 3),
}


@pytest.mark.parametrize("type_", TYPES.values(), ids=TYPES)
def test_a_list_column_is_its_columns(tmp_path: Path, type_: pa.DataType, monkeypatch: Any) -> None:
    """The same bits as so many columns, from files and from memory, whatever the batches and units."""
    g = np.random.default_rng(1)
    for i in range(12):
        x = g.integers(-9, 9, (40 + i, 3)).astype(float)
        columns = {name: x[:, j] for j, name in enumerate("abc")}
        write(tmp_path / f"{i:02}.parquet", {**columns, "v": pa.array(x.tolist(), type_)}, row_group_size=17)
    options = {"joint": True, "rng": 2, "threads": 1}
    apart = dm.mean(tmp_path, ["a", "b", "c"], **options)
    found = dm.mean(tmp_path, "v", **options)
    assert found.estimate.tolist() == apart.estimate.tolist() and found.radius == apart.radius
    assert np.array_equal(found.block_estimates, apart.block_estimates)
    cut_work(monkeypatch, max_files=1)
    for batch_rows in (1, 7):
        assert same(found, dm.mean(tmp_path, "v", **{**options, "batch_rows": batch_rows, "threads": 2}))
    both = dm.mean(tmp_path, ["v", "a"], joint=True, rng=2)
    assert both.columns == ("v[0]", "v[1]", "v[2]", "a") and both.estimate[3] == both.estimate[0]
    table = pa.concat_tables([pq.read_table(tmp_path / f"{i:02}.parquet") for i in range(12)])
    memory = dm.mean(table, "v", **options)
    assert memory.estimate.tolist() == dm.mean(table, ["a", "b", "c"], **options).estimate.tolist()
    grouped = dm.mean(tmp_path, "v", joint=True, by="a", rng=2)
    assert isinstance(grouped, dm.Results) and grouped[0].columns == found.columns


def test_sums_of_vectors_are_kept_and_merged(tmp_path: Path) -> None:
    def lake(name: str, numbers: range) -> Path:
        for i in numbers:
            x = cloud(300, 2, seed=i)
            write(tmp_path / name / f"{i}.parquet", {"v": pa.array(x.tolist()), "w": x[:, 0]})
        return tmp_path / name

    options: dict[str, Any] = {"joint": True, "rng": 0}
    first, second = lake("a", range(3)), lake("b", range(3, 5))
    right = dm.mean(first, "v", **options)
    assert right.same_bits(dm.mean(first, "v", state=tmp_path / "a.state", **options))
    lake("a", range(7, 9))
    grown = dm.mean(first, "v", state=tmp_path / "a.state", **options)
    assert grown.same_bits(dm.mean(first, "v", **options)) and grown.n_rows == 1_500
    assert grown.same_bits(dm.merge_states(tmp_path / "a.state"))
    dm.mean(second, "v", state=tmp_path / "b.state", **options)
    both = dm.merge_states(tmp_path / "a.state", tmp_path / "b.state")
    assert isinstance(both, dm.VectorResult) and both.columns == ("v[0]", "v[1]") and both.n_rows == 2_100
    with pytest.raises(dm.ConfigError, match="joint"):
        dm.mean(first, ["v", "w"], state=tmp_path / "a.state", joint="coordinatewise", rng=0)


def test_times_are_no_coordinates() -> None:
    times = pa.array(np.arange(200), pa.timestamp("s"))
    with pytest.raises(dm.DataError, match=r"'t' is timestamp\[s\].*only numbers are coordinates"):
        dm.mean(pa.table({"t": times, "x": np.zeros(200)}), ["x", "t"], joint=True)


def test_lists_from_streams_and_frames() -> None:
    import pandas as pd
    import pyarrow.dataset as ds

    x = cloud(2_000, 2)
    table = pa.table({"v": pa.array(x.tolist()), "f": pa.array(x.tolist(), pa.list_(pa.float64(), 2))})
    options: dict[str, Any] = {"joint": True, "rng": 0}
    right = dm.mean(table, "v", **options).estimate.tolist()
    batches = table.to_batches(300)

    def stream() -> Any:
        return pa.RecordBatchReader.from_batches(table.schema, batches)

    assert dm.mean(stream(), "f", **options).estimate.tolist() == right
    assert dm.mean(ds.dataset(table), "v", **options).estimate.tolist() == right
    frame = pd.DataFrame({"v": table["v"].to_pylist()})
    assert dm.mean(frame, "v", **options).estimate.tolist() == right
    with pytest.raises(dm.ConfigError, match=r"stream.*read only once.*'v'.*fixed size"):
        dm.mean(stream(), "v", **options)
    dask_frame = pytest.importorskip("dask.dataframe")
    typed = frame.astype({"v": pd.ArrowDtype(table["v"].type)})
    found = dm.mean(dask_frame.from_pandas(typed, npartitions=3), "v", **options)
    assert found.n_used == 2_000 and np.linalg.norm(found.estimate - right) < found.radius
    uneven = pd.DataFrame({"v": pd.array([[1.0, 2.0]] * 5 + [[1.0]], dtype=typed["v"].dtype)})
    with pytest.raises(dm.DataError, match=r"'v' has a list of length 1 in row \d, .* length 2"):
        dm.mean(dask_frame.from_pandas(uneven, npartitions=2), "v", **options)


def test_lists_of_other_lengths_are_refused_by_name(tmp_path: Path) -> None:
    write(tmp_path / "0.parquet", {"v": pa.array([[1, 2]] * 50), "n": [2] * 50})
    write(tmp_path / "1.parquet", {"v": pa.array([[1, 2]] * 7 + [[1, 2, 3]]), "n": [2] * 7 + [3]})
    with pytest.raises(
        dm.DataError, match=r"1\.parquet: column 'v' .* length 3 in row 7, .* length 2"
    ) as caught:
        dm.mean(tmp_path, "v", joint=True, rng=0)
    assert "\n" not in str(caught.value)
    skipped = dm.mean(tmp_path, "v", joint=True, rng=0, on_bad_file="skip")
    assert skipped.n_rows == 50 and "length 3" in skipped.data["skipped"][0]["reason"]
    filtered = dm.mean(tmp_path, "v", joint=True, rng=0, where="n = 2")
    assert filtered.estimate.tolist() == [1.0, 2.0] and filtered.n_rows == 57
    with pytest.raises(dm.DataError, match=r"'v' is list.*joint=True"):
        dm.mean(tmp_path, "v", rng=0)
    with pytest.raises(dm.NoAnswerError, match="'v'"):
        dm.mean(pa.table({"v": pa.array([None, None], pa.list_(pa.float64()))}), "v", joint=True)


def test_the_plan_of_a_list_column(tmp_path: Path) -> None:
    g = np.random.default_rng(0)
    write(tmp_path / "0.parquet", {"v": pa.array(g.normal(size=(50, 40)).tolist())})
    plan = explain_mean(tmp_path, "v", joint=True)
    assert plan["n_blocks"] == "auto" and plan["n_units"] == 1
    with pytest.raises(dm.ResourceError, match=r"0\.parquet.*projected memory"):
        dm.mean(tmp_path, "v", joint=True, memory_limit="400MB")


# --- damage


@JOINT
def test_wild_vectors_are_set_aside_and_the_plain_mean_is_lost(joint: str) -> None:
    x = cloud(12_000)
    clean = dm.mean(x, joint=joint, rng=0)
    assert clean.status == ("ok",)
    x[np.arange(0, 12_000, 200), np.arange(60) % 3] = 1e8  # each in one coordinate
    found = dm.mean(x, joint=joint, rng=0)
    assert found.status == ("contaminated",) and 50 <= found.n_set_aside <= 60
    error = np.linalg.norm(found.estimate - np.arange(3))
    # standard error of a row: sqrt(28/12000) = 0.05 in all coordinates together
    assert error < 0.25 and np.linalg.norm(clean.estimate - np.arange(3)) < 0.25
    assert np.abs(found.plain_estimate).min() > 1e5  # negative control


@pytest.mark.parametrize("law", ["normal", "student", "lognormal", "pareto"])
@JOINT
def test_the_risk_under_scattered_damage_stays_that_of_clean_rows(law: str, joint: str) -> None:
    """40 vectors of 4,000 rows, 20 of which are wild in one coordinate each."""
    vectors, names = table_of_vectors(law, 40, 4_000)
    rows = np.column_stack([vectors[name].to_numpy() for name in names])
    trace = np.cov(rows.T).trace()
    wild = np.arange(0, len(rows), 200)
    rows[wild, np.arange(wild.size) % 3] = 1e6
    damaged = pa.table({**dict(zip(names, rows.T, strict=True)), "rep": vectors["rep"]})

    def risk(**options: Any) -> float:
        found = dm.mean(damaged, names, joint=joint, by="rep", rng=0, **options)
        return float(np.mean([4_000 * (r.estimate**2).sum() for r in found]) / trace)

    # 1.2 to 2.5 in a run of this test; the mean of 40 such numbers has a standard error of about 0.3
    assert risk() < 4.0
    assert risk(n_blocks=9) > 1e3, "negative control: without the screen nine blocks break"


@JOINT
def test_bad_files_are_found_by_vectors(tmp_path: Path, joint: str) -> None:
    for i in range(60):
        x = cloud(100, 2, seed=i)
        if i in (7, 30):
            x[:, 1] += 1e6
        write(tmp_path / f"{i:02}.parquet", {"v": pa.array(x.tolist(), pa.list_(pa.float64(), 2))})
    found = dm.mean(tmp_path, "v", joint=joint, n_blocks="auto", rng=0, order="random")
    assert np.linalg.norm(found.estimate - [0.0, 1.0]) < 0.3
    assert found.status != ("ok",) and found.plain_estimate[1] > 1e4
    given_number = dm.mean(tmp_path, "v", joint=joint, n_blocks=9, rng=0)
    assert given_number.status[0] == "files disagree"
    assert {"07.parquet", "30.parquet"} <= set(given_number.accused_files)
    assert given_number.other_estimate is not None and abs(given_number.other_estimate[1] - 1.0) < 0.5
    units = dm.mean(tmp_path, "v", joint=joint, block_by="file", rng=0)
    assert np.linalg.norm(units.estimate - [0.0, 1.0]) < 0.3 and "contaminated" in units.status


LAWS: dict[str, Callable[[np.random.Generator, Any], np.ndarray]] = {
    "normal": lambda g, size: g.normal(size=size),
    "student": lambda g, size: g.standard_t(3, size),
    "lognormal": lambda g, size: g.lognormal(size=size) - math.exp(0.5),
    "pareto": lambda g, size: g.pareto(3.0, size) - 0.5,
}


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("options", [{"n_blocks": 7}, {}], ids=str)
def test_radius_and_intervals_cover(law: str, options: dict[str, Any]) -> None:
    """400 vectors of 500 rows, dependent coordinates: misses are at most Binomial(400, 0.01).

    More than 14 have probability 1e-5 (and far fewer are seen: the bound is for the worst law).
    """
    vectors, names = table_of_vectors(law, 400)
    balls = list(dm.mean(vectors, names, joint=True, by="rep", rng=0, **options))
    away = np.array([np.linalg.norm(r.estimate) for r in balls])
    radius = np.array([r.radius for r in balls], float)
    assert (away > radius).sum() <= 14
    assert (away > radius / 12.0).sum() > 14, "negative control: a twelfth of the radius does not cover"
    boxes = dm.mean(vectors, names, joint="coordinatewise", by="rep", rng=0, **options)
    outside = sum(bool(((r.intervals[:, 0] > 0) | (r.intervals[:, 1] < 0)).any()) for r in boxes)
    # order statistics of skewed laws cover the median of a block mean, which is not the mean
    assert outside <= (14 if options or law in ("normal", "student") else 45)


def table_of_vectors(law: str, repetitions: int, n: int = 500) -> tuple[pa.Table, list[str]]:
    """Vectors of mean zero, the third coordinate dependent on the first; a group for each repetition."""
    z = LAWS[law](np.random.default_rng(len(law)), (n * repetitions, 3))
    z[:, 2] += 0.8 * z[:, 0]
    names = ["c0", "c1", "c2"]
    columns = {name: z[:, j] for j, name in enumerate(names)}
    return pa.table({**columns, "rep": np.repeat(np.arange(repetitions), n)}), names


def test_stored_blocks_take_the_spread_between_them() -> None:
    """Rows that resemble their neighbours: the variance inside blocks knows nothing of it."""
    vectors, names = table_of_vectors("normal", 20, n=2_000)
    missed = 0
    for i in range(20):
        part = vectors.slice(i * 2_000, 2_000)
        steps = np.column_stack([part[name].to_numpy() for name in names])
        for j in range(1, 2_000):  # AR(1)
            steps[j] += 0.97 * steps[j - 1]
        found = dm.mean(steps, joint=True, rng=0, threads=1, n_blocks=11, order="stored")
        missed += np.linalg.norm(found.estimate) > (found.radius or 0.0)
        inside = np.cov(steps.T).trace()
        assert found.trace > 3.0 * inside, "the rows of a block count for a few independent ones"
    assert missed <= 3  # Binomial(20, 0.01): more with probability 4e-5


def test_the_risk_is_close_to_that_of_the_plain_mean() -> None:
    """Clean vectors: the median of many blocks in three dimensions loses less than in one (pi/2)."""
    n, repetitions = 500, 200
    z = np.random.default_rng(5).normal(size=(n * repetitions, 3))
    table = pa.table({**{f"c{j}": z[:, j] for j in range(3)}, "rep": np.repeat(np.arange(repetitions), n)})
    found = list(dm.mean(table, ["c0", "c1", "c2"], joint=True, by="rep", rng=0, n_blocks=21))
    risk = np.mean([n * (r.estimate**2).sum() / 3 for r in found])
    plain = np.mean([n * (r.plain_estimate**2).sum() / 3 for r in found])
    # both have a relative standard error of sqrt(2/600) = 0.06; the ratio is 1.18 for many normal blocks
    assert plain == pytest.approx(1.0, abs=0.3) and 1.0 < risk / plain < 1.4
    by_columns = dm.mean(table, ["c0", "c1", "c2"], joint="coordinatewise", by="rep", rng=0, n_blocks=21)
    assert np.mean([n * (r.estimate**2).sum() / 3 for r in by_columns]) > risk


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
    assert found.same_bits(dm.mean(table, "v", joint="coordinatewise", rng=0))
    assert not found.same_bits(dm.mean(table, "v", joint="coordinatewise", rng=1))


def test_long_vectors_are_shortened_for_people_only() -> None:
    x = np.random.default_rng(0).normal(size=(400, 30))
    found = dm.mean(x, joint=True, rng=0, n_blocks=5)
    lines = str(found).splitlines()
    assert len(lines) == 22 and "… 11 more" in lines[-1]
    assert found.to_arrow().num_rows == 30 and len(found.to_dict()["estimate"]) == 30


def test_wrong_words() -> None:
    x = cloud(100)
    with pytest.raises(dm.ConfigError, match=r"joint.*'geometrical'.*did you mean 'geometric'"):
        dm.mean(x, joint="geometrical")
    with pytest.raises(dm.ConfigError, match=r"joint does not go with n_blocks='paper'"):
        dm.mean(x, joint=True, n_blocks="paper")
    with pytest.raises(
        dm.ConfigError, match=r"joint='geometric' does not go with interval='order'.*coordinatewise"
    ):
        dm.mean(x, joint=True, interval="order")
    assert dm.mean(x, joint=False, rng=0)[0].column == "0"
