"""The mean with a given bad share: the theorem on data that an adversary chose, ties, and the allowance."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from distmom.inference.share.given import KAPPA, MISS, allowance, given_share

ADVERSARIES = {
    "far": lambda g, good, t: np.full(t, 1e6),
    "one below the cut": lambda g, good, t: np.full(t, good.mean() + good.std() / math.sqrt(t / good.size)),
    "at the least end": lambda g, good, t: np.full(t, good.min()),
    "at both ends": lambda g, good, t: np.concatenate(
        [np.full(t // 2, -1e9), np.full(t - t // 2, good.max())]
    ),
    "hidden": lambda g, good, t: good.mean() + 3 * good.std() + g.normal(size=t),
    "the largest good rows again": lambda g, good, t: np.sort(good)[-t:],
    "a ladder": lambda g, good, t: good.mean() + good.std() * 1.5 ** np.arange(t),
}


@given(
    st.sampled_from(sorted(ADVERSARIES)),
    st.sampled_from(["normal", "log-normal", "counts", "zeros", "atoms"]),
    st.integers(70, 300),
    st.floats(0.005, 0.3),
    st.integers(0, 999),
)
def test_the_theorem_holds_whatever_the_bad_rows_are(adversary, distribution, m, share, seed):
    """|mean S - mean G| <= (sd S + sd G) sqrt(e/(1-2e)) for the m - t good rows, and sd S <= KAPPA sd G."""
    g = np.random.default_rng(seed)
    t = math.ceil(share * m - 1e-9)
    good = {
        "normal": lambda n: g.normal(size=n),
        "log-normal": lambda n: np.exp(g.normal(size=n)),
        "counts": lambda n: g.poisson(0.7, n) * 1.0,
        "zeros": lambda n: np.where(g.random(n) < 0.8, 0.0, g.normal(size=n)),
        "atoms": lambda n: np.where(np.arange(n) < t, 5.0, 0.0),
    }[distribution](m - t)
    y = np.sort(np.concatenate([good, ADVERSARIES[adversary](g, good, t)]))
    got = given_share(y, share, m)
    assert got.allowed == t
    assert not got.more_apart or got.left_out > t
    if got.more_apart:
        return
    assert got.left_out <= t and got.least_sd <= good.std() * (1 + 1e-9)
    e = t / m
    bound = (got.sd + good.std()) * math.sqrt(e / (1 - 2 * e))
    assert abs(got.estimate - good.mean()) <= bound * (1 + 1e-9) + 1e-9
    among = np.isin(good, y[(y >= got.ends[0]) & (y <= got.ends[1])]).all()
    assert not among or abs(got.estimate - good.mean()) <= got.bias_bound * (1 + 1e-9) + 1e-9
    assert got.sd <= KAPPA * good.std() * (1 + 1e-6) + 1e-6 or got.left_out < t


def test_asymmetric_damage_costs_nothing():
    x = np.random.default_rng(0).normal(size=10_000)
    x[:100] = 1e6
    got = given_share(np.sort(x), 0.01, 10_000)
    assert got.estimate == pytest.approx(x[100:].mean(), rel=1e-9)
    assert (got.left_out, got.kept, got.more_apart, got.cut_ties) == (100, 9900, False, False)
    assert got.ends == (x[100:].min(), x[100:].max())
    assert got.margin() == pytest.approx(2.5758 * got.sd / math.sqrt(9900), rel=1e-4)
    exact = got.margin(0.95, 10**6, exact=True)
    assert exact == pytest.approx(1.96e-3 * got.sd + got.bias_bound, rel=1e-4)


def test_more_apart_than_allowed_is_told_and_left_out():
    x = np.random.default_rng(0).normal(size=10_000)
    x[:230] = 1e6
    got = given_share(np.sort(x), 0.01, 10_000)
    assert got.more_apart and got.left_out == 230 and abs(got.estimate) < 0.05


def test_real_modes_beyond_the_share_are_not_more_apart():
    g = np.random.default_rng(0)
    x = 1e3 * np.exp(g.normal(size=10_000))
    x[:500] = 1e7 * np.exp(g.normal(size=500))
    got = given_share(np.sort(x), 0.01, 10_000)
    assert not got.more_apart and 0 < got.left_out <= 100
    assert given_share(np.sort(x), 0.06, 10_000).ends[1] < 1e6


@pytest.mark.parametrize(("share", "all_gone"), [(0.01, True), (0.008, False)])
def test_ties_at_a_cut_go_altogether_where_they_may(share, all_gone):
    x = np.random.default_rng(0).normal(size=10_000)
    x[:100] = 6.0  # near enough not to stand apart
    got = given_share(np.sort(x), share, 10_000)
    assert got.cut_ties is False
    y = np.sort(np.concatenate([np.zeros(880), np.ones(20), np.full(100, 8.0)]))
    got = given_share(y, 10 * share, 1000)
    assert (got.left_out >= 100) is all_gone and got.cut_ties is not all_gone


def test_nothing_may_be_bad():
    x = np.arange(100.0)
    got = given_share(x, 0.0, 100)
    assert (got.estimate, got.left_out, got.bias_bound) == (49.5, 0, 0.0)
    constant = given_share(np.full(100, 3.0), 0.05, 100)
    assert (constant.estimate, constant.sd, constant.bias_bound) == (3.0, 0.0, 0.0)


def test_a_third_is_too_much():
    with pytest.raises(
        ValueError, match=r"less than a third of the sampled rows, got 0.34 \(34 of 100 rows\)"
    ):
        given_share(np.arange(100.0), 0.34, 100)


def test_the_allowance_is_exceeded_once_in_a_million():
    from scipy.stats import binom

    assert allowance(0.01, 1000, 1000) == 10 and allowance(0.0101, 1000, 1000) == 11
    for share in (0.001, 0.01, 0.1):
        t = allowance(share, 65_536, 10**7)
        assert binom.sf(t, 65_536, share) <= MISS < binom.sf(t - 1, 65_536, share)


def test_the_allowance_holds_for_samples_without_replacement():
    """Exactly 0.1% of 10⁶ rows bad, 10,000 samples: none has more than allowed (else once in 100 seeds)."""
    bad = np.random.default_rng(0).hypergeometric(1000, 999_000, 65_536, 10_000)
    assert bad.max() <= allowance(0.001, 65_536, 10**6)
    assert (bad > 65_536 * 0.001 + 2 * math.sqrt(65.5)).any()  # negative control: less is not enough
