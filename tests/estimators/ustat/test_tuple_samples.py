"""Samples of the tuples of several lakes: what they average, their distribution, variance and interval."""

from __future__ import annotations

import tracemalloc
from itertools import combinations, product
from math import comb, prod
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gather_lakes import all_rows, row_source, sampled_tuples
from kernel_twins import statistic
from mean_lakes import dirty_lake, same

import distmom as dm
from distmom import kernels
from distmom.cluster import ThreadExecutor
from distmom.estimators.ustat.tuple_samples import SampledTuples
from distmom.numerics.kernels.evaluate import block_sums
from distmom.numerics.kernels.kernel import Kernel
from distmom.numerics.random.philox import resolve_seed, stream_key
from distmom.numerics.random.tuple_draws import sample_tuples
from distmom.passes import draws
from distmom.passes.gather import RowSource
from distmom.reductions.rows.gather import GatheredRows
from distmom.theory.resampled import resampled_margin
from distmom.theory.tuples import incomplete_variance, pair_inverse_inclusion

SIX_SIGMA = 6.0  # of a normal distribution: 2e-9
SEED = resolve_seed(7)[0]


def between(x: Any, other: Any, y: Any) -> Any:
    """Whether a row of the second sample lies between two of the first."""
    return (np.minimum(x, other) < y) & (y < np.maximum(x, other))


KERNELS: dict[str, Kernel] = {
    "auc": kernels.auc(),
    "energy": kernels.energy(),
    "mean-difference": kernels.mean_difference(),
    "of degrees 2, 1": kernels.kernel(between, (2, 1)),
}


def drawn(data: list[Any], kernel: Kernel, *args: Any, **options: Any) -> SampledTuples:
    with row_source({"x": data[0]}) as first, row_source({"x": data[1]}) as second:
        return sampled_tuples(kernel, [first, second], *args, **options)[0]


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    root = tmp_path_factory.mktemp("lakes")
    return [dirty_lake(root / "a", rows=12), dirty_lake(root / "b", seed=5, rows=20)]


@pytest.mark.parametrize("replace", [False, True])
@pytest.mark.parametrize("name", list(KERNELS))
@pytest.mark.one_in(3)
def test_values_are_means_over_the_tuples_drawn(both: list[Path], name: str, replace: bool) -> None:
    """The slow twin: the kernel's value at the tuples of both lakes, those with a missing row left out."""
    kernel = KERNELS[name]
    options: dict[str, Any] = {"pairs": dm.SampledPairs(300, replace), "blocks": 5, "rng": 7}
    column = "y" if name in ("energy", "mean-difference") else "x"  # with nulls, NaN and an infinite value
    found = dm.ustatistic(both, column, kernel=kernel, executor=dm.Threads(1), **options)
    rows = [all_rows(lake, [column])[0][:, 0] for lake in both]
    key = stream_key(SEED, f"tuples of {', '.join(map(str, kernel.degrees))}")
    sizes, of = tuple(x.size for x in rows), np.repeat([0, 1], kernel.degrees)
    expected, n_tuples = [], 0
    for block in range(5):
        sides = sample_tuples(key, block, sizes, kernel.degrees, 300, replace=replace)
        values = [rows[s][side] for s, side in zip(of, sides, strict=True)]
        good = ~np.isnan(values).any(axis=0)
        expected.append(kernel.value(*(kernel.as_sample(v[good]) for v in values)).mean())
        n_tuples += int(good.sum())
    assert found.block_estimates == pytest.approx(np.array(expected), rel=1e-10)
    assert found.estimate == pytest.approx(sorted(expected)[2], rel=1e-10)
    assert found.n_pairs == n_tuples <= 1500 and found.pairs == "incomplete"
    assert found.n_used_by_sample == tuple(int((~np.isnan(x)).sum()) for x in rows)
    left_out = [note for note in found.notes if f"{1500 - n_tuples} of 1,500" in note]
    assert bool(left_out) == (n_tuples < 1500) == (column == "x")
    plan = dm.explain(dm.ustatistic, both, column, kernel=kernel, **options)
    assert (plan["n_blocks"], plan["n_pairs"], plan["n_rows"]) == (5, 300, sum(sizes))
    assert plan["rows_drawn"] == 1500 * sum(kernel.degrees)


@pytest.mark.parametrize("name", list(KERNELS))
def test_all_tuples_give_the_complete_statistic(name: str) -> None:
    kernel, g = KERNELS[name], np.random.default_rng(1)
    data = [g.integers(0, 9, 7).astype(float), g.integers(2, 11, 5).astype(float)]  # with ties
    n_tuples = prod(map(comb, (7, 5), kernel.degrees))
    found = drawn(data, kernel, 0, 2, n_tuples)
    complete = statistic(kernel, block_sums(kernel, *map(kernel.as_sample, data)))
    np.testing.assert_allclose(found.values, complete, rtol=1e-12)
    choices = product(*(combinations(x, d) for x, d in zip(data, kernel.degrees, strict=True)))
    tuples = np.array([sum(chosen, ()) for chosen in choices])
    loop = kernel.value(*(kernel.as_sample(side) for side in tuples.T))
    np.testing.assert_allclose(found.values, np.mean(loop), rtol=1e-12)


@pytest.mark.parametrize("replace", [False, True])
@pytest.mark.slow
def test_variance_over_samples_of_two_lakes(replace: bool) -> None:
    """Given the data the samples are independent: (N - M)/(N - 1) S^2/M, or S^2/M with replacement."""
    g, kernel = np.random.default_rng(2), KERNELS["of degrees 2, 1"]
    data = [g.normal(size=6), g.normal(size=5)]  # 15 * 5 tuples
    values = drawn(data, kernel, 6, 3000, 20, replace=replace).values
    sums = block_sums(kernel, *data)[0]
    s2 = sums.second - sums.mean**2
    right = s2 / 20 * (1.0 if replace else (75 - 20) / 74)
    # nearly normal means: the variance has a relative error of sqrt(2/3000) = 2.6%; bounds at five of it
    assert abs(values.var() / right - 1.0) < 0.13
    assert replace or abs(values.var() / (s2 / 20) - 1.0) > 0.13  # the negative control
    assert abs(values.mean() - sums.mean) < SIX_SIGMA * np.sqrt(right / 3000)


@pytest.mark.slow
@pytest.mark.parametrize(("replace", "right"), [(False, 0.5724), (True, 0.6438)])
@pytest.mark.one_in(2)
def test_variance_over_data_and_draws(replace: bool, right: float) -> None:
    """M = 8 of the 20 pairs of 4 and 5 normal rows, y - x: Var(U_n) = 1/4 + 1/5, Var(h) = 2."""
    n_data, key = 5000, stream_key(9, "tuples of 1, 1")
    data = np.random.default_rng(3).normal(size=(n_data, 9))
    values = np.empty(n_data)
    for r, rows in enumerate(data):
        first, second = sample_tuples(key, r, (4, 5), (1, 1), 8, replace=replace)
        values[r] = (rows[4 + second] - rows[first]).mean()
    assert incomplete_variance(0.45, 2.0, (4, 5), 8, replacement=replace, degree=(1, 1)) == pytest.approx(
        right, abs=1e-4
    )
    error = right * np.sqrt(2.0 / n_data)  # normal values; bounds at 4.5 of it, 1e-5
    assert abs(values.var() - right) < 4.5 * error
    if not replace:  # with a plus in the last bracket, as published
        assert abs(values.var() - (0.45 + 12 / 19 * 2.45 / 8)) > 4.5 * error
    else:
        assert abs(values.var() - 0.45) > 4.5 * error


def test_how_often_a_row_is_used() -> None:
    """By enumeration: sets of M of the 18 tuples of two of 4 and one of 3 rows."""
    tuples = list(product(combinations(range(4), 2), range(3)))
    for m in (1, 2, 4):
        sets = list(combinations(tuples, m))
        used = [
            np.mean([any(0 in pair for pair, _ in chosen) for chosen in sets]),
            np.mean([any(single == 0 for _, single in chosen) for chosen in sets]),
        ]
        found = pair_inverse_inclusion((4, 3), m, replacement=False, degree=(2, 1))
        assert found == pytest.approx(1.0 / max(used))
    again = pair_inverse_inclusion((4, 3), 3, replacement=True, degree=(2, 1))
    assert again == pytest.approx(1.0 / (1.0 - 0.5**3))


@pytest.mark.slow
def test_variances_and_margin_are_those_of_theory() -> None:
    g = np.random.default_rng(5)
    data = [g.normal(size=20_000), g.normal(size=8_000)]
    means = drawn(data, KERNELS["mean-difference"], 8, 11, 20_000)
    complete, kernel_variance = means.variances((20_000, 8_000))
    assert abs(kernel_variance / 2.0 - 1.0) < 0.05
    assert abs(complete / (1 / 20_000 + 1 / 8_000) - 1.0) < 0.15  # medians of groups, biased low
    how: dict[str, Any] = {"replacement": False, "degree": (1, 1)}
    v = incomplete_variance(float(complete), float(kernel_variance), (20_000, 8_000), 20_000, **how)
    a = pair_inverse_inclusion((20_000, 8_000), 20_000, **how)
    assert means.margin(0.01, (20_000, 8_000)) == resampled_margin(v, 11, a, 0.01)
    # (X - Y)^2: zeta_10 = zeta_01 = Var(x^2 + 1) = 2
    square = kernels.kernel(lambda x, y: (x - y) ** 2, 2, n_samples=2)
    complete = drawn(data, square, 8, 11, 20_000).variances((20_000, 8_000))[0]
    assert abs(complete / (2 / 20_000 + 2 / 8_000) - 1.0) < 0.2
    # by the jackknife: beside 400 statistics of samples 500 times smaller
    kernel = KERNELS["of degrees 2, 1"]
    complete = drawn(data, kernel, 8, 11, 20_000).variances((20_000, 8_000))[0]
    many = zip(g.normal(size=(400, 40)), g.normal(size=(400, 16)), strict=True)
    found = [block_sums(kernel, *both, rows=False)[0].mean for both in many]
    assert 0.7 < 500 * complete / np.var(found) < 1.5
    energy = drawn(data, KERNELS["energy"], 8, 11, 20_000)  # degenerate
    assert 0.0 < energy.variances((20_000, 8_000))[0] < 0.1 * energy.variances((20_000, 8_000))[1] / 8_000


def test_any_cut_of_the_work(both: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    options: dict[str, Any] = {"pairs": dm.SampledPairs(60), "blocks": 5, "rng": 1, "where": "u > 0.2"}
    cut = {"data": [dm.scan(lake, batch_rows=17) for lake in both], "executor": dm.Threads(3)}
    for kernel in ("auc", "energy"):  # two results of one column, one of two columns
        right = dm.ustatistic(both, ["y", "u"], kernel=kernel, executor=dm.Threads(1), **options)
        assert same(right, dm.ustatistic(column=["y", "u"], kernel=kernel, **cut, **options))
        with monkeypatch.context() as patch:
            patch.setattr(draws, "MOST_ROWS", 100)  # intervals are from the rows of the first of its passes
            found = dm.ustatistic(column=["y", "u"], kernel=kernel, **cut, **options)
        for one, other in zip(np.ravel(right), np.ravel(found), strict=True):
            assert np.array_equal(one.block_estimates, other.block_estimates)


def test_defaults_outlying_rows_and_what_is_refused() -> None:
    g = np.random.default_rng(8)
    x, y = g.normal(size=3000), g.normal(size=2000) + 0.5
    options: dict[str, Any] = {"rng": 0, "confidence_level": 0.9}
    found = dm.ustatistic([x, y], kernel="mean-difference", pairs="sampled", blocks=11, **options)
    assert found.n_pairs == 11 * 10 * 5000  # ten for each row
    assert found.interval[0] < 0.5 < found.interval[1]
    x[:10] = -1e9
    few = dm.SampledPairs(100)
    outlying = dm.ustatistic([x, y], kernel="mean-difference", pairs=few, blocks=35, **options)
    assert abs(outlying.estimate - 0.5) < 0.5 and outlying.status == "share screened out"
    seven = dm.SampledPairs(7)
    with pytest.raises(dm.ConfigError, match=r"7 without repeats exceed the 6 that 3 and 2 rows"):
        dm.ustatistic([x[:3], y[:2]], kernel="auc", pairs=seven, blocks=3, **options)
    with pytest.raises(dm.ConfigError, match="rows are not paired with themselves"):
        dm.ustatistic([x, y], kernel="energy", pairs="sampled", statistic="v", **options)
    with pytest.raises(dm.NoAnswerError, match="the kernel takes 2"):
        dm.ustatistic([x, y[:1]], kernel="energy", pairs=seven, blocks=3, **options)


def test_lakes_of_thousands_of_millions_of_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """More pairs than 2**64: memory is that of the pairs drawn."""
    n = (6 * 10**9, 5 * 10**9)
    seen: list[np.ndarray] = []

    def rows(source: RowSource, wanted: np.ndarray, progress: Any) -> Any:
        seen.append(wanted)
        return GatheredRows(wanted[:, None] / source.n_rows, np.zeros(wanted.size, np.uint8)), ()

    monkeypatch.setattr(draws, "gather_rows", rows)
    with row_source({"x": np.arange(3.0)}) as small:
        both = [RowSource(small.reader, small.files, np.array([m]), ThreadExecutor(1)) for m in n]
        tracemalloc.start()
        found = sampled_tuples(KERNELS["auc"], both, 1, 5, 20_000)[0]
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert all(wanted[-1] > 2**32 and wanted.size > 99_900 for wanted in seen)
    assert np.abs(found.values - 0.5).max() < SIX_SIGMA * np.sqrt(0.25 / 20_000)
    assert peak < 200_000 * 8 * 12 and np.isfinite(found.margin(0.01, n))
