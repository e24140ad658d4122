"""A second group decades away is found; one mode on the log scale, and short lists, have none."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from distmom.inference.share.gaps import NEAR, rows_apart
from distmom.inference.share.second_group import _of_rank, second_group

N = 10_000


def draw(distribution, seed=0, n=N):
    g = np.random.default_rng(seed)
    return {
        "normal": lambda: g.normal(size=n),
        "Student 3": lambda: g.standard_t(3, n),
        "log-normal 1": lambda: np.exp(g.normal(size=n)),
        "log-normal 3": lambda: np.exp(3.0 * g.normal(size=n)),
        "Pareto 1.1": lambda: g.pareto(1.1, n),
        "Cauchy": lambda: g.standard_cauchy(n),
        "gamma 0.2": lambda: g.standard_gamma(0.2, n),
        "whole numbers": lambda: np.floor(np.exp(1.5 * g.normal(size=n))),
        "zeros": lambda: np.where(g.random(n) < 0.6, 0.0, np.exp(g.normal(size=n))),
    }[distribution]()


DISTRIBUTIONS = ("normal", "Student 3", "log-normal 1", "log-normal 3", "Pareto 1.1", "Cauchy", "gamma 0.2")


@pytest.mark.parametrize("distribution", [*DISTRIBUTIONS, "whole numbers", "zeros"])
def test_one_mode_is_one_group(distribution):
    """Claim: less than one run in 1000; then one of these 28 has a probability of 0.03, two of 4e-4."""
    draws = [(n, seed) for n, runs in ((200, 20), (2_000, 6), (N, 2)) for seed in range(runs)]
    assert sum(second_group(np.sort(draw(distribution, seed, n))).n > 0 for n, seed in draws) <= 1


@pytest.mark.parametrize("share", [0.17, 0.3, 0.45, 0.7])
@pytest.mark.parametrize("distribution", ["normal", "Student 3", "log-normal 1"])
def test_another_unit_is_told_whichever_group_is_larger(distribution, share):
    x = draw(distribution)
    k = int(share * N)
    x[:k] *= 60_000.0
    assert rows_apart(np.sort(x), NEAR, modes=True).n == 0  # the control: the gap rule says nothing
    found = second_group(np.sort(x))
    assert found.n == pytest.approx(k, rel=0.02) and found.times == pytest.approx(60_000.0, rel=0.15)
    far = (x <= found.lo) | (x >= found.hi)
    assert far.sum() == found.n and far[:k].mean() > 0.98 and far[k:].mean() < 0.02


def test_a_shift_is_found_from_the_median():
    x = np.random.default_rng(0).normal(2_000.0, 10.0, N)
    x[:2_000] = 9_999.0
    found = second_group(np.sort(x))
    assert (found.from_zero, found.n, found.lo, found.values) == (False, 2_000, -np.inf, ((9_999.0, 2_000),))
    x[:2_000] = 2_100.0  # ten spreads
    assert second_group(np.sort(x)).n == 0


def test_short_lists_have_gaps_anyhow_but_codes_are_far_from_them():
    prices = np.array([0.99, 1.99, 2.49, 4.99, 9.99, 19.99, 49.99, 99.99, 499.99, 999.99])
    x = np.random.default_rng(0).choice(prices, N)
    assert second_group(np.sort(x)).n == 0
    answers = np.random.default_rng(0).choice([1.0, 2.0, 3.0, 4.0, 5.0], N)
    answers[:1_500] = 9_999.0
    assert second_group(np.sort(answers)).n == 1_500


@pytest.mark.parametrize("share", [0.02, 0.08])
def test_small_groups_are_no_matter_of_this(share):
    x = draw("log-normal 1")
    x[: int(share * N)] *= 1e6
    assert second_group(np.sort(x)).n == 0 < rows_apart(np.sort(x), NEAR, modes=True).n


def test_distances_as_large_as_there_are_overflow_in_silence():
    """Their ratios are infinite, and so are steps beyond the largest one: users saw NumPy's warnings."""
    g = np.random.default_rng(0)
    for small in (g.normal(size=2_000), 5e-324 * g.integers(1, 9, 2_000)):
        y = np.sort(np.where(np.arange(2_000) % 3, small, 1.7e308))
        found = second_group(y)
        assert found.n == 667 and found.hi > small.max() and np.isinf(found.times)


def test_degenerate_rows():
    for x in (np.zeros(300), np.ones(300), np.arange(150.0), np.r_[np.zeros(299), 1.0], np.full(300, 1e308)):
        assert second_group(np.sort(x)).n == 0
    x = draw("normal")
    x[:2_000] *= 1e300
    assert second_group(np.sort(x)).n == pytest.approx(2_000, abs=5)


@given(
    st.lists(st.floats(-1e300, 1e300) | st.integers(-3, 3).map(float), min_size=1, max_size=40),
    st.data(),
)
def test_a_rank_of_the_distances_needs_no_sort(values, data):
    y = np.sort(values)
    centre = data.draw(st.sampled_from([0.0, float(y[y.size // 2]), float(y[0])]))
    low, high = (int(np.searchsorted(y, centre, side)) for side in ("left", "right"))
    below, above = y[:low][::-1], y[high:]
    away = np.sort(np.abs(np.delete(y, slice(low, high)) - centre))
    for k in range(away.size):
        assert _of_rank(below, above, centre, k) == away[k]


@given(st.integers(0, 2**32 - 1), st.floats(0.05, 0.95), st.floats(-3.0, 5.0), st.booleans())
def test_what_is_not_looked_at_holds_no_group(seed, share, decades, both):
    """`_may_part` only saves work: with it and without the groups are the same."""
    g = np.random.default_rng(seed)
    y = g.normal(g.choice([0.0, 3.0]), 1.0, 400)
    y[: int(share * y.size)] *= 10.0**decades * (-1.0 if both else 1.0)
    found = second_group(np.sort(y))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("distmom.inference.share.second_group._may_part", lambda y, centre: True)
        assert second_group(np.sort(y)) == found
