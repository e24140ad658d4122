"""U-statistics of weighted rows: tuples weigh the product of their rows' weights."""

from __future__ import annotations

from itertools import combinations, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from kernel_twins import PLAIN, statistic
from mean_lakes import dirty_lake
from ustat_twin import blocks_of

import distmom as dm
from distmom.numerics.kernels.components import jackknife_variance
from distmom.numerics.kernels.evaluate import block_sums
from distmom.numerics.kernels.sums import mass_at_rows, symmetric_sums


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return dirty_lake(tmp_path_factory.mktemp("lake"), n_files=5, rows=20)


def weighted_mean(function: Any, rows: list[Any]) -> float:
    """The double loop over rows whose last value is the weight."""
    pairs = list(combinations(rows, 2))
    masses = [a[-1] * b[-1] for a, b in pairs]
    return float(np.average([function(a[:-1], b[:-1]) for a, b in pairs], weights=masses))


@pytest.mark.parametrize("name", PLAIN)
@pytest.mark.one_in(3)
def test_blocks_are_double_loops(lake: Path, name: str) -> None:
    kernel, n_columns, function = PLAIN[name]
    columns = ["x", "y", "u"][:n_columns]
    if kernel.name in ("clustering", "mahalanobis"):
        columns = ["key", *columns[1:]]
    found = dm.ustatistic(lake, columns, kernel=kernel, weights="w", rng=0, blocks=3)
    blocks = blocks_of(lake, [*columns, "w"], 3, weighted=True)
    right = [weighted_mean(function, rows) for rows in blocks]
    assert found.block_estimates == pytest.approx(right, rel=1e-10, abs=1e-12)
    assert found.n_used == sum(map(len, blocks)) and found.weights == "w"
    assert found.n_unweighted > 0 and found.n_zero_weight > 0


def test_the_fast_forms_of_blocks(lake: Path) -> None:
    """One block: the weighted double loop over all complete rows of positive weight."""
    rows = [row for block in blocks_of(lake, ["y", "u", "w"], 1, weighted=True) for row in block]
    one = [(row[0], row[-1]) for row in blocks_of(lake, ["y", "w"], 1, weighted=True)[0]]
    options: dict[str, Any] = {"weights": "w", "blocks": 1, "rng": 0}
    gini = dm.ustatistic(lake, "y", kernel="gini", **options)
    assert gini.estimate == pytest.approx(weighted_mean(lambda a, b: abs(a[0] - b[0]), one), rel=1e-10)
    assert gini.plain_estimate == pytest.approx(gini.estimate, rel=1e-12)
    y, w = np.array(one).T
    assert gini.n_effective == pytest.approx(w.sum() ** 2 / (w**2).sum()) and gini.n_used == len(one)
    centre = np.average(y, weights=w)
    v = dm.ustatistic(lake, "y", kernel="variance", statistic="v", **options)
    assert v.estimate == pytest.approx(np.average((y - centre) ** 2, weights=w), rel=1e-10)
    w = np.array(rows)[:, -1]
    matrix = dm.ustatistic(lake, ["y", "u"], kernel="covariance", **options)
    right = np.cov(np.array(rows)[:, :2].T, aweights=w, ddof=0) * w.sum() ** 2 / (w.sum() ** 2 - (w**2).sum())
    assert matrix.estimate == pytest.approx(right, rel=1e-10)
    tau = dm.ustatistic(lake, ["y", "u"], kernel="kendall", **options)
    sign = weighted_mean(lambda a, b: np.sign(a[0] - b[0]) * np.sign(a[1] - b[1]), rows)
    assert tau.estimate == pytest.approx(sign, rel=1e-10)


def test_two_samples_are_weighted_each(lake: Path, tmp_path: Path) -> None:
    other = dirty_lake(tmp_path / "other", n_files=4, seed=5, rows=15)
    first, second = (np.array(blocks_of(one, ["y", "w"], 1, weighted=True)[0]) for one in (lake, other))
    found = dm.ustatistic([lake, other], "y", kernel="auc", weights="w", rng=0, blocks=1)
    wins = np.array([[float(a < b) + 0.5 * (a == b) for b in second[:, 0]] for a in first[:, 0]])
    assert found.estimate == pytest.approx(
        first[:, 1] @ wins @ second[:, 1] / first[:, 1].sum() / second[:, 1].sum()
    )
    difference = dm.ustatistic([lake, other], "y", kernel="mean-difference", weights="w", rng=0, blocks=1)
    means = [np.average(one[:, 0], weights=one[:, 1]) for one in (first, second)]
    assert difference.estimate == pytest.approx(means[1] - means[0], rel=1e-10)
    assert found.n_used_by_sample == (len(first), len(second))


@pytest.mark.parametrize("degree", [1, 2, 3, 4])
def test_masses_are_those_of_all_tuples(degree: int) -> None:
    w = np.random.default_rng(degree).random(7) + 0.1
    tuples = [(chosen, np.prod(w[list(chosen)])) for chosen in combinations(range(7), degree)]
    assert symmetric_sums(w, degree)[degree] == pytest.approx(sum(mass for _, mass in tuples), rel=1e-12)
    at_rows = [sum(mass for chosen, mass in tuples if i in chosen) for i in range(7)]
    assert mass_at_rows(w, degree) == pytest.approx(at_rows, rel=1e-12)


def test_the_jackknife_leaves_weighted_rows_out() -> None:
    g = np.random.default_rng(1)
    x, y, v, w = g.normal(size=9), g.normal(size=7), g.random(9) + 0.1, g.random(7) + 0.1
    for kernel, samples, weights in (
        (dm.kernels.gini(), (x,), (v,)),
        (dm.kernels.third_moment(), (x,), (v,)),
        (dm.kernels.energy(), (x[:, None], y[:, None]), (v, w)),
        (dm.kernels.correlation(), (np.column_stack([x, x + g.normal(size=9)]),), (v,)),
    ):
        found = jackknife_variance(kernel, block_sums(kernel, *samples, weights=weights), weights)
        right = 0.0
        for s, sample in enumerate(samples):
            left = []
            for i in range(len(sample)):
                kept = [np.delete(one, i, axis=0) if t == s else one for t, one in enumerate(samples)]
                masses = tuple(np.delete(one, i) if t == s else one for t, one in enumerate(weights))
                left.append(statistic(kernel, block_sums(kernel, *kept, weights=masses)))
            right += (len(left) - 1) / len(left) * np.sum((np.array(left) - np.mean(left)) ** 2)
        assert found == pytest.approx(right, rel=1e-9), kernel.name


@pytest.mark.slow
def test_intervals_cover_the_weighted_statistic() -> None:
    """Gini of normal rows under log-normal weights that do not depend on them: 2/sqrt(pi).

    ``cantelli`` at 90% with 9 blocks covers more than 98%, by which fewer than 18 of 20 have a probability
    below 0.007. The control: margins of error grow by the root of rows over effective rows, here about 1.6.
    """
    hits, ratio, growth = 0, [], []
    options: dict[str, Any] = {"kernel": "gini", "blocks": 9, "interval": "cantelli", "confidence_level": 0.9}
    for seed in range(20):
        g = np.random.default_rng(seed)
        x, w = g.normal(size=900), np.exp(g.normal(size=900))
        found = dm.ustatistic({"x": x, "w": w}, "x", weights="w", rng=seed, **options)
        plain = dm.ustatistic(x, rng=seed, **options)
        hits += found.interval[0] < 2.0 / np.sqrt(np.pi) < found.interval[1]
        ratio.append((found.interval[1] - found.interval[0]) / (plain.interval[1] - plain.interval[0]))
        growth.append(np.sqrt(900 / found.n_effective))
    assert hits >= 18
    assert np.mean(ratio) == pytest.approx(np.mean(growth), rel=0.15) and np.mean(growth) > 1.4


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"pairs": "disjoint"}, "pairs are formed with equal chances"),
        ({"blocks": dm.SampledBlocks()}, "equal chances"),
        ({"blocks": dm.RandomBlocks(repeats=3)}, "weighted rows are not repeated"),
        ({"interval": "closed-form"}, "unweighted"),
        (
            {"kernel": "distance", "column": ["x", "y"], "pairs": dm.CompletePairs(10)},
            "no fast form with weights",
        ),
    ],
)
def test_what_does_not_go_with_weights(lake: Path, options: dict[str, Any], words: str) -> None:
    with pytest.raises(dm.ConfigError, match=words) as refused:
        dm.ustatistic(lake, **{"column": "x", "kernel": "gini", "weights": "w", **options})
    assert "\n" not in str(refused.value)


def test_zero_rows_and_products() -> None:
    """Weights as counts: a row of weight 2 is, for the V-form, the same row twice."""
    x, w = np.array([1.0, 4.0, 6.0, 9.0]), np.array([2.0, 1.0, 0.0, 3.0])
    rows = np.repeat(x, w.astype(int))
    found = dm.ustatistic({"x": x, "w": w}, "x", kernel="gini", weights="w", statistic="v", blocks=1)
    assert found.estimate == pytest.approx(np.mean([abs(a - b) for a, b in product(rows, rows)]))
    assert (found.n_used, found.n_zero_weight) == (3, 1)
