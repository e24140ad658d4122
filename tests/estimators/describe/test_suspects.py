"""Who is named: damages of each kind are, honest differences between files are not."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from distmom.estimators.describe.suspects import UnitFacts, robust_z_scores, suspects

Distribution = Callable[[np.random.Generator, int], np.ndarray]

DISTRIBUTIONS: dict[str, Distribution] = {
    "normal": lambda g, n: g.normal(3.0, 1.0, n),
    "student 3": lambda g, n: g.standard_t(3, n),
    "log-normal": lambda g, n: g.lognormal(0.0, 1.0, n),
    "exponential": lambda g, n: g.exponential(size=n),
    "uniform": lambda g, n: g.random(n),
    "whole": lambda g, n: g.integers(0, 10, n).astype(float),
    "90% zeros": lambda g, n: g.exponential(size=n) * (g.random(n) < 0.1),
    "one in a hundred": lambda g, n: (g.random(n) < 0.01).astype(float),
}


def facts_of(files: list[np.ndarray]) -> UnitFacts:
    """Plain loops."""
    used = [x[~np.isnan(x)] for x in files]
    return UnitFacts(
        np.array([x.size for x in files]),
        np.array([u.size for u in used]),
        np.array([u.mean() if u.size else 0.0 for u in used]),
        np.array([u.var(ddof=1) if u.size > 1 and np.isfinite(u).all() else np.nan for u in used]),
        np.array([u.min(initial=np.inf) for u in used]),
        np.array([u.max(initial=-np.inf) for u in used]),
    )


def named(files: list[np.ndarray]) -> list[tuple[int, str]]:
    rows = np.concatenate(files)
    sample = np.random.default_rng(0).permutation(rows[~np.isnan(rows)])[:16_384]
    return [(f.unit, f.what) for f in suspects(facts_of(files), sample)]


def lake(
    distribution: str, seed: int, n_files: int = 60, rows: int = 300, factor: float = 0.0
) -> list[np.ndarray]:
    """Files of unequal sizes; with `factor` also with factors of their own, as shops or countries have."""
    g = np.random.default_rng(seed)
    sizes = np.maximum(20, rows * g.lognormal(0.0, 0.7, n_files)).astype(int)
    return [DISTRIBUTIONS[distribution](g, n) * np.exp(factor * g.normal()) for n in sizes]


@pytest.mark.parametrize("factor", [0.0, 0.5])
@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
def test_clean_files_are_not_named(distribution: str, factor: float) -> None:
    # of 1,200 such lakes of other seeds one named a file: these fixed 80 had a chance of 7% to fail
    for seed in range(5):
        assert named(lake(distribution, seed, factor=factor)) == [], seed


DAMAGES: dict[str, tuple[Callable[[np.ndarray], np.ndarray], str]] = {
    "constant": (lambda x: np.full_like(x, -999.0), "constant"),
    "zeros": (lambda x: np.zeros_like(x), "constant"),
    "thousand": (lambda x: 1_000.0 * x, "scale"),
    "shifted": (lambda x: x + 20.0, "mean"),
    "nothing": (lambda x: np.full_like(x, np.nan), "no values"),
    "missing": (lambda x: np.where(np.arange(x.size) % 2 == 0, np.nan, x), "missing"),
}


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("distribution", ["normal", "log-normal", "whole"])
def test_a_damaged_file_is_named_alone(distribution: str, damage: str) -> None:
    change, what = DAMAGES[damage]
    for bad in (4, 17):
        files = lake(distribution, 1)
        files[bad] = change(files[bad])
        assert named(files) == [(bad, what)]


def test_a_sign_is_read_from_the_mean_or_from_the_longer_tail() -> None:
    files = lake("normal", 2)
    files[3] = -files[3]
    assert named(files) == [(3, "sign")]
    centred = [x - 2.0 for x in lake("log-normal", 3, factor=0.2)]  # means of both signs
    centred[5] = -centred[5]
    assert [unit for unit, _ in named(centred)] == [5]
    symmetric = lake("student 3", 4)  # the same distribution, mirrored: nothing to see
    symmetric[5] = -symmetric[5]
    assert named(symmetric) == []


def test_a_file_beyond_the_mean_of_files_that_differ_widely() -> None:
    g = np.random.default_rng(0)
    files = [g.exponential(10.0, 500) - 2.0 + 6.0 * g.normal() ** 2 for _ in range(50)]
    files[7] = files[7] - files[7].min() + 200.0
    assert [unit for unit, _ in named(files)] == [7]


def test_one_outlying_row_is_not_the_file_s_mean() -> None:
    files = lake("student 3", 5)
    files[9][0] = 30.0 * np.sqrt(files[9].size)  # moves the mean by far more than the noise
    assert named(files) == []
    files[9][0] = 1e6  # but this makes the file a thousand times as wide
    assert named(files) == [(9, "scale")]


def test_few_files_constant_files_and_infinities() -> None:
    assert named([np.arange(5.0)] * 8 + [np.full(5, 1e6)]) == []  # nine files
    assert named([np.full(5, float(i)) for i in range(31)]) == []  # each of one day
    assert named([np.full(5, 2013.0)] * 31) == []
    files = lake("normal", 6)
    files[2][0] = np.inf
    assert named(files) == [(2, "mean")]


def test_spreads_are_of_each_side() -> None:
    values = np.array([0.0, 0.0, -1.0, -2.0, 10.0, 20.0, np.nan])
    typical, z = robust_z_scores(values)
    assert typical == 0.0 and np.isnan(z[-1])
    factor = 1.4826 * (1 + 2 * 1.17 / np.sqrt(4))
    up, down = factor * np.median([0, 0, 10, 20]), factor * np.median([0, 0, 1, 2])
    assert z[:-1].tolist() == pytest.approx([0, 0, 1 / down, 2 / down, 10 / up, 20 / up])
    assert robust_z_scores(np.full(4, 3.0))[1].tolist() == [0.0] * 4
