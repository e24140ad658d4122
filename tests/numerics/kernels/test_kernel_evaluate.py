"""Every kernel of the catalogue against the double loop: random and tied rows, both forms, weights."""

import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kernel_twins import PLAIN, as_rows, sample_of, sign, statistic, triple, twin_sums

from distmom.errors import ConfigError
from distmom.numerics.kernels import catalogue
from distmom.numerics.kernels.evaluate import block_sums, one_by_one
from distmom.numerics.kernels.function import FunctionKernel
from distmom.numerics.kernels.named import named
from distmom.numerics.kernels.sums import ascending
from distmom.numerics.kernels.tuples import TupleMoments
from distmom.numerics.kernels.two_samples import Between
from distmom.numerics.pairs.tiles import tiled_sums

CLOSE = 1e-10


def assert_same(found, wanted, *, second=True):
    count, mean, squares, means = wanted
    assert found.n_tuples == count
    np.testing.assert_allclose(found.mean, mean, rtol=CLOSE, atol=CLOSE)
    if second:
        np.testing.assert_allclose(found.second, squares, rtol=CLOSE, atol=CLOSE)
    for rows, wanted_rows in zip(found.row_means, means, strict=True):
        np.testing.assert_allclose(rows, wanted_rows, rtol=CLOSE, atol=CLOSE)


@pytest.mark.parametrize("name", PLAIN)
@pytest.mark.parametrize("tied", [False, True])
def test_blocks_are_double_loops(name, tied):
    kernel, columns, function = PLAIN[name]
    x = sample_of(kernel, columns, np.random.default_rng(7), 23, tied)
    for form in ("u", "v"):
        (found,) = block_sums(kernel, x, form=form)
        assert_same(found, twin_sums(function, [as_rows(x)], (2,), form=form))
    assert_same(tiled_sums(kernel, x), twin_sums(function, [as_rows(x)], (2,)))


@pytest.mark.parametrize("name", PLAIN)
def test_weights_are_products(name):
    """Whole weights are repeated rows, but for pairs of copies; weight 0 is no row."""
    kernel, columns, function = PLAIN[name]
    rng = np.random.default_rng(8)
    x = sample_of(kernel, columns, rng, 17, True)
    weights = rng.integers(0, 4, 17).astype(float)
    for form in ("u", "v"):
        (found,) = block_sums(kernel, x, weights=(weights,), form=form)
        wanted = twin_sums(function, [as_rows(x)], (2,), [weights], form)
        used = weights > 0
        kept = found._replace(n_tuples=wanted[0], row_means=(found.row_means[0][used],))
        assert_same(kept, (*wanted[:3], [wanted[3][0][used]]))
        n_used = int(used.sum())
        assert found.n_tuples == (math.comb(n_used, 2) if form == "u" else n_used**2)
    without = block_sums(kernel, x[weights > 0], weights=(weights[weights > 0],))[0]
    np.testing.assert_allclose(without.mean, block_sums(kernel, x, weights=(weights,))[0].mean, rtol=CLOSE)


@given(st.sampled_from(sorted(PLAIN)), st.integers(2, 14), st.integers(0, 2**32 - 1), st.booleans())
def test_any_block_is_a_double_loop(name, n, seed, tied):
    kernel, columns, function = PLAIN[name]
    x = sample_of(kernel, columns, np.random.default_rng(seed), n, tied)
    (found,) = block_sums(kernel, x)
    assert_same(found, twin_sums(function, [as_rows(x)], (2,)))
    (alone,) = block_sums(kernel, x, rows=False)
    assert alone[:3] == found[:3] and alone.row_means is None


@given(st.sampled_from(sorted(PLAIN)), st.integers(2, 30), st.integers(0, 2**32 - 1))
def test_the_order_of_rows_does_not_matter(name, n, seed):
    kernel, columns, _ = PLAIN[name]
    rng = np.random.default_rng(seed)
    x, order = sample_of(kernel, columns, rng, n, True), rng.permutation(n)
    (one,), (other,) = block_sums(kernel, x), block_sums(kernel, x[order])
    np.testing.assert_allclose(other.mean, one.mean, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(other.row_means[0], one.row_means[0][order], rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("name", ["gini", "distance-1", "distance", "rbf", "laplace", "laplace-1"])
@pytest.mark.parametrize("weighted", [False, True])
def test_two_samples_are_double_loops(name, weighted):
    inner, columns, function = PLAIN[name]
    rng = np.random.default_rng(9)
    for tied in (False, True):
        x, y = (sample_of(inner, columns, rng, n, tied) for n in (11, 19))
        weights = tuple(rng.integers(1, 4, n).astype(float) for n in (11, 19)) if weighted else None
        wanted = twin_sums(function, [as_rows(x), as_rows(y)], (1, 1), weights)
        (found,) = block_sums(Between(inner), x, y, weights=weights)
        assert_same(found, wanted)
        assert_same(tiled_sums(Between(inner), x, y, weights=weights), wanted)


@pytest.mark.parametrize("weighted", [False, True])
def test_auc_is_a_double_loop(weighted):
    def wins(a, b):
        return 0.5 * (1 + sign(b[0] - a[0]))

    rng = np.random.default_rng(10)
    for size in (1, 5, 40):
        x, y = rng.integers(0, 9, size).astype(float), rng.integers(2, 11, 25).astype(float)
        weights = tuple(rng.integers(1, 4, v.size).astype(float) for v in (x, y)) if weighted else None
        wanted = twin_sums(wins, [as_rows(x), as_rows(y)], (1, 1), weights)
        assert_same(block_sums(catalogue.auc(), x, y, weights=weights)[0], wanted)
        assert_same(tiled_sums(catalogue.auc(), x, y, weights=weights), wanted)


def test_auc_does_not_depend_on_where_a_tie_lies():
    for cases in ([0.9, 0.5], [0.5, 0.9]):
        assert block_sums(catalogue.auc(), np.array([0.5]), np.array(cases))[0].mean == 0.75
    ranking = np.array([[0.0, 0.5], [1.0, 0.9], [1.0, 0.5]])
    for order in ([0, 1, 2], [2, 0, 1], [1, 2, 0]):
        found = block_sums(catalogue.concordance(), ranking[order])
        assert statistic(catalogue.concordance(), found) == 0.75
        assert block_sums(catalogue.ranking(), ranking[order])[0].mean == 0.5 / 3


@pytest.mark.parametrize(
    ("kernel", "inner", "sign", "columns"),
    [
        (catalogue.energy(), "distance-1", -1, 1),
        (catalogue.energy(), "distance", -1, 3),
        (catalogue.mmd(1.5), "rbf", 1, 2),
        (catalogue.mmd(1.5, "laplace"), "laplace-1", 1, 1),
    ],
)
def test_discrepancies_are_u_statistics_of_two_and_two_rows(kernel, inner, sign, columns):
    k = PLAIN[inner][2]

    def both(a, b, c, d):
        across = k(a, c) + k(a, d) + k(b, c) + k(b, d)
        return sign * (k(a, b) + k(c, d) - across / 2)

    rng = np.random.default_rng(11)
    x, y = (sample_of(kernel, columns, rng, n, True) for n in (6, 7))
    rows = [as_rows(x), as_rows(y)]
    count, mean, _, _ = twin_sums(both, rows, (2, 2))
    found = block_sums(kernel, x, y)
    assert count == math.comb(6, 2) * math.comb(7, 2)
    np.testing.assert_allclose(statistic(kernel, found), mean, rtol=CLOSE, atol=CLOSE)
    np.testing.assert_allclose(
        kernel.value(x[:2], x[2:4], y[:2], y[2:4])[0], both(*rows[0][::2][:2], *rows[1][::2][:2])
    )
    v = statistic(kernel, block_sums(kernel, x, y, form="v"))
    np.testing.assert_allclose(v, twin_sums(both, rows, (2, 2), form="v")[1], rtol=CLOSE, atol=CLOSE)
    assert v >= -1e-12 and statistic(kernel, block_sums(kernel, x, x[::-1], form="v")) == pytest.approx(
        0, abs=1e-12
    )


def test_covariance_is_numpys():
    rng = np.random.default_rng(12)
    x = rng.normal(size=(31, 4)) @ rng.normal(size=(4, 4))
    kernel = catalogue.covariance()
    (found,) = block_sums(kernel, x)
    values = np.array([[kernel.value(a, b) for b in x] for a in x])
    np.testing.assert_allclose(found.mean, np.cov(x.T), rtol=CLOSE)
    np.testing.assert_allclose(found.row_means[0], values.sum(1) / 30, rtol=CLOSE, atol=CLOSE)
    np.testing.assert_allclose(found.second, (values**2).sum((0, 1)) / (31 * 30), rtol=CLOSE)
    (biased,) = block_sums(kernel, x, form="v")
    np.testing.assert_allclose(biased.mean, np.cov(x.T, bias=True), rtol=CLOSE)
    np.testing.assert_allclose(biased.row_means[0], values.mean(1), rtol=CLOSE, atol=CLOSE)
    weights = rng.integers(0, 4, 31).astype(float)
    (weighted,) = block_sums(kernel, x, weights=(weights,))
    own = np.outer(weights, weights) * (1 - np.eye(31))
    np.testing.assert_allclose(weighted.mean, np.einsum("ij,ijab->ab", own, values) / own.sum(), rtol=CLOSE)


def test_ratios_are_numpys_and_scipys():
    from scipy import stats

    rng = np.random.default_rng(13)
    x = np.round(rng.normal(size=(200, 2)) @ np.array([[1.0, 0.7], [0.0, 0.8]]), 1)
    for kernel, wanted in (
        (catalogue.correlation(), np.corrcoef(x.T)[0, 1]),
        (catalogue.kendall_b(), stats.kendalltau(*x.T).statistic),
    ):
        assert statistic(kernel, block_sums(kernel, x)) == pytest.approx(wanted, rel=1e-12)
    pairs = [(a, b) for a, b in combinations(x.tolist(), 2) if a[0] != b[0]]
    right = sum(0.5 * (1 + sign(a[0] - b[0]) * sign(a[1] - b[1])) for a, b in pairs)
    kernel = catalogue.concordance()
    assert statistic(kernel, block_sums(kernel, x)) == pytest.approx(right / len(pairs), rel=1e-12)


@pytest.mark.parametrize("name", ["kendall-b", "concordance", "correlation"])
def test_a_ratio_over_nothing_ruins_its_block(name):
    kernel = named(name)
    constant = np.column_stack([np.ones(9), np.arange(9.0)])
    assert np.isnan(statistic(kernel, block_sums(kernel, constant)))


@given(st.integers(3, 12), st.integers(0, 2**32 - 1), st.booleans())
def test_the_third_moment_is_a_triple_loop(n, seed, tied):
    x = sample_of(catalogue.third_moment(), 1, np.random.default_rng(seed), n, tied)
    for form in ("u", "v"):
        (found,) = block_sums(catalogue.third_moment(), x, form=form)
        assert_same(found, twin_sums(triple, [as_rows(x)], (3,), form=form), second=False)
    np.testing.assert_allclose(found.mean, np.mean((x - x.mean()) ** 3), rtol=CLOSE, atol=CLOSE)


def test_great_offsets_cost_no_digits():
    constant, off = np.full(20, 22642751.0), np.array([1e9, 1e9 + 1, 1e9 + 2])
    for name in ("variance", "gini", "third-moment"):
        assert block_sums(named(name), constant)[0].mean == 0.0
    assert block_sums(catalogue.variance(), off)[0].mean == 1.0
    assert block_sums(catalogue.variance(), off, form="v")[0].mean == pytest.approx(2 / 3, rel=1e-15)
    large = np.tile([4_000_000_000.0, 4_000_000_002.0], 500)
    assert block_sums(catalogue.variance(), large)[0].mean == pytest.approx(1000 / 999, rel=1e-14)


@pytest.mark.parametrize("name", PLAIN)
def test_too_few_rows_give_no_number(name):
    kernel, columns, _ = PLAIN[name]
    for n in (0, 1):
        (found,) = block_sums(kernel, np.zeros((n, columns)) if kernel.columns != 1 else np.zeros(n))
        assert found.n_tuples == 0 and np.isnan(found.mean)
    (found,) = block_sums(kernel, kernel.as_sample(np.ones((5, columns))), weights=(np.eye(5)[0],))
    assert found.n_tuples == 0 and np.isnan(found.mean)


@pytest.mark.parametrize("name", PLAIN)
def test_infinite_values_raise_no_warning(name):
    """They ruin the block, or count as what is larger than anything else."""
    kernel, columns, _ = PLAIN[name]
    for outlying in ([np.inf], [np.inf, np.inf], [np.inf, -np.inf]):
        x = sample_of(kernel, columns, np.random.default_rng(14), 12, False)
        x.reshape(12, -1)[: len(outlying), -1] = outlying
        for form in ("u", "v"):
            (found,) = block_sums(kernel, x, form=form)
            tiled = tiled_sums(kernel, x)
            if np.isfinite(found.mean) and form == "u":
                np.testing.assert_allclose(found.mean, tiled.mean, rtol=CLOSE)


def test_sampled_pairs_are_sample_means():
    x = np.random.default_rng(15).normal(size=(50, 2))
    kernel = catalogue.kendall_b()
    first, second = np.triu_indices(50, 1)
    found = TupleMoments.of(kernel, x[first], x[second])
    whole = block_sums(kernel, x)
    assert found.count.tolist() == [1225] and found.mean.shape == (1, 3)
    assert found.values(kernel)[0] == pytest.approx(statistic(kernel, whole), rel=1e-12)
    assert found.product[0, 0, 0] == pytest.approx(whole[0].second, rel=1e-12)
    assert np.isnan(TupleMoments.of(kernel, x[:0], x[:0]).mean[0, 0])


@pytest.mark.parametrize("tied", [False, True])
def test_the_third_moment_of_weighted_rows_is_a_triple_loop(tied):
    rng, kernel = np.random.default_rng(14), catalogue.third_moment()
    x = 1e3 + sample_of(kernel, 1, rng, 12, tied)
    weights = np.exp(rng.normal(size=12)) * (np.arange(12) != 5)
    used = weights > 0
    for form in ("u", "v"):
        (found,) = block_sums(kernel, x, weights=(weights,), form=form)
        count, mean, _, (means,) = twin_sums(triple, [as_rows(x - 1e3)], (3,), [weights], form)
        assert found.n_tuples == count
        np.testing.assert_allclose(found.mean, mean, rtol=CLOSE)
        np.testing.assert_allclose(found.row_means[0][used], means[used], rtol=CLOSE, atol=CLOSE)
    assert not one_by_one(kernel, 1, weighted=True)


def test_what_has_no_such_form_is_refused():
    kernel = FunctionKernel(lambda a, b, c: a * b * c, (3,), 1, False, False)
    with pytest.raises(ConfigError, match=r"no V-form; use statistic='u'"):
        block_sums(kernel, np.arange(9.0), form="v")


def test_equal_values_keep_their_order():
    """Which sums with weights, and sums that fade, depend on in the last bit: the same on every CPU."""
    x = np.random.default_rng(16).integers(0, 40, 3000).astype(float)
    assert np.array_equal(ascending(x), np.argsort(x, kind="stable"))
    distinct = np.random.default_rng(16).permutation(3000).astype(float)
    assert np.array_equal(ascending(distinct), np.argsort(distinct, kind="stable"))
