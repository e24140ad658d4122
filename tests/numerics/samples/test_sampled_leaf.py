"""Rows and moments drawn from one leaf: the definition, frozen rows, missing and outlying values, groups."""

import math
from collections import Counter
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from distmom.numerics.random.philox import bounded32, bounded_in_order, words
from distmom.numerics.samples.sampled_leaf import leaf_sample, sampled_leaf_moments

KEY = 0xABCDEF0123456789
FAILURE = 1e-6  # chance that a correct sampler fails one test, had its seed been drawn anew

properties = settings(derandomize=True, deadline=None)


def halves(block, leaf, n):
    return words(KEY, block, (n + 1) // 2, node=leaf).view("<u4")[:n]


def slow_sample(block, leaf, n, b):
    """Floyd's method on a set; more than half: the ones left out, in order."""
    few = min(b, n - b)
    stream = iter(halves(block, leaf, few + 100).tolist())
    drawn, order = set(), []
    for last in range(n - few, n):
        while True:
            product = next(stream) * (last + 1)
            if product % 2**32 >= 2**32 % (last + 1):
                break
        row = last if product >> 32 in drawn else product >> 32
        drawn.add(row)
        order.append(row)
    return order if few == b else [row for row in range(n) if row not in drawn]


@properties
@given(st.integers(0, 2**32 - 1), st.integers(0, 2**40 - 1), st.integers(0, 300), st.floats(0, 1))
def test_a_sample_is_floyds(block, leaf, n, share):
    b = int(share * n)
    slow = slow_sample(block, leaf, n, b)
    assert len(set(slow)) == b
    for compiled in (False, True):
        rows = leaf_sample(KEY, block, leaf, n, b, compiled=compiled)
        assert rows.dtype == np.int64
        assert rows.tolist() == slow


def test_a_sample_is_frozen():
    assert leaf_sample(KEY, 3, 17, 131_072, 5).tolist() == FROZEN_FEW
    assert leaf_sample(KEY, 3, 17, 12, 9).tolist() == FROZEN_MANY


@pytest.mark.parametrize("b", [4_456, 65_536, 65_537, 131_071])
def test_a_full_leaf_gives_the_same_rows_compiled(b):
    for block in range(4):
        rows = leaf_sample(KEY, block, 0, 131_072, b)
        assert np.array_equal(rows, leaf_sample(KEY, block, 0, 131_072, b, compiled=True))
        assert np.unique(rows).size == b


def test_rejected_words_are_skipped():
    """One word in 100,000 is rejected when half a full leaf is drawn: find such a block."""
    n, b = 131_000, 65_000
    bounds = np.arange(n - b + 1, n + 1, dtype=np.uint64)
    block = next(k for k in range(100) if not bounded32(halves(k, 0, b).astype(np.uint64), bounds)[1].all())
    slow = slow_sample(block, 0, n, b)
    for compiled in (False, True):
        assert leaf_sample(KEY, block, 0, n, b, compiled=compiled).tolist() == slow
    x = np.arange(float(n))
    twins = [
        sampled_leaf_moments(x, None, None, 1, KEY, 0, np.full(block + 1, b), compiled)
        for compiled in (False, True)
    ]
    assert all(np.array_equal(a, c) for a, c in zip(*twins, strict=True))


@pytest.mark.parametrize(("n", "b"), [(6, 2), (6, 3), (6, 5), (7, 4)])
def test_all_subsets_are_equally_likely(n, b):
    seen = Counter(tuple(sorted(leaf_sample(KEY, k, 5, n, b, compiled=True).tolist())) for k in range(10_000))
    assert stats.chisquare([seen[c] for c in combinations(range(n), b)]).pvalue > FAILURE


@pytest.mark.slow
def test_the_test_would_find_a_sampler_that_puts_repeats_on_the_next_row():
    def biased(block):
        first, second = bounded_in_order(KEY, block, 0, np.full(2, 6, np.uint64)).tolist()
        return tuple(sorted((first, second if second != first else (first + 1) % 6)))

    seen = Counter(biased(block) for block in range(10_000))
    assert stats.chisquare([seen[c] for c in combinations(range(6), 2)]).pvalue < FAILURE


def naive_moments(x, gone, codes, n_groups, leaf, counts):
    """Cell by cell, in exact fractions."""
    count = np.zeros((n_groups, len(counts)), dtype=np.int64)
    mean, m2 = np.zeros(count.shape), np.zeros(count.shape)
    for k, b in enumerate(counts):
        rows = [r for r in leaf_sample(KEY, k, leaf, x.size, int(b)).tolist() if gone is None or not gone[r]]
        for g in range(n_groups):
            values = [Fraction(x[r]) for r in rows if codes is None or codes[r] == g]
            if values:
                centre = sum(values) / len(values)
                count[g, k], mean[g, k] = len(values), float(centre)
                m2[g, k] = float(sum((v - centre) ** 2 for v in values))
    return count, mean, m2


def both(x, gone, codes, n_groups, leaf, counts):
    """The twin's result, after the compiled one was found to have the same bits."""
    counts = np.asarray(counts)
    twin, fast = (sampled_leaf_moments(x, gone, codes, n_groups, KEY, leaf, counts, c) for c in (False, True))
    for a, b, dtype in zip(twin, fast, (np.int64, np.float64, np.float64), strict=True):
        assert a.shape == b.shape == (n_groups, counts.size)
        assert a.dtype == b.dtype == dtype
        assert np.array_equal(a, b, equal_nan=True)
        assert np.array_equal(np.signbit(a), np.signbit(b)) or np.isnan(a).any()
    return twin


@properties
@given(
    st.integers(1, 200),
    st.lists(st.floats(0, 1), min_size=1, max_size=8),
    st.booleans(),
    st.integers(0, 4),
    st.integers(0, 2**32),
)
def test_moments_are_those_of_the_sampled_rows(n, shares, some_gone, n_groups, seed):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal(n) * 10.0 ** rng.integers(-3, 4) + rng.choice([0.0, 1e3, -1e6])
    gone = rng.random(n) < 0.3 if some_gone else None
    codes = rng.integers(0, n_groups, n) if n_groups else None
    if gone is not None:
        x[gone] = rng.choice([np.nan, np.inf, 5.0], gone.sum())
    counts = [int(s * n) for s in shares]
    count, mean, m2 = both(x, gone, codes, max(1, n_groups), 9, counts)
    exact = naive_moments(x, gone, codes, max(1, n_groups), 9, counts)
    assert np.array_equal(count, exact[0])
    np.testing.assert_allclose(
        mean, exact[1], rtol=1e-14, atol=1e-15 * np.abs(x[np.isfinite(x)]).max(initial=1)
    )
    np.testing.assert_allclose(
        m2, exact[2], rtol=1e-12, atol=1e-24 * np.abs(x[np.isfinite(x)]).max(initial=1) ** 2
    )


def test_a_high_level_costs_no_digits():
    """Spread 1e-6 at level 1e9: E[x^2] - E[x]^2 has no digit left."""
    rng = np.random.default_rng(0)
    x = 1e9 + np.round(rng.standard_normal(2_000) * 8) * 2.0**-23
    count, mean, m2 = both(x, None, None, 1, 0, [1_500])
    exact = naive_moments(x, None, None, 1, 0, [1_500])
    assert mean == pytest.approx(exact[1], rel=1e-15)
    assert m2 == pytest.approx(exact[2], rel=1e-9)
    rows = leaf_sample(KEY, 0, 0, x.size, 1_500)
    naive = (x[rows] ** 2).mean() - x[rows].mean() ** 2  # negative control
    assert abs(naive * count[0, 0] - exact[2][0, 0]) > 0.1 * exact[2][0, 0]


def test_values_that_are_not_finite_follow_the_rules_of_addition():
    x = np.zeros(64)
    x[0], x[1], x[2] = np.inf, -np.inf, np.nan
    codes = np.full(64, 4)
    codes[[0, 10]], codes[[1, 11]], codes[[2, 12]], codes[[20, 21]] = 0, 1, 2, 3
    count, mean, m2 = both(x, None, codes, 5, 0, [64])
    assert count[:, 0].tolist() == [2, 2, 2, 2, 56]
    assert mean[:2, 0].tolist() == [np.inf, -np.inf]
    assert np.isnan(mean[2, 0])
    assert np.isnan(m2[:3, 0]).all()
    assert mean[3:, 0].tolist() == m2[3:, 0].tolist() == [0.0, 0.0]
    _, mean, m2 = both(x, None, None, 1, 0, [64])
    assert np.isnan([mean[0, 0], m2[0, 0]]).all()
    x[[1, 2]] = 0.0
    _, mean, m2 = both(x, None, None, 1, 0, [64, 0, 64])
    assert mean[0].tolist() == [np.inf, 0.0, np.inf]
    assert np.isnan(m2[0, [0, 2]]).all()


def test_a_sum_that_overflows_still_has_its_mean():
    big = np.full(40, 1.5e308)
    for codes, n_groups in ((None, 1), (np.arange(40) % 2, 2)):
        _, mean, m2 = both(big, None, codes, n_groups, 0, [40, 30])
        assert mean == pytest.approx(np.full((n_groups, 2), 1.5e308), rel=1e-14)
        assert not np.isnan(m2).any()
    spread = np.where(np.arange(40) % 2, 1.5e308, -1.5e308)
    _, mean, m2 = both(spread, None, None, 1, 0, [40])
    assert np.isfinite(mean).all()
    assert m2[0, 0] == np.inf


def test_leaves_and_blocks_without_rows_give_zeros():
    for x, counts in ((np.zeros(0), [0, 0]), (np.ones(3), [0, 0]), (np.ones(3), [])):
        for part in both(x, None, np.zeros(x.size, dtype=np.int64), 2, 0, counts):
            assert part.shape == (2, len(counts))
            assert not part.any()
    count, mean, m2 = both(np.full(5, np.nan), np.ones(5, dtype=bool), None, 1, 0, [3, 5])
    assert not count.any()
    assert not mean.any()
    assert not m2.any()


def test_read_only_and_strided_arrays_are_accepted():
    x = np.arange(200.0)[::2]
    frozen = np.ascontiguousarray(x)
    frozen.flags.writeable = False
    counts = np.full((4, 2), 30)[:, 1]
    for part, other in zip(
        both(x, None, None, 1, 0, counts), both(frozen, None, None, 1, 0, counts), strict=True
    ):
        assert np.array_equal(part, other)


def test_many_blocks_of_a_full_leaf_have_the_same_bits_compiled():
    """More drawn rows than the twin holds at once, and blocks on both sides of one half."""
    rng = np.random.default_rng(4)
    x = np.exp(3 * rng.standard_normal(131_072))
    counts = rng.integers(0, 9_000, 60)
    counts[[3, 17, 30]] = [131_072, 70_000, 0]
    both(x, rng.random(x.size) < 0.1, rng.integers(0, 5, x.size), 5, 8, counts)
    both(x, None, None, 1, 8, counts)


def test_what_cannot_be_drawn_is_refused():
    x, few = np.zeros(5), np.array([3, 6])
    with pytest.raises(ValueError, match=r"a leaf of 5 rows .* cannot give 6 rows"):
        sampled_leaf_moments(x, None, None, 1, KEY, 0, few)
    with pytest.raises(ValueError, match="cannot give"):
        leaf_sample(KEY, 0, 0, 2**31, 1)
    with pytest.raises(ValueError, match="cannot give"):
        leaf_sample(KEY, 0, 0, 5, -1)
    for codes in (np.array([0, 0, 2, 0, 0]), np.array([0, -1, 0, 0, 0])):
        with pytest.raises(ValueError, match="codes must be"):
            sampled_leaf_moments(x, None, codes, 2, KEY, 0, np.array([3]), True)
        gone = (codes < 0) | (codes > 1)  # rows that do not count need no code
        assert sampled_leaf_moments(x, gone, codes, 2, KEY, 0, np.array([5]), True)[0].sum() == 4
    with pytest.raises(ValueError, match="one group"):
        sampled_leaf_moments(x, None, None, 2, KEY, 0, np.array([3]))


def test_counts_of_used_rows_are_hypergeometric():
    """Rows that do not count are dropped after the draw, so a block's used rows vary by chance alone."""
    gone = np.arange(100) % 4 == 0
    count, _, _ = sampled_leaf_moments(np.zeros(100), gone, None, 1, KEY, 3, np.full(20_000, 40), True)
    distribution = stats.hypergeom(100, 75, 40)
    error = distribution.std() / math.sqrt(count.size)
    assert abs(count.mean() - distribution.mean()) < stats.norm.isf(FAILURE / 2) * error
    assert (
        abs(count.var() / distribution.var() - 1)
        < stats.norm.isf(FAILURE / 2) * math.sqrt(2 / count.size) * 1.1
    )


FROZEN_FEW = [56788, 128936, 2485, 85646, 91182]
FROZEN_MANY = [1, 2, 3, 5, 6, 7, 8, 9, 11]
