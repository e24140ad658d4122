"""Medians of complete U-statistics agree with plain loops, and say what they cannot do."""

from __future__ import annotations

import math
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from kernel_twins import PLAIN, sign, triple
from mean_lakes import dirty_lake, write
from ustat_twin import blocks_of, rows_of

import distmom as dm


def small_lake(folder: Path) -> Path:
    """Five files of ties, nulls and NaN, one of them empty; labels in column k."""
    g = np.random.default_rng(3)
    for i, n in enumerate((11, 0, 23, 5, 17)):
        columns = {name: np.round(2.0 * g.normal(size=n)) / 2.0 for name in ("x", "y", "z")}
        columns["x"][g.random(n) < 0.05] = np.nan
        table = {name: pa.array(v, mask=g.random(n) < 0.05) for name, v in columns.items()}
        table["k"] = pa.array(g.integers(0, 3, n))
        write(folder / f"{i}.parquet", table)
    return folder


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return small_lake(tmp_path_factory.mktemp("pairs"))


def mean_over(function: Any, rows: list[Any], degree: int = 2) -> float:
    values = [function(*chosen) for chosen in combinations(rows, degree)]
    return math.fsum(values) / len(values)


RATIOS: dict[str, Any] = {
    "kendall-b": lambda rows: _over(
        rows,
        lambda a, b: sign(a[0] - b[0]) * sign(a[1] - b[1]),
        lambda a, b: a[0] != b[0],
        lambda a, b: a[1] != b[1],
    ),
    "concordance": lambda rows: _over(
        rows,
        lambda a, b: 0.5 * (1 + sign(a[0] - b[0]) * sign(a[1] - b[1])) if a[0] != b[0] else 0.0,
        lambda a, b: a[0] != b[0],
    ),
    "correlation": lambda rows: float(np.corrcoef(np.array(rows).T)[0, 1]),
}


def _over(rows: list[Any], numerator: Any, *denominators: Any) -> float:
    below = [mean_over(d, rows) for d in denominators]
    return mean_over(numerator, rows) / math.prod(below) ** (1.0 / len(below))


def lower(values: list[float]) -> float:
    return sorted(values)[(len(values) + 1) // 2 - 1]


@pytest.mark.parametrize("n_blocks", [1, 3])
@pytest.mark.parametrize("name", PLAIN)
@pytest.mark.one_in(2)
def test_every_kernel_of_pairs_is_that_of_plain_loops(lake: Path, name: str, n_blocks: int) -> None:
    kernel, n_columns, function = PLAIN[name]
    columns = ["x", "y", "z"][:n_columns]
    if kernel.name in ("clustering", "mahalanobis"):
        columns = ["k", *columns[1:]]
    found = dm.ustatistic(lake, columns, kernel=kernel, rng=0, blocks=n_blocks)
    blocks = blocks_of(lake, columns, n_blocks)
    expected = [mean_over(function, rows) for rows in blocks]
    assert found.block_estimates == pytest.approx(expected, rel=1e-10, abs=1e-12)
    assert found.estimate == pytest.approx(lower(expected), rel=1e-10, abs=1e-12)
    assert found.n_pairs == sum(math.comb(len(rows), 2) for rows in blocks)
    assert found.n_used == sum(map(len, blocks))


@pytest.mark.parametrize("n_blocks", [1, 3])
@pytest.mark.parametrize("name", RATIOS)
def test_ratios_are_medians_of_the_ratios_of_blocks(lake: Path, name: str, n_blocks: int) -> None:
    found = dm.ustatistic(lake, ["x", "y"], kernel=name, rng=0, blocks=n_blocks)
    expected = [RATIOS[name](rows) for rows in blocks_of(lake, ["x", "y"], n_blocks)]
    assert found.estimate == pytest.approx(lower(expected), rel=1e-10, abs=1e-12)


@pytest.mark.parametrize("form", ["u", "v"])
@pytest.mark.parametrize("n_blocks", [1, 3])
def test_covariance_matrices_are_medians_entry_by_entry(lake: Path, n_blocks: int, form: str) -> None:
    columns = ["x", "y", "z"]
    found = dm.ustatistic(lake, columns, kernel="covariance", statistic=form, rng=0, blocks=n_blocks)
    blocks = [np.array(rows) for rows in blocks_of(lake, columns, n_blocks)]
    expected = [np.cov(rows.T, ddof=1 if form == "u" else 0) for rows in blocks]
    assert found.block_estimates == pytest.approx(np.array(expected), rel=1e-10, abs=1e-12)
    entries = [[lower([m[a, b] for m in expected]) for b in range(3)] for a in range(3)]
    assert found.estimate == pytest.approx(np.array(entries), rel=1e-10, abs=1e-12)
    assert [r["column"] for r in found.records()][:2] == ["x, x", "x, y"]
    variance = dm.ustatistic(lake, "x", kernel="variance", statistic=form, rng=0, blocks=1)
    x = np.array(blocks_of(lake, ["x"], 1)[0])[:, 0]
    assert variance.estimate == pytest.approx(x.var(ddof=1 if form == "u" else 0), rel=1e-12)


def test_matrices_are_projected_and_have_intervals_or_a_radius() -> None:
    g = np.random.default_rng(0)
    x = g.normal(size=(3, 4_000))
    data = {"a": x[0], "b": x[0] + 1e-3 * x[1], "c": 100.0 * x[2]}
    true = np.array([[1.0, 1.0, 0.0], [1.0, 1.0 + 1e-6, 0.0], [0.0, 0.0, 1e4]])
    plain = dm.ustatistic(data, kernel="covariance", rng=0)
    assert (plain.intervals[..., 0] < true).all() and (true < plain.intervals[..., 1]).all()
    assert plain.interval is None and plain.remarks() == []
    psd = dm.ustatistic(data, kernel="covariance", project="psd", rng=0)
    assert np.linalg.eigvalsh(psd.estimate)[0] >= -1e-9
    whole = dm.ustatistic(data, kernel="covariance", project="correlation", rng=0)
    assert np.diagonal(whole.estimate).tolist() == [1.0] * 3 and whole.estimate[0, 1] == pytest.approx(
        1, abs=1e-3
    )
    assert whole.intervals is None and "kernel='correlation'" in whole.interval_reason
    assert np.diagonal(whole.plain_estimate).tolist() == [1.0] * 3
    ball = dm.ustatistic(data, kernel="covariance", joint="geometric", rng=0, blocks=9)
    assert np.linalg.norm(ball.estimate - true) < ball.radius and np.array_equal(
        ball.estimate, ball.estimate.T
    )


def both_samples(folder: Path) -> list[Path]:
    g = np.random.default_rng(7)
    for name, sizes in (("a", (9, 14, 0)), ("b", (12, 7))):
        for i, n in enumerate(sizes):
            x = np.round(4.0 * g.normal(size=n)) / 4.0
            write(folder / name / f"{i}.parquet", {"x": x, "y": g.normal(size=n)})
    return [folder / "a", folder / "b"]


@pytest.mark.parametrize("n_blocks", [1, 3])
def test_two_samples_are_paired_block_by_block(tmp_path: Path, n_blocks: int) -> None:
    lakes = both_samples(tmp_path)
    found = dm.ustatistic(lakes, "x", kernel="auc", rng=0, blocks=n_blocks)
    pairs = list(zip(*(blocks_of(lake, ["x"], n_blocks, 0, s) for s, lake in enumerate(lakes)), strict=True))
    wins = [[(a < b) + 0.5 * (a == b) for (a,) in x for (b,) in y] for x, y in pairs]
    assert found.block_estimates == pytest.approx([sum(w) / len(w) for w in wins], rel=1e-12)
    assert found.n_pairs == sum(map(len, wins)) and found.n_used_by_sample == (23, 19)
    assert found.n_rows == found.n_used == 42 and found.data["n_files"] == 5
    columns = ["x", "y"]
    pairs = list(
        zip(*(blocks_of(lake, columns, n_blocks, 0, s) for s, lake in enumerate(lakes)), strict=True)
    )
    energy = dm.ustatistic(lakes, columns, kernel="energy", rng=0, blocks=n_blocks)
    expected = []
    for x, y in pairs:
        across = [math.dist(a, b) for a in x for b in y]
        expected.append(
            2.0 * math.fsum(across) / len(across) - mean_over(math.dist, x) - mean_over(math.dist, y)
        )
    assert energy.block_estimates == pytest.approx(expected, rel=1e-9, abs=1e-12)
    paired = (math.comb(len(x), 2) + math.comb(len(y), 2) + len(x) * len(y) for x, y in pairs)
    assert energy.n_pairs == sum(paired)


def test_two_samples_of_one_distribution() -> None:
    """Energy distance and AUC of 100,000 rows each: six standard deviations of the complete statistics."""
    g = np.random.default_rng(1)
    x, y = g.normal(size=(2, 100_000))
    energy = dm.ustatistic([x, y], kernel="energy", rng=0)
    assert energy.n_blocks == 9 and abs(energy.estimate) < 1e-3
    auc = dm.ustatistic([x, y], kernel="auc", rng=0)
    assert abs(auc.estimate - 0.5) < 6 * 1.25 * np.sqrt(1.0 / 6.0 / 100_000) and auc.interval is not None
    moved = dm.ustatistic([x, y + 0.1], kernel="energy", rng=0)
    assert moved.interval is not None and moved.interval[0] > 0.0


def test_triples_and_functions_of_users(lake: Path) -> None:
    blocks = blocks_of(lake, ["x"], 3)
    found = dm.ustatistic(lake, "x", kernel="third-moment", rng=0, blocks=3)
    assert found.estimate == pytest.approx(lower([mean_over(triple, rows, 3) for rows in blocks]), rel=1e-10)
    far = dm.kernels.kernel(lambda a, b: np.abs(a - b) > 1.0)
    found = dm.ustatistic(lake, "x", kernel=far, rng=0, blocks=3)
    expected = [mean_over(lambda a, b: float(abs(a[0] - b[0]) > 1.0), rows) for rows in blocks]
    assert found.estimate == pytest.approx(lower(expected), rel=1e-12)


def test_the_v_form_counts_pairs_of_a_row_with_itself(lake: Path) -> None:
    found = dm.ustatistic(lake, "x", kernel="gini", statistic="v", rng=0, blocks=3)
    expected = [
        np.abs(np.subtract.outer(*(np.array(rows)[:, 0],) * 2)).mean() for rows in blocks_of(lake, ["x"], 3)
    ]
    assert found.block_estimates == pytest.approx(expected, rel=1e-12)


def test_with_one_block_neither_rows_nor_files_have_an_order(lake: Path, tmp_path: Path) -> None:
    rows = [values for _, _, values in rows_of(lake, ["x", "y"])]
    g = np.random.default_rng(0)
    order = g.permutation(len(rows))
    for number, part in enumerate(np.array_split(order, 9)):
        x, y = zip(*(rows[i] for i in part), strict=True)
        write(tmp_path / "moved" / f"{number}.parquet", {"x": list(x), "y": list(y)})
    for kernel, columns in (("gini", "x"), ("kendall", ["x", "y"]), ("distance", ["x", "y"])):
        first, other = (
            dm.ustatistic(folder, columns, kernel=kernel, rng=0, blocks=1)
            for folder in (lake, tmp_path / "moved")
        )
        assert other.estimate == pytest.approx(first.estimate, rel=1e-12)
        assert other.n_pairs == first.n_pairs


@pytest.mark.slow
def test_groups_are_those_of_a_filter(tmp_path: Path) -> None:
    folder = dirty_lake(tmp_path / "lake", rows=100)
    grouped = dm.ustatistic(folder, "x", kernel="gini", by=["key", "name"], where="u > 0.1", rng=0, blocks=1)
    assert len(grouped) == 12
    for result in grouped:
        key, name = result.group["key"], result.group["name"]
        alone = (
            dm.ustatistic(
                folder,
                "x",
                kernel="gini",
                where=f"u > 0.1 and key == {key} and name == '{name}'",
                rng=0,
                blocks=1,
            )
            if np.isfinite(result.estimate)
            else result
        )
        assert (result.estimate, result.n_pairs) == (alone.estimate, alone.n_pairs)


def test_non_finite_blocks_and_nan_that_stays() -> None:
    x = np.random.default_rng(0).normal(size=2_000)
    x[0], x[1] = np.inf, np.nan
    kept = dm.ustatistic(dm.scan(x, nan="keep"), kernel="gini", rng=0, blocks=9)
    assert kept.n_non_finite_blocks in (1, 2) and np.isfinite(kept.estimate)
    left_out = dm.ustatistic(x, kernel="gini", rng=0, blocks=9)
    assert (left_out.n_nan, left_out.n_inf, left_out.n_used) == (1, 1, 1_999)
    with pytest.raises(dm.DataError, match="NaN in row 1"):
        dm.ustatistic(dm.scan(x, nan="raise"), kernel="gini", rng=0)
    x[::3] = np.inf
    with pytest.raises(dm.NoAnswerError, match="9 of 9 blocks are non-finite"):
        dm.ustatistic(x, kernel="gini", rng=0, blocks=9)


def test_a_constant_column_and_few_rows() -> None:
    same = dm.ustatistic(np.full(2_000, 7.0), kernel="gini", rng=0)
    assert (same.estimate, same.interval) == (0.0, (0.0, 0.0))
    few = dm.ustatistic(np.arange(30.0), kernel="gini", rng=0)
    assert few.flags == ("sample mean, no guarantee",) and few.estimate == pytest.approx(31 / 3)
    lowered = dm.ustatistic(np.arange(9.0), kernel="gini", rng=0, blocks=7)
    assert lowered.interval is None and "lowered from 7" in lowered.notes[0]
    with pytest.raises(dm.NoAnswerError, match="takes 2"):
        dm.ustatistic(np.array([1.0]), kernel="gini", rng=0)


FEW = dm.CompletePairs(100)
REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "columns": ({"column": ["x", "y"], "kernel": "third-moment", "by": "x"}, "also a column"),
    "more columns": ({"column": ["x"], "kernel": "kendall"}, "takes 2 columns, got 1"),
    "name": ({"column": "x", "kernel": "ginny"}, "did you mean 'gini'"),
    "parameters": ({"column": ["x"], "kernel": "rbf"}, "bandwidth"),
    "pairs": ({"column": "x", "kernel": "gini", "pairs": "all"}, "pairs: must be one of"),
    "budget": (
        {"column": ["x", "y"], "kernel": "distance", "blocks": 3, "pairs": FEW},
        "blocks or more",
    ),
    "where budget": (
        {"column": ["x", "y"], "kernel": "distance", "blocks": 3, "pairs": FEW, "where": "k > 0"},
        "blocks or more",
    ),
    "paper": ({"column": "x", "kernel": "gini", "blocks": "paper", "confidence_level": 0.999999}, "admit"),
    "project": ({"column": "x", "kernel": "gini", "project": "psd"}, "kernels with a matrix"),
    "order": (
        {"column": ["x", "y"], "kernel": "covariance", "joint": "geometric", "interval": "order"},
        "matrices have no order",
    ),
    "two samples": ({"column": "x", "kernel": "auc"}, "list of two"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_is_refused_in_one_line(lake: Path, name: str) -> None:
    options, words = REFUSED[name]
    with pytest.raises(dm.ConfigError, match=words) as refused:
        dm.ustatistic(lake, rng=0, **options)
    assert "\n" not in str(refused.value)


def test_streams_and_times_are_refused(tmp_path: Path) -> None:
    table = pa.table({"x": np.arange(100.0)})
    with pytest.raises(dm.ConfigError, match="read only once"):
        dm.ustatistic(table.to_reader(), "x", kernel="gini", rng=0)
    assert dm.ustatistic(table.to_reader(), "x", kernel="variance", rng=0).n_used == 100
    times = pa.table({"t": pa.array(range(9), pa.timestamp("s"))})
    with pytest.raises(dm.DataError, match="holds timestamps"):
        dm.ustatistic(times, "t", kernel="gini", rng=0)


@pytest.mark.slow
def test_too_many_groups_are_refused_with_what_helps() -> None:
    data = pa.table({"k": np.arange(200_000) % 60_000, "x": np.random.default_rng(0).normal(size=200_000)})
    words = (
        r"60,000 groups need \d+ MB .* group by fewer values, filter with where, or allow more memory_limit"
    )
    with pytest.raises(dm.ResourceError, match=words):
        dm.ustatistic(data, "x", kernel="gini", by="k", rng=0, executor=dm.Threads(1, memory_limit="300MB"))
