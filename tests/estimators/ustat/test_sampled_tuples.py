"""Pairs sampled from all pairs of a lake: their distribution, their rows, and the variance of their means."""

from __future__ import annotations

import tracemalloc
from collections import Counter
from itertools import combinations
from math import comb
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gather_lakes import all_rows, row_source, sampled_tuples
from kernel_twins import statistic
from mean_lakes import dirty_lake, write
from scipy import stats

from distmom import kernels
from distmom.cluster import ThreadExecutor
from distmom.errors import ConfigError, NoAnswerError
from distmom.estimators.ustat.tuple_samples import SampledTuples
from distmom.numerics.kernels.evaluate import block_sums
from distmom.numerics.kernels.tuples import TupleMoments, part_weights
from distmom.numerics.random.philox import stream_key
from distmom.numerics.random.tuple_draws import sample_tuples
from distmom.passes import draws
from distmom.passes.gather import RowSource
from distmom.reductions.rows.gather import GatheredRows
from distmom.theory.resampled import resampled_margin
from distmom.theory.tuples import incomplete_variance, pair_inverse_inclusion

FAILURE = 1e-6  # chance that a correct implementation fails one test, had its seed been drawn anew
SIX_SIGMA = 6.0  # of a normal distribution: less than that
VARIANCE, GINI = kernels.variance(), kernels.gini()


def same(a: SampledTuples, b: SampledTuples) -> bool:
    arrays = [(x.moments.count, x.moments.mean, x.moments.product, x.values, x.spreads) for x in (a, b)]
    return all(np.array_equal(*pair, equal_nan=True) for pair in zip(*arrays, strict=True))


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return dirty_lake(tmp_path_factory.mktemp("pairs"))


@pytest.mark.parametrize("replace", [False, True])
@pytest.mark.parametrize("name", ["gini", "kendall", "correlation", "covariance"])
def test_values_are_means_over_the_pairs_drawn(lake: Path, name: str, replace: bool) -> None:
    kernel = kernels.named(name)
    columns = ["x"] if kernel.columns == 1 else ["x", "y"]
    with row_source(lake, columns) as source:
        found = sampled_tuples(kernel, [source], 7, 4, 500, replace=replace)[0]
    values, _ = all_rows(lake, columns)
    rows = kernel.as_sample(values)
    bad = np.isnan(values).any(axis=1)
    n_dropped = 0
    for block in range(4):
        pairs = sample_tuples(stream_key(7, "pairs"), block, (len(values),), (2,), 500, replace=replace)
        good = ~bad[pairs[0]] & ~bad[pairs[1]]
        n_dropped += int((~good).sum())
        first, second = (rows[side[good]] for side in pairs)
        with np.errstate(invalid="ignore"):  # one value is infinite
            means = [part.kernel.value(first, second).mean(axis=0) for part in kernel.parts]
            right = kernel.combine(*means)
        np.testing.assert_allclose(found.values[block], right, rtol=1e-10)
        assert found.moments.count[block] == good.sum()
    assert found.n_dropped == n_dropped > 0


def index_of_pair(x: Any, y: Any) -> Any:
    """A power of two that tells which of 36 pairs of numbers from 0 to 5 it is."""
    return 2.0 ** (6.0 * np.minimum(x, y) + np.maximum(x, y))


@pytest.fixture
def six_rows(tmp_path: Path) -> Path:
    for name, rows in {"a": [0, 1], "b": [], "c": [2], "d": [3, 4, 5]}.items():
        write(tmp_path / f"{name}.parquet", {"x": np.array(rows, float)})
    return tmp_path


def test_single_pairs_are_uniform_over_all_pairs_of_a_lake(six_rows: Path) -> None:
    kernel = kernels.kernel(index_of_pair, degree=2)
    with row_source(six_rows, "x") as source:
        found = sampled_tuples(kernel, [source], 3, 3000, 1)[0]
    seen = Counter(found.values.tolist())
    pairs = [2.0 ** (6 * i + j) for i, j in combinations(range(6), 2)]
    counts = [seen[pair] for pair in pairs]
    assert sum(counts) == 3000
    assert stats.chisquare(counts).pvalue > FAILURE
    inside = [c for c, (i, j) in zip(counts, combinations("aacddd", 2), strict=True) if i == j]
    assert 0 < sum(inside) < 3000  # within files and across files


@pytest.mark.slow
def test_samples_of_two_pairs_have_no_repeats_and_are_uniform(six_rows: Path) -> None:
    kernel = kernels.kernel(index_of_pair, degree=2)
    with row_source(six_rows, "x") as source:
        found = sampled_tuples(kernel, [source], 4, 5000, 2)[0]
        repeated = sampled_tuples(kernel, [source], 4, 5000, 2, replace=True)[0]
    pairs = [2.0 ** (6 * i + j) for i, j in combinations(range(6), 2)]
    sets = [(a + b) / 2.0 for a, b in combinations(pairs, 2)]
    seen = Counter(found.values.tolist())
    counts = [seen[value] for value in sets]
    assert sum(counts) == 5000
    assert stats.chisquare(counts).pvalue > FAILURE
    n_twice = sum(v in pairs for v in repeated.values.tolist())  # binomial(5000, 1/15)
    assert abs(n_twice - 5000 / 15) < SIX_SIGMA * np.sqrt(5000 / 15)


@pytest.mark.parametrize("name", ["gini", "variance", "kendall-b", "correlation", "third_moment"])
def test_all_pairs_give_the_complete_statistic(name: str) -> None:
    kernel = kernels.named(name)
    x = np.random.default_rng(1).normal(size=(24, 2)) @ np.array([[1.0, 0.5], [0.0, 1.0]])
    data = {"a": x[:, 0]} if kernel.columns == 1 else {"a": x[:, 0], "b": x[:, 1]}
    rows = kernel.as_sample(np.stack(list(data.values()), axis=1))
    with row_source(data) as source:
        found = sampled_tuples(kernel, [source], 0, 2, comb(24, kernel.degrees[0]))[0]
    complete = statistic(kernel, block_sums(kernel, rows))
    np.testing.assert_allclose(found.values, complete, rtol=1e-12)


@pytest.mark.slow
def test_many_pairs_with_replacement_tend_to_the_complete_statistic() -> None:
    x = np.random.default_rng(2).exponential(size=300)
    with row_source({"x": x}) as source:
        found = sampled_tuples(GINI, [source], 5, 5, 400_000, replace=True)[0]
    complete = block_sums(GINI, x)[0]
    error = np.sqrt((complete.second - complete.mean**2) / 400_000)
    assert np.abs(found.values - complete.mean).max() < SIX_SIGMA * error


@pytest.mark.slow  # one call for each of 20,000 data sets; the next test has one lake
@pytest.mark.parametrize(("replace", "right"), [(False, 0.4000), (True, 0.4571)])
def test_variance_of_a_sample_of_pairs(replace: bool, right: float) -> None:
    """Over data and draws: n = 8, M = 10, normal rows, (x - y)^2/2; Var(U_n) = 2/7 and Var(h) = 2."""
    n_data = 20_000
    data = np.random.default_rng(3).normal(size=(n_data, 8))
    key = stream_key(9, "pairs")
    values = np.empty(n_data)
    for r, x in enumerate(data):
        first, second = sample_tuples(key, r, (8,), (2,), 10, replace=replace)
        values[r] = VARIANCE.value(x[first], x[second]).mean()
    assert round(incomplete_variance(2 / 7, 2.0, 8, 10, replacement=replace), 4) == right
    # standard error of a variance, by the fourth moment: 2% here; bounds at 4.5 of it, 1e-5
    away = values - values.mean()
    error = np.sqrt(((away**4).mean() - away.var() ** 2) / n_data)
    assert abs(values.var() - right) < 4.5 * error
    if not replace:  # the published sign is refuted
        assert abs(values.var() - 0.4381) > 4.5 * error


@pytest.mark.slow
@pytest.mark.parametrize("replace", [False, True])
@pytest.mark.one_in(2)
def test_variance_over_samples_of_one_lake(replace: bool) -> None:
    """Given the data the samples are independent: (N - M)/(N - 1) S^2/M, or S^2/M with replacement."""
    x = np.random.default_rng(4).normal(size=12)
    with row_source({"x": x}) as source:
        found = sampled_tuples(GINI, [source], 6, 8000, 20, replace=replace)[0]
    complete = block_sums(GINI, x)[0]
    s2 = complete.second - complete.mean**2
    right = s2 / 20 * (1.0 if replace else (66 - 20) / 65)
    # nearly normal means: the variance has a relative error of sqrt(2/8000) = 1.6%
    assert abs(found.values.var() / right - 1.0) < 0.08
    assert abs(found.values.mean() - complete.mean) < SIX_SIGMA * np.sqrt(right / 8000)


def test_variances_and_margin_are_those_of_theory() -> None:
    x = np.random.default_rng(5).normal(size=20_000)
    with row_source({"x": x}) as source:
        found = sampled_tuples(VARIANCE, [source], 8, 101, 20_000)[0]
    complete, kernel_variance = found.variances((20_000,))
    assert abs(kernel_variance / 2.0 - 1.0) < 0.05
    assert abs(complete / (2.0 / 20_000) - 1.0) < 0.15  # median of 31 groups of 256 rows, biased low
    v = incomplete_variance(float(complete), float(kernel_variance), 20_000, 20_000, replacement=False)
    a = pair_inverse_inclusion(20_000, 20_000, replacement=False)
    assert found.margin(0.01, (20_000,)) == resampled_margin(v, 101, a, 0.01)
    spoiled = x.copy()
    spoiled[:20] = 1e6  # outlying rows touch few groups, and fewer than half of small samples
    with row_source({"x": spoiled}) as source:
        robust = sampled_tuples(VARIANCE, [source], 8, 101, 200)[0]
    assert abs(robust.variances((20_000,))[0] / complete - 1.0) < 0.3
    assert 0.5 < np.median(robust.values) < 2.0 < np.mean(robust.values) / 1e6


def test_the_scale_of_ratios_and_degenerate_kernels() -> None:
    g = np.random.default_rng(6)
    x = g.normal(size=(4000, 2)) @ np.array([[1.0, 0.6], [0.0, 0.8]])  # correlation 0.6
    with row_source({"x": x[:, 0], "y": x[:, 1]}) as source:
        found = sampled_tuples(kernels.correlation(), [source], 8, 31, 4000)[0]
    right = (1.0 - 0.36) ** 2 / 4000
    assert abs(found.variances((4000,))[0] / right - 1.0) < 0.2
    weights = part_weights(kernels.correlation(), 0.6, 1.0, 1.0)
    assert weights == (1.0, -0.3, -0.3)
    signs = {"x": g.choice([-1.0, 1.0], 4000)}
    product = kernels.kernel(lambda a, b: a * b, degree=2)  # mean 0, sigma_1 = 0
    with row_source(signs) as source:
        found = sampled_tuples(product, [source], 8, 31, 4000)[0]
    complete, kernel_variance = found.variances((4000,))
    assert abs(kernel_variance - 1.0) < 0.01 and 0.0 < complete < 0.05 / 4000


def test_several_passes_draw_the_same(lake: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with row_source(lake, "x") as source:
        right = sampled_tuples(GINI, [source], 7, 6, 300)[0]
        monkeypatch.setattr(draws, "MOST_ROWS", 1300)
        found = sampled_tuples(GINI, [source], 7, 6, 300)[0]
    assert np.array_equal(found.values, right.values)  # three passes of two samples


def test_more_than_five_thousand_million_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """More pairs than 2**63: rows are numbered exactly, and memory is that of the pairs drawn."""
    n = 6 * 10**9
    seen: list[np.ndarray] = []

    def rows(source: RowSource, wanted: np.ndarray, progress: Any) -> Any:
        seen.append(wanted)
        return GatheredRows(wanted[:, None] / n, np.zeros(wanted.size, np.uint8)), ()

    monkeypatch.setattr(draws, "gather_rows", rows)
    with row_source({"x": np.arange(3.0)}) as small:
        source = RowSource(small.reader, small.files, np.array([n // 2, 0, n // 2]), ThreadExecutor(1))
        tracemalloc.start()
        found = sampled_tuples(kernels.distance(), [source], 1, 5, 20_000)[0]
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    wanted = seen[0]
    assert wanted[-1] > 2**32 and wanted.size == np.unique(wanted).size > 199_000
    # |u - v| of uniform numbers: mean 1/3, variance 1/18
    assert np.abs(found.values - 1 / 3).max() < SIX_SIGMA * np.sqrt(1 / 18 / 20_000)
    assert peak < 200_000 * 8 * 12


def test_what_is_refused(lake: Path) -> None:
    with row_source(lake, ["x", "y"]) as source, pytest.raises(ConfigError, match="takes 1 column, got 2"):
        sampled_tuples(GINI, [source], 0, 3, 10)
    with row_source({"x": np.arange(4.0)}) as source:
        with pytest.raises(ConfigError, match=r"pairs: n: 7 .* exceed the 6 that 4 rows have"):
            sampled_tuples(GINI, [source], 0, 3, 7)
        few = sampled_tuples(GINI, [source], 0, 3, 6)[0]
        assert np.isnan(few.margin(0.01, (4,)))
    with row_source({"x": np.arange(1.0)}) as source, pytest.raises(NoAnswerError, match="has 1 rows"):
        sampled_tuples(GINI, [source], 0, 3, 7)[0]


def test_a_sample_without_a_pair_is_non_finite_and_others_count() -> None:
    import pyarrow as pa

    x = pa.array([None, 1.0, 2.0, None, 4.0])
    with row_source(pa.table({"x": x})) as source:
        found = sampled_tuples(GINI, [source], 1, 40, 2)[0]
    empty = found.moments.count == 0
    assert 0 < empty.sum() < 40 and (np.isnan(found.values) == empty).all()
    assert found.n_dropped == 80 - found.moments.count.sum()


def test_moments_without_tuples() -> None:
    nothing = TupleMoments.of(GINI, np.zeros(0), np.zeros(0))
    assert nothing.count.tolist() == [0] and np.isnan(nothing.values(GINI)).all()
    assert np.isnan(nothing.variance((1.0,))).all()
