"""Rows that stand apart: against plain loops, at the edges of numbers, and what must not be found."""

from __future__ import annotations

import gap_twin
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from distmom.inference.share.gaps import FAR, MOST, NEAR, Apart, any_gap, rows_apart

DISTRIBUTIONS = {
    "normal": lambda g, n: g.normal(size=n),
    "normal 20": lambda g, n: g.normal(20, 2, n),
    "log-normal": lambda g, n: np.exp(2 * g.normal(size=n)),
    "narrow log-normal": lambda g, n: np.exp(0.2 * g.normal(size=n)),
    "counts": lambda g, n: g.poisson(0.7, n) * 1.0,
    "zeros": lambda g, n: np.where(g.random(n) < 0.6, 0.0, g.normal(5, 1, n)),
    "two values": lambda g, n: (g.random(n) < 0.3) * 1.0,
    "constant": lambda g, n: np.full(n, 3.0),
    "Cauchy": lambda g, n: g.standard_cauchy(n),
}
BAD = {
    "code": lambda x, g: np.full(x.size, -9999.0),
    "1e6": lambda x, g: np.full(x.size, 1e6),
    "times": lambda x, g: 1000.0 * np.clip(x, -1e300, 1e300),
    "garbage": lambda x, g: 1e5 * g.standard_cauchy(x.size),
    "cluster": lambda x, g: 60 + g.normal(size=x.size),
    "mode": lambda x, g: 1e6 * np.exp(g.normal(size=x.size)),
    "low mode": lambda x, g: -1e6 * np.exp(g.normal(size=x.size)),
    "huge": lambda x, g: np.full(x.size, 1e308),
    "codes": lambda x, g: g.choice([-9.0, 998.0, 999.0], x.size),
}


def damaged(distribution, bad, n, shares, seed):
    g = np.random.default_rng(seed)
    x = DISTRIBUTIONS[distribution](g, n)
    for what, share in zip(bad, shares, strict=True):
        rows = g.random(n) < share
        x[rows] = BAD[what](x[rows], g)
    return np.sort(x)


kinds = st.tuples(st.sampled_from(sorted(BAD)), st.sampled_from(sorted(BAD)))


@given(
    st.sampled_from(sorted(DISTRIBUTIONS)),
    kinds,
    st.integers(60, 200),
    st.tuples(st.sampled_from([0.0, 0.01, 0.03, 0.1, 0.2]), st.sampled_from([0.0, 0.02, 0.05])),
    st.integers(0, 999),
    st.sampled_from([FAR, NEAR]),
    st.booleans(),
)
@example("normal 20", ("code", "mode"), 200, (0.05, 0.05), 1, FAR, False)
@example("log-normal", ("huge", "mode"), 200, (0.03, 0.05), 1, FAR, False)
@example("log-normal", ("mode", "1e6"), 200, (0.1, 0.02), 3, FAR, False)
@example("log-normal", ("mode", "huge"), 200, (0.1, 0.02), 4, FAR, False)
@example("normal", ("garbage", "times"), 200, (0.1, 0.02), 2, FAR, True)
def test_the_gap_rule_is_the_plain_loop(distribution, bad, n, shares, seed, far, modes):
    y = damaged(distribution, bad, n, shares, seed)
    got = rows_apart(y, far, modes)
    with np.errstate(over="ignore", invalid="ignore"):
        kept, n_mode = gap_twin.rows_apart([float(v) for v in y], far, modes)
    inside = y[(y > got.lo) & (y < got.hi)]
    np.testing.assert_array_equal(inside, kept)
    assert (got.n_low, got.n_high) == (int((y <= got.lo).sum()), int((y >= got.hi).sum()))
    assert got.n == n - inside.size <= MOST * n
    assert got.n_mode == n_mode


@given(st.sampled_from(sorted(DISTRIBUTIONS)), kinds, st.integers(0, 99))
def test_powers_of_two_and_signs_change_nothing_else(distribution, bad, seed):
    y = damaged(distribution, bad, 300, (0.05, 0.02), seed)
    y = y[np.abs(y) < 1e300]
    a, b = rows_apart(y, modes=True), rows_apart(y * 2.0**-20, modes=True)
    assert (b.lo, b.hi, b.n_low, b.n_high) == (a.lo * 2.0**-20, a.hi * 2.0**-20, a.n_low, a.n_high)
    if y.size % 2:  # the mirror image of a median that is one of the rows
        mirrored = rows_apart(-y[::-1], modes=True)
        if len(set(y.tolist())) == y.size:
            assert (mirrored.n_low, mirrored.n_high) == (a.n_high, a.n_low)


def test_codes_are_named_with_their_rows():
    x = np.random.default_rng(0).normal(20.0, 2.0, 10_000)
    x[:100], x[100:130], x[130:132] = -9999.0, 99999.0, 1e9
    got = rows_apart(np.sort(x))
    assert (got.n_low, got.n_high) == (100, 32)
    assert got.values == ((-9999.0, 100), (99999.0, 30))
    assert -9999.0 < got.lo < x[132:].min() and x[132:].max() < got.hi < 99999.0


def test_values_whose_squares_overflow_hide_what_is_nearer_for_a_round_only():
    x = np.random.default_rng(0).normal(1.0, 1.0, 5000)
    x[:50], x[50:150], x[150:170] = 1e308, -9999.0, -1e308
    got = rows_apart(np.sort(x))
    assert (got.n_low, got.n_high) == (120, 50)


@pytest.mark.parametrize("n", [0, 1, 2, 31, 63])
def test_few_rows_are_not_judged(n):
    x = np.random.default_rng(0).normal(size=n)
    x[: n // 10] = 1e9
    assert rows_apart(np.sort(x)) == Apart()


@pytest.mark.parametrize("n", [64, 100, 200])
def test_constants_and_two_values_have_nothing_apart(n):
    assert rows_apart(np.full(n, 7.0)) == Apart()
    for k in (1, n // 20, n // 2):
        assert rows_apart(np.sort(np.where(np.arange(n) < k, 1e9, 0.0))) == Apart()
        assert rows_apart(np.sort(np.where(np.arange(n) < k, -1e308, 1e308))) == Apart()


def test_rare_events_are_not_accused_for_others_must_differ_from_the_mode():
    x = np.zeros(10_000)
    x[:100] = np.random.default_rng(0).normal(5.0, 1.0, 100)
    x[100:160] = 1e6
    assert rows_apart(np.sort(x)).n == 0
    x[160:1000] = np.random.default_rng(1).normal(5.0, 1.0, 840)
    assert rows_apart(np.sort(x)).n == 60


def test_more_than_most_is_not_accused():
    x = np.random.default_rng(0).normal(size=1000)
    x[:150] = 1e6
    assert rows_apart(np.sort(x)).n == 150
    x[150] = 1e6
    assert rows_apart(np.sort(x)).n == 0


def test_near_clusters_are_found_at_near_only():
    x = np.random.default_rng(0).normal(size=10_000)
    x[:100] += 20.0
    assert rows_apart(np.sort(x)).n == 0
    assert rows_apart(np.sort(x), NEAR).n_high == 100


def test_a_mode_decades_away_stays_in_and_codes_beyond_it_do_not():
    g = np.random.default_rng(0)
    x = 1e3 * np.exp(g.normal(size=20_000))
    x[:400] = 1e7 * np.exp(g.normal(size=400))
    plain = rows_apart(np.sort(x))
    assert (plain.n, plain.n_mode, rows_apart(np.sort(x), modes=True).n_high) == (0, 400, 400)
    x[400:600], x[600:800] = 1e12, -999999.0
    got = rows_apart(np.sort(x))
    assert (got.n_low, got.n_high) == (200, 200)
    assert 1e7 < got.hi < 1e12 and got.n_mode == 400


def test_rows_at_a_cut_are_accused():
    """Kept are lo < x < hi, whatever lies in the gap."""
    x = np.random.default_rng(0).normal(size=5000)
    x[:60] = 1e6
    got = rows_apart(np.sort(x))
    x[60] = got.hi
    again = rows_apart(np.sort(x))
    assert again.n_high == int((x >= again.hi).sum()) == 61


def column(kind, g):
    """Columns like real ones that the rule was tried on: (rows, far out rows)."""
    return {
        "scores, -999 is missing": (g.poisson(9.0, 1680) * 1.0, np.full(50, -999.0)),
        "children, 98 and 99 are missing": (
            g.choice(9, 4700, p=[0.3, 0.2, 0.25, 0.12, 0.06, 0.03, 0.02, 0.01, 0.01]) * 1.0,
            g.choice([98.0, 99.0], 118),
        ),
        "keys of another state": (30_000.0 + g.integers(1, 40, 1445), 32_000.0 + g.integers(1, 40, 50)),
        "maps of the other hemisphere": (g.normal(39.0, 0.6, 434), g.normal(-34.0, 1.0, 34)),
    }[kind]


@pytest.mark.parametrize(
    "kind",
    [
        "scores, -999 is missing",
        "children, 98 and 99 are missing",
        "keys of another state",
        "maps of the other hemisphere",
    ],
)
def test_clusters_of_real_columns_are_found(kind):
    """Codes, and what no sample can tell from them: a real cluster far away in units that may be negative."""
    rows, far_out = column(kind, np.random.default_rng(0))
    got = rows_apart(np.sort(np.concatenate([rows, far_out])))
    assert got.n == far_out.size


def test_without_a_gap_nothing_stands_apart() -> None:
    """What is looked at first, once for both distances, hides nothing; clean rows end there."""
    without = 0
    for law in DISTRIBUTIONS:
        for bad in (None, *BAD):
            for share in (0.002, 0.02, 0.14):
                x = damaged(law, () if bad is None else (bad,), 2_000, () if bad is None else (share,), 5)
                y = np.sort(x[np.isfinite(x)])
                if not any_gap(y):
                    assert rows_apart(y, NEAR, modes=True).n == rows_apart(y).n == rows_apart(y).n_mode == 0
                    without += 1
    assert 3 * len(DISTRIBUTIONS) - 3 <= without < 27 * len(DISTRIBUTIONS)
