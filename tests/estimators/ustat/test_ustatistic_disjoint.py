"""`dm.ustatistic` on disjoint pairs: those of plain loops, their variance, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from mean_lakes import dirty_lake
from ustat_twin import blocks_of, rows_of

import distmom as dm
from distmom.numerics.random.philox import permutation, resolve_seed, stream_key
from distmom.theory.bounds import width_factor

SIX_SIGMA = 6.0  # of a normal distribution


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return dirty_lake(tmp_path_factory.mktemp("lake"))


def run(data: Any, column: Any = "y", **options: Any) -> Any:
    given = {"kernel": "gini", "pairs": "disjoint", "rng": 0, "executor": dm.Threads(1), **options}
    return dm.ustatistic(data, given.pop("column", column), **given)


@pytest.mark.parametrize("n_blocks", [1, 5])
def test_random_pairs_are_those_of_plain_loops(lake: Path, n_blocks: int) -> None:
    found = run(lake, blocks=n_blocks)
    place = {value: i for i, (_, _, (value,)) in enumerate(rows_of(lake, ["y"]))}
    key, expected, n_pairs = stream_key(resolve_seed(0)[0], "disjoint"), [], 0
    for block, rows in enumerate(blocks_of(lake, ["y"], n_blocks)):
        y = np.array(sorted((v for (v,) in rows), key=place.__getitem__))
        y = y[permutation(key, block, y.size, compiled=False)]
        first, second = y[: y.size // 2 * 2].reshape(-1, 2).T
        expected.append(np.abs(first - second).mean())
        n_pairs += first.size
    assert found.block_estimates == pytest.approx(np.array(expected), rel=1e-10)
    assert found.estimate == pytest.approx(sorted(expected)[(n_blocks + 1) // 2 - 1], rel=1e-10)
    assert found.n_pairs == n_pairs and found.pairs == "disjoint"
    assert found.plain_estimate == pytest.approx(np.mean(expected), rel=0.01)


def test_a_sorted_column_and_its_intervals() -> None:
    x = np.random.default_rng(0).normal(size=40_000)
    mean, variance = 2.0 / np.sqrt(np.pi), 2.0 - 4.0 / np.pi
    ordered = np.sort(x)
    assert abs(run(ordered, None).estimate - mean) < SIX_SIGMA * np.sqrt(np.pi / 2 * variance / 20_000)
    for options in ({}, {"blocks": 21}, {"interval": "cantelli", "blocks": 21}):
        found = run(x, None, **options)
        assert abs(found.estimate - mean) < SIX_SIGMA * np.sqrt(np.pi / 2 * variance / 20_000)
        assert found.interval[0] < mean < found.interval[1] and found.status == "ok"
    half = found.interval[1] - found.estimate
    right = width_factor(21, 0.01) * np.sqrt(variance * 21 / 20_000)
    assert half == pytest.approx(right, rel=0.05)  # a median of 21 variances of 952 pairs each
    paper = run(x, None, blocks="paper", interval="closed-form")
    assert paper.n_blocks == 21 and paper.interval[0] < mean < paper.interval[1]


def test_the_interval_of_a_ratio() -> None:
    """tau-b without ties is tau-a, whose kernel has the variance 1 - tau^2."""
    g = np.random.default_rng(1)
    x = g.normal(size=20_000)
    data = {"x": x, "y": 0.5 * x + g.normal(size=x.size)}
    a, b = (run(data, None, kernel=name, blocks=7, interval="cantelli") for name in ("kendall", "kendall-b"))
    assert a.estimate == b.estimate
    assert b.interval == pytest.approx(a.interval, rel=0.02)


def test_few_rows_and_a_dry_run(lake: Path) -> None:
    few = run(np.arange(7.0), None, blocks=3)
    assert few.n_pairs == 3 and few.n_blocks == 1 and few.status == "dominated by few rows"
    enough = run(np.arange(20.0), None, blocks=3)
    assert enough.n_pairs == 9 and enough.n_blocks == 3 and enough.status == "ok"
    with pytest.raises(dm.NoAnswerError, match="takes 2"):
        run(np.array([1.0]), None)
    assert run(np.full(2_000, 7.0), None).interval == (0.0, 0.0)
    plan = dm.explain(dm.ustatistic, lake, ["y", "u"], kernel="distance", pairs="disjoint", blocks=1)
    assert plan["tuples_one_by_one"] == plan["n_rows"] // 2 and plan["pairs"] == "disjoint"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"blocks": dm.SampledBlocks()}, "use RandomBlocks, or SampledPairs"),
        ({"statistic": "v"}, "not paired with themselves"),
        ({"kernel": "covariance", "column": ["x", "y"]}, "use CompletePairs"),
        ({"kernel": "auc"}, "give a list of two lakes"),
        ({"blocks": dm.StoredBlocks()}, "use RandomBlocks"),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(lake: Path, options: dict[str, Any], words: str) -> None:
    with pytest.raises(dm.ConfigError, match=words) as refused:
        run(lake, **options)
    assert "\n" not in str(refused.value)


def test_two_samples_have_no_stored_order_either(lake: Path) -> None:
    with pytest.raises(dm.ConfigError, match="use RandomBlocks"):
        run([lake, lake], kernel="auc", blocks=dm.StoredBlocks())
