"""Hypergeometric and binomial draws against exact probabilities, for a handful and for 10**12 rows."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from distmom.numerics.random import loader
from distmom.numerics.random.counts import binomial, hat_width, hypergeometric
from distmom.numerics.samples.sample_tree import LEVEL_SHIFT

KEY = 0xFEDCBA9876543210
FAILURE = 1e-6  # chance that a correct sampler fails one test, had its seed been drawn anew
N_DRAWS = 100_000

properties = settings(derandomize=True, deadline=None)
big = st.one_of(st.integers(0, 30), st.integers(0, 3000), st.integers(0, 2**52))


def table_draws(good, bad, sample, n=N_DRAWS):
    return hypergeometric(KEY, np.arange(n), 0, good, bad, sample, compiled=True)


def pvalue(draws, x, log_weights):
    """Chi-square against weights on the consecutive integers x, in up to 200 cells of at least 10 draws."""
    if draws.min() < x[0] or draws.max() > x[-1]:
        return 0.0
    weights = np.exp(log_weights - log_weights.max())
    upper = np.cumsum(weights) / weights.sum()
    n_cells = min(200, draws.size // 20)
    last = np.unique(np.searchsorted(upper, np.arange(1, n_cells) / n_cells))  # the last integer of each cell
    last = np.append(last[last < x.size - 1], x.size - 1)
    expected = np.diff(upper[last], prepend=0.0) * draws.size
    seen = np.bincount(np.searchsorted(last, draws - x[0]), minlength=last.size)
    whole = expected >= 10
    if not whole.all():
        seen = np.append(seen[whole], seen[~whole].sum())
        expected = np.append(expected[whole], expected[~whole].sum())
    return stats.chisquare(seen, expected).pvalue


def exact_table(good, bad, sample):
    """Integers around the mean and log probabilities there, from the exact ratios of neighbours."""
    mean = Fraction(sample * good, good + bad)
    reach = int(9 * math.sqrt(float(mean) * bad / (good + bad)) + 60)
    x = np.arange(max(0, sample - bad, int(mean) - reach), min(sample, good, int(mean) + reach) + 1)
    y = x[:-1].astype(np.longdouble)
    ratios = ((good - y) / (y + 1)) * ((sample - y) / (bad - sample + y + 1))
    return x, np.concatenate([[0.0], np.cumsum(np.log(ratios))]).astype(np.float64)


def exact_trials(n, p):
    """The same for n trials."""
    reach = int(9 * math.sqrt(n * p * (1 - p)) + 60)
    x = np.arange(max(0, int(n * p) - reach), min(n, int(n * p) + reach) + 1)
    y = x[:-1].astype(np.longdouble)
    ratios = ((n - y) / (y + 1)) * (np.longdouble(p) / (1 - np.longdouble(p)))
    return x, np.concatenate([[0.0], np.cumsum(np.log(ratios))]).astype(np.float64)


TABLES = [
    (3, 3, 2),
    (9, 1, 8),
    (20, 30, 24),  # urns
    (1, 10**12, 5 * 10**11),
    (24, 10**9, 10**8),
    (10**12, 24, 10**12 - 5),
    (25, 25, 25),  # ratio of uniforms from here
    (60, 40, 30),
    (40, 60, 70),
    (100, 10**6, 10**4),  # mean 1: the hat touches
    (10**6, 300, 10**6 - 100),
    (131_072, 131_072, 8_900),
    (10**9, 10**9, 10**5),
    (3 * 10**11, 7 * 10**11, 10**5),
    (5 * 10**11, 5 * 10**11, 34 * 10**9),
]


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.one_in(2)
def test_hypergeometric_has_its_distribution(table):
    draws = table_draws(*table)
    assert pvalue(draws, *exact_table(*table)) > FAILURE


@pytest.mark.parametrize("table", [(60, 40, 30), (131_072, 131_072, 8_900)])
def test_the_test_would_find_a_wrong_sampler(table):
    good, bad, sample = table
    distribution = stats.hypergeom(good + bad, good, sample)
    rounded = np.rint(
        np.random.default_rng(0).normal(distribution.mean(), distribution.std() * 1.05, N_DRAWS)
    ).astype(int)
    assert pvalue(rounded, *exact_table(*table)) < FAILURE
    assert pvalue(table_draws(*table) + 3, *exact_table(*table)) < FAILURE
    assert pvalue(table_draws(good + good // 50, bad, sample), *exact_table(*table)) < FAILURE


@pytest.mark.parametrize("table", [(9, 1, 8), (60, 40, 30), (400, 600, 70)])
def test_the_exact_weights_are_scipys_where_scipy_is_exact(table):
    good, bad, sample = table
    x, log_weights = exact_table(*table)
    pmf = stats.hypergeom(good + bad, good, sample).pmf(x)
    weights = np.exp(log_weights - log_weights.max())
    np.testing.assert_allclose(weights / weights.sum(), pmf, rtol=1e-9, atol=1e-14)


TRIALS = [
    (1, 0.3),
    (24, 0.4),  # waiting times
    (10**12, 3e-12),
    (10**6, 0.99999),
    (20, 0.5),  # ratio of uniforms
    (1000, 0.011),
    (1000, 0.9),
    (10**5, 0.4),
    (10**12, 0.999),
    (10**9, 0.25),
    (10**12, 2e-11),
]


@pytest.mark.parametrize(("n", "p"), TRIALS)
@pytest.mark.one_in(2)
def test_binomial_has_its_distribution(n, p):
    draws = binomial(KEY, np.arange(N_DRAWS), 1, n, p, compiled=True)
    assert pvalue(draws, *exact_trials(n, p)) > FAILURE


def test_draws_are_frozen():
    good = [5, 40, 10**6, 5 * 10**11, 10**12]
    bad = [5, 60, 10**7, 5 * 10**11, 1]
    sample = [5, 50, 10**5, 34 * 10**9, 3]
    nodes = (3 << LEVEL_SHIFT) + np.arange(5)
    assert hypergeometric(KEY, 7, nodes, good, bad, sample).tolist() == FROZEN_TABLES
    n, p = [10, 100, 1000, 10**6, 10**12], [0.5, 0.01, 0.3, 0.999, 1e-3]
    assert binomial(KEY, 7, nodes, n, p).tolist() == FROZEN_TRIALS


@properties
@given(st.lists(st.tuples(big, big, st.floats(0, 1)), min_size=1, max_size=20), st.integers(0, 2**32 - 1))
def test_hypergeometric_is_within_its_range_and_the_same_compiled(rows, block):
    good, bad = (np.array(c, dtype=np.int64) for c in list(zip(*rows, strict=True))[:2])
    sample = np.array([min(int((g + b) * s), g + b) for g, b, s in rows], dtype=np.int64)
    x = hypergeometric(KEY, block, np.arange(good.size), good, bad, sample)
    assert (np.maximum(0, sample - bad) <= x).all()
    assert (x <= np.minimum(good, sample)).all()
    twin = hypergeometric(KEY, block, np.arange(good.size), good, bad, sample, compiled=True)
    assert np.array_equal(x, twin)


@properties
@given(st.lists(st.tuples(big, st.floats(0, 1)), min_size=1, max_size=20), st.integers(0, 2**32 - 1))
def test_binomial_is_within_its_range_and_the_same_compiled(rows, block):
    n = np.array([r[0] for r in rows], dtype=np.int64)
    p = np.array([r[1] for r in rows])
    x = binomial(KEY, block, np.arange(n.size), n, p)
    assert (x >= 0).all()
    assert (x <= n).all()
    assert np.array_equal(x, binomial(KEY, block, np.arange(n.size), n, p, compiled=True))


def test_thousands_of_draws_have_the_same_bits_compiled():
    rng = np.random.default_rng(1)
    size = 20_000
    good, bad = np.exp2(rng.uniform(0, 42, (2, size))).astype(np.int64)
    sample = ((good + bad) * np.exp2(-rng.uniform(0, 20, size))).astype(np.int64)
    both = [hypergeometric(KEY, 1, np.arange(size), good, bad, sample, compiled=c) for c in (False, True)]
    assert np.array_equal(*both)
    p = rng.random(size) ** 5
    assert np.array_equal(*(binomial(KEY, 1, np.arange(size), good, p, compiled=c) for c in (False, True)))


def test_a_draw_depends_on_its_address_alone():
    whole = hypergeometric(KEY, np.arange(50)[:, None], np.arange(6), 10**6, 10**7, 10**5)
    assert whole.shape == (50, 6)
    assert hypergeometric(KEY, 31, 4, 10**6, 10**7, 10**5) == whole[31, 4]
    assert len(np.unique(whole)) > 200


def test_arguments_without_chance_need_no_draw():
    assert hypergeometric(KEY, 0, 0, [0, 5, 5, 5], [5, 0, 5, 5], [3, 3, 0, 10]).tolist() == [0, 3, 0, 5]
    assert binomial(KEY, 0, 0, [0, 9, 9, 10**9], [0.5, 0.0, 1.0, 1e-320]).tolist() == [0, 0, 9, 0]
    assert hypergeometric(KEY, 0, np.arange(0), 1, 1, 1).shape == (0,)


@pytest.mark.parametrize(
    "arguments", [(-1, 5, 2), (5, -1, 2), (5, 5, 11), (5, 5, -1), (2**53, 1, 5), (2**62, 2**62, 5)]
)
def test_tables_out_of_range_are_refused(arguments):
    with pytest.raises(ValueError, match="hypergeometric needs"):
        hypergeometric(KEY, 0, 0, *arguments)


@pytest.mark.parametrize("arguments", [(-1, 0.5), (5, -0.1), (5, 1.1), (5, math.nan), (2**54, 0.5)])
def test_trials_out_of_range_are_refused(arguments):
    with pytest.raises(ValueError, match="binomial needs"):
        binomial(KEY, 0, 0, *arguments)


def test_a_block_out_of_range_is_refused():
    with pytest.raises(ValueError, match="32 bits"):
        hypergeometric(KEY, 2**32, 0, 5, 5, 5)


def test_the_logarithm_is_within_two_units_in_the_last_place():
    rng = np.random.default_rng(2)
    x = np.concatenate([np.exp(rng.uniform(-700, 700, 20_000)), rng.uniform(0.5, 2, 20_000), [1.0]])
    assert (np.abs(loader.log(x) - np.log(x)) <= 2.0 * np.spacing(np.abs(np.log(x)))).all()
    p = rng.uniform(0, 0.5, 20_000) ** 8
    np.testing.assert_allclose(loader.log_complement(p), np.log1p(-p), rtol=3e-15)


def test_stirling_errors_are_right():
    for n in [*range(1, 60), 1000]:
        exact = math.lgamma(n + 1) - (n + 0.5) * math.log(n) + n - 0.5 * math.log(2 * math.pi)
        assert loader.stirling_error(np.array([float(n)]))[0] == pytest.approx(
            exact, abs=4e-16 * (n + 4) ** 1.3
        )


@pytest.mark.parametrize(
    "table", [(30, 40, 25), (1000, 3000, 70), (10**6, 10**9, 10**5), (5 * 10**11,) * 2 + (10**11,)]
)
def test_log_probabilities_of_neighbours_have_the_exact_ratio(table):
    """The log of an exact fraction; differences of log-gamma are wrong by 4e-3 in the last case."""
    good, bad, sample = table
    low, high = max(0, sample - bad), min(good, sample)
    middle = sample * good // (good + bad)
    for x in {low, min(low + 1, high - 1), middle, middle + 3, high - 1}:
        ratio = Fraction((good - x) * (sample - x), (x + 1) * (bad - sample + x + 1))
        got = loader.table_misfit(*(np.array([float(v)] * 2) for v in (x, good, bad, sample)))
        above = loader.table_misfit(*(np.array([float(v)]) for v in (x + 1, good, bad, sample)))
        scale = max(1.0, abs(float(got[0])))
        assert float(got[0] - above[0]) == pytest.approx(math.log(ratio), abs=2e-13 * scale)


def test_the_hat_covers_the_region_of_the_ratio_of_uniforms():
    """Else some counts would be drawn too rarely. At mean 1 of a long table the two touch exactly."""
    rng = np.random.default_rng(3)
    worst = 0.0
    for _ in range(400):
        m = float(rng.integers(25, 400))
        g = m + np.floor(m * np.expm1(rng.exponential(2.0)))
        b = g + np.floor(g * np.expm1(rng.exponential(2.0)))
        if rng.random() < 0.3:
            b = max(g, m * g - g)
        total = g + b
        mean = m * (g / total)
        variance = mean * (b / total) * ((total - m) / (total - 1.0))
        mode = np.floor((m + 1.0) * ((g + 1.0) / (total + 2.0)))
        x = np.arange(m + 1.0)
        misfit = loader.table_misfit(x, *(np.full_like(x, v) for v in (g, b, m)))
        height = np.exp(0.5 * (misfit[int(mode)] - misfit))
        assert height.max() <= 1 + 1e-12
        centre = mean - mode + 0.5
        reach = np.maximum(np.abs(x - mode - centre), np.abs(x + 1 - mode - centre)) * height
        worst = max(worst, reach.max() / (hat_width(np.array(variance)) / 2))
    assert 0.98 < worst <= 1 + 1e-12


FROZEN_TABLES = [2, 21, 9085, 16999961707, 3]
FROZEN_TRIALS = [8, 2, 299, 999014, 999971997]
