"""Variances of projections and of a block's statistic, against enumeration and against leaving rows out."""

from itertools import combinations, product

import numpy as np
import pytest
from kernel_twins import PLAIN, sample_of, statistic

from distmom.numerics.kernels import catalogue
from distmom.numerics.kernels.components import jackknife_variance, one_sample_variances, two_sample_variances
from distmom.numerics.kernels.evaluate import block_sums
from distmom.numerics.kernels.named import named
from distmom.numerics.kernels.two_samples import Between

DISTRIBUTION = np.array([0.0, 1.0, 1.0, 4.0])  # every value equally likely


def test_one_sample_variances_are_unbiased():
    """Over all 4**5 samples of five rows from a distribution of four values; exact up to rounding."""
    kernel = catalogue.gini()
    values = np.abs(DISTRIBUTION[:, None] - DISTRIBUTION)
    theta = values.mean()
    sigma1 = np.var(values.mean(axis=1))
    sigma2 = np.mean((values - theta) ** 2) - 2 * sigma1
    samples = [block_sums(kernel, DISTRIBUTION[list(rows)])[0] for rows in product(range(4), repeat=5)]
    estimates = np.array([one_sample_variances(found) for found in samples])
    np.testing.assert_allclose(estimates.mean(axis=0), [sigma1, sigma2], rtol=1e-12)
    of_block = np.var([found.mean for found in samples])
    np.testing.assert_allclose(4 * sigma1 / 5 + 2 * sigma2 / (5 * 4), of_block, rtol=1e-12)


def test_two_sample_variances_are_unbiased():
    """Over all samples of two and three rows; the formula of the block's variance holds with them, too."""
    other = np.array([0.5, 1.0, 6.0])
    kernel = catalogue.auc()
    values = kernel.value(DISTRIBUTION[:, None], other)
    wanted = [np.var(values.mean(axis=1)), np.var(values.mean(axis=0)), np.var(values)]
    samples = [
        block_sums(kernel, DISTRIBUTION[list(x)], other[list(y)])[0]
        for x in product(range(4), repeat=2)
        for y in product(range(3), repeat=3)
    ]
    estimates = np.array([two_sample_variances(found) for found in samples])
    np.testing.assert_allclose(estimates.mean(axis=0), wanted, rtol=1e-12)
    of_block = np.var([found.mean for found in samples])
    np.testing.assert_allclose((2 * wanted[0] + 1 * wanted[1] + wanted[2]) / 6, of_block, rtol=1e-12)


def leave_out(kernel, samples):
    """Slow twin: the statistic without each row, evaluated anew."""
    total = 0.0
    for t, sample in enumerate(samples):
        n = len(sample)
        values = []
        for i in range(n):
            rest = [np.delete(s, i, axis=0) if u == t else s for u, s in enumerate(samples)]
            values.append(statistic(kernel, block_sums(kernel, *rest)))
        values = np.array(values)
        total = total + (n - 1) / n * ((values - values.mean(axis=0)) ** 2).sum(axis=0)
    return total


@pytest.mark.parametrize("name", PLAIN)
def test_the_jackknife_leaves_rows_out(name):
    kernel, columns, _ = PLAIN[name]
    x = sample_of(kernel, columns, np.random.default_rng(5), 15, True)
    found = jackknife_variance(kernel, block_sums(kernel, x))
    np.testing.assert_allclose(found, leave_out(kernel, [x]), rtol=1e-9, atol=1e-14)


@pytest.mark.parametrize("name", ["third-moment", "covariance", "correlation", "kendall-b", "concordance"])
def test_the_jackknife_of_triples_matrices_and_ratios(name):
    kernel = named(name)
    x = np.round(np.random.default_rng(6).normal(size=(14, 2)), 1)
    x = x[:, 0] if kernel.columns == 1 else x
    found = jackknife_variance(kernel, block_sums(kernel, x))
    np.testing.assert_allclose(found, leave_out(kernel, [x]), rtol=1e-9, atol=1e-14)


@pytest.mark.parametrize(
    "kernel", [catalogue.auc(), catalogue.energy(), catalogue.mmd(1.0), Between(catalogue.gini())]
)
def test_the_jackknife_of_two_samples(kernel):
    rng = np.random.default_rng(7)
    x, y = (kernel.as_sample(np.round(rng.normal(size=n), 1)) for n in (9, 12))
    found = jackknife_variance(kernel, block_sums(kernel, x, y))
    np.testing.assert_allclose(found, leave_out(kernel, [x, y]), rtol=1e-9, atol=1e-14)


def test_too_little_gives_no_variance():
    kernel = catalogue.gini()
    (few,) = block_sums(kernel, np.arange(3.0))
    assert np.isnan(one_sample_variances(few)).all()
    assert np.isnan(jackknife_variance(kernel, block_sums(kernel, np.arange(2.0))))
    (single,) = block_sums(catalogue.auc(), np.arange(1.0), np.arange(3.0))
    assert np.isnan(two_sample_variances(single)).all()
    (unknown,) = block_sums(catalogue.third_moment(), np.arange(9.0))
    assert np.isnan(one_sample_variances(unknown)).all()
    (without,) = block_sums(kernel, np.arange(9.0), rows=False)
    for use in (one_sample_variances, two_sample_variances, lambda s: jackknife_variance(kernel, (s,))):
        with pytest.raises(ValueError, match="row means"):
            use(without)


def test_variance_of_a_block_is_estimated_without_bias_of_note():
    """Mean over 400 normal samples of 60 rows against Var U_n; 5 standard errors: failure below 1e-6."""
    rng = np.random.default_rng(8)
    kernel = catalogue.gini()
    found = [block_sums(kernel, rng.normal(size=60)) for _ in range(400)]
    variances = np.array([jackknife_variance(kernel, one) for one in found])
    sigma1, sigma2 = np.mean([one_sample_variances(one[0]) for one in found], axis=0)
    true_sigma1 = 1 / 3 + (2 * np.sqrt(3) - 4) / np.pi
    assert sigma1 == pytest.approx(true_sigma1, abs=5 * 0.05 / 20)
    assert 2 * sigma1 + sigma2 == pytest.approx(2 - 4 / np.pi, abs=5 * 0.2 / 20)
    in_theory = 4 * true_sigma1 / 60 + 2 * (2 - 4 / np.pi - 2 * true_sigma1) / (60 * 59)
    assert variances.mean() == pytest.approx(in_theory, abs=5 * variances.std() / 20)
    assert variances.mean() * 1.5 != pytest.approx(in_theory, abs=5 * variances.std() / 20)


def test_enumeration_of_pairs_is_what_second_means():
    x = np.random.default_rng(9).normal(size=12)
    (found,) = block_sums(catalogue.variance(), x)
    values = [(a - b) ** 2 / 2 for a, b in combinations(x, 2)]
    assert found.second == pytest.approx(np.mean(np.square(values)), rel=1e-12)
