"""Weights of concordant, discordant and tied rows by sorting, against all pairs."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kernel_twins import PLAIN, as_rows, sample_of, statistic, twin_sums

from distmom.numerics.kernels.evaluate import block_sums, one_by_one
from distmom.numerics.kernels.named import named
from distmom.numerics.ranks import order_weights
from distmom.numerics.ranks.order import order_counts
from distmom.numerics.ranks.order_weights import order_masses, untied_masses

SORTED = {name: PLAIN[name] for name in ("kendall", "ranking", "ranking-half")}


def slow_masses(x, y, weights):
    """All pairs by comparison, row after row."""
    alike, unlike, untied = [], [], []
    for a, b in zip(x, y, strict=True):
        alike.append(weights[((x > a) & (y > b)) | ((x < a) & (y < b))].sum())
        unlike.append(weights[((x > a) & (y < b)) | ((x < a) & (y > b))].sum())
        untied.append(weights[x != a].sum())
    return alike, unlike, untied


@given(st.integers(1, 90), st.integers(1, 100), st.integers(1, 100), st.integers(0, 2**32 - 1))
def test_masses_are_those_of_all_pairs(n, x_values, y_values, seed):
    rng = np.random.default_rng(seed)
    x, y = rng.integers(0, x_values, n).astype(float), rng.integers(0, y_values, n).astype(float)
    x[0] = np.inf
    weights = np.exp(20.0 * rng.normal(size=n)) * (rng.random(n) > 0.1)  # from 1e-20 to 1e20, and 0
    alike, unlike, untied = slow_masses(x, y, weights)
    for compiled in (False, True):
        found = order_masses(x, y, weights, compiled=compiled)
        np.testing.assert_allclose(found, (alike, unlike), rtol=1e-12)
    np.testing.assert_allclose(untied_masses(x, weights), untied, rtol=1e-12)


@pytest.mark.parametrize("kind", ["random", "tied", "sorted", "reversed", "constant"])
def test_whole_weights_of_larger_blocks_are_exact(kind):
    """Sums of whole numbers are exact in any order; equal weights count."""
    rng = np.random.default_rng(3)
    x, y = rng.normal(size=(2, 5000))
    if kind == "tied":
        x, y = np.round(x), np.round(y, 1)
    elif kind != "random":
        y = {"sorted": x, "reversed": -x, "constant": np.ones(5000)}[kind]
    counts = order_counts(x, y, rows=True)[1]
    found = order_masses(x, y, np.full(5000, 3.0), compiled=True)
    assert np.array_equal(found, (3 * counts.concordant, 3 * counts.discordant))
    assert np.array_equal(untied_masses(x, np.ones(5000)), 4999 - counts.x_tied)
    x, y, weights = x[:900], y[:900], rng.integers(0, 9, 900).astype(float)
    assert np.array_equal(
        order_masses(x, y, weights, compiled=True), order_masses(x, y, weights, compiled=False)
    )


@pytest.mark.parametrize("name", SORTED)
@pytest.mark.parametrize("compile_from", [1, 1000])
@pytest.mark.parametrize("tied", [False, True])
def test_kernels_are_double_loops(name, compile_from, tied, monkeypatch):
    monkeypatch.setattr(order_weights, "COMPILE", compile_from)
    kernel, columns, function = SORTED[name]
    rng = np.random.default_rng(5)
    x = sample_of(kernel, columns, rng, 45, tied)
    weights = np.exp(rng.normal(size=45))
    for form in ("u", "v"):
        (found,) = block_sums(kernel, x, weights=(weights,), form=form)
        count, mean, squares, (means,) = twin_sums(function, [as_rows(x)], (2,), [weights], form)
        assert found.n_tuples == count
        np.testing.assert_allclose([found.mean, found.second], [mean, squares], rtol=1e-12)
        np.testing.assert_allclose(found.row_means[0], means, rtol=1e-12)
    (alone,) = block_sums(kernel, x, weights=(weights,), rows=False)
    assert alone[:3] == block_sums(kernel, x, weights=(weights,))[0][:3] and alone.row_means is None


@pytest.mark.parametrize("name", ["kendall-b", "concordance"])
@pytest.mark.parametrize("n", [40, 600])
def test_ratios_are_those_of_the_double_loop(name, n):
    kernel, rng = named(name), np.random.default_rng(6)
    x = np.round(rng.normal(size=(n, 2)) @ np.array([[1.0, 0.7], [0.0, 0.7]]), 1)
    weights = rng.exponential(size=n)
    assert not one_by_one(kernel, 2, weighted=True)
    sums = block_sums(kernel, x, weights=(weights,))
    for part, found in zip(kernel.parts, sums, strict=True):
        mass = np.outer(weights, weights) * ~np.eye(n, dtype=bool)
        values = part.kernel.value(x[:, None], x[None])
        np.testing.assert_allclose(found.mean, (mass * values).sum() / mass.sum(), rtol=1e-12)
        np.testing.assert_allclose(found.second, (mass * values**2).sum() / mass.sum(), rtol=1e-12)
        np.testing.assert_allclose(found.row_means[0], (mass * values).sum(1) / mass.sum(1), rtol=1e-12)
    tied = np.column_stack(
        [np.ones(n), x[:, 1]]
    )  # a block without comparable pairs is non-finite, not outlying
    assert np.isnan(statistic(kernel, block_sums(kernel, tied, weights=(weights,))))
