"""Kernels of triples over all triples of a block."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from distmom.numerics.kernels import catalogue
from distmom.numerics.kernels.evaluate import block_sums
from distmom.numerics.kernels.function import kernel
from distmom.numerics.pairs import tuple_sums
from distmom.numerics.pairs.tuple_sums import triple_sums


def middle(a, b, c):
    return np.maximum(np.minimum(a, b), np.minimum(np.maximum(a, b), c))


def middle_of_rows(a, b, c):
    return max(min(a, b), min(max(a, b), c))


@given(st.integers(3, 14), st.integers(1, 40), st.integers(0, 2**32 - 1))
def test_all_triples_are_taken_once(n, at_once, seed):
    x = np.random.default_rng(seed).integers(-9, 9, n).astype(float)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tuple_sums, "_TRIPLES_AT_ONCE", at_once)
        found = triple_sums(kernel(middle, degree=3), x)
    values = {places: float(np.median(x[list(places)])) for places in combinations(range(n), 3)}
    assert found.n_tuples == len(values)
    assert found.mean == pytest.approx(np.mean(list(values.values())), rel=1e-12, abs=1e-12)
    assert found.second == pytest.approx(np.mean(np.square(list(values.values()))), rel=1e-12, abs=1e-12)
    for i in range(n):
        own = [value for places, value in values.items() if i in places]
        assert found.row_means[0][i] == pytest.approx(np.mean(own), rel=1e-12, abs=1e-12)


def test_both_engines_give_the_same_bits(monkeypatch):
    monkeypatch.setattr(tuple_sums, "_TRIPLES_AT_ONCE", 300)
    x = np.random.default_rng(1).normal(size=60)
    one = triple_sums(kernel(middle, degree=3), x)
    other = triple_sums(kernel(middle_of_rows, degree=3, compiled=True), x)
    assert one[:3] == other[:3] and np.array_equal(one.row_means[0], other.row_means[0])


def test_the_third_moment_is_the_mean_over_triples():
    x = np.random.default_rng(2).exponential(size=50)
    slow, (fast,) = triple_sums(catalogue.third_moment(), x), block_sums(catalogue.third_moment(), x)
    assert fast.n_tuples == slow.n_tuples == 19_600
    assert fast.mean == pytest.approx(slow.mean, rel=1e-10)
    np.testing.assert_allclose(fast.row_means[0], slow.row_means[0], rtol=1e-10)
