"""Samples with replacement from many leaves: definition, frozen draws, exact distribution on tiny lakes."""

import math
from collections import Counter
from fractions import Fraction
from itertools import combinations_with_replacement, pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from distmom.numerics.random.counts import binomial
from distmom.numerics.random.philox import bounded32, resolve_seed, stream_key, words
from distmom.numerics.samples.sample_tree import LEVEL_SHIFT, SampleTree
from distmom.numerics.samples.sampled_leaf import leaf_sample, sampled_leaf_moments

KEY = 0xABCDEF0123456789
FAILURE = 1e-6  # chance that a correct sampler fails one test, had its seed been drawn anew

properties = settings(derandomize=True, deadline=None)
lakes = st.lists(st.one_of(st.integers(0, 3), st.integers(0, 2**17)), min_size=1, max_size=40)


# --- the tree


def slow_counts(rows, block, size, level=None, index=0):
    """The definition, node by node from the root."""
    if level is None:
        level = (len(rows) - 1).bit_length()
    if level == 0:
        return [size] if index < len(rows) else []
    half = 1 << (level - 1)
    left = sum(rows[2 * index * half : (2 * index + 1) * half])
    right = sum(rows[(2 * index + 1) * half : (2 * index + 2) * half])
    to_left = size if right == 0 else 0
    if left and right:
        to_left = int(binomial(KEY, block, (level << LEVEL_SHIFT) + index, size, left / (left + right)))
    return slow_counts(rows, block, to_left, level - 1, 2 * index) + slow_counts(
        rows, block, size - to_left, level - 1, 2 * index + 1
    )


@properties
@given(lakes, st.integers(0, 10**6), st.data())
def test_any_cut_into_windows_gives_the_counts_of_the_whole(rows, size, data):
    tree = SampleTree(rows)
    size = size if tree.n_rows else 0
    cuts = data.draw(st.sets(st.integers(1, len(rows) - 1))) if len(rows) > 1 else set()
    edges = [0, *sorted(cuts), len(rows)]
    whole = tree.window(0, len(rows)).counts(KEY, 3, size, replace=True)
    assert whole.tolist() == [slow_counts(rows, k, size) for k in range(3)]
    assert (whole.sum(axis=1) == size).all() and not whole[:, np.array(rows) == 0].any()
    pieces = [
        tree.window(start, stop).counts(KEY, 3, size, replace=True, compiled=data.draw(st.booleans()))
        for start, stop in pairwise(edges)
    ]
    assert np.array_equal(np.concatenate(pieces, axis=1), whole)


def test_counts_are_frozen():
    window = SampleTree([3, 3, 0, 131_072, 1, 70_000]).window(1, 6)
    assert window.counts(0x5EED5EED5EED5EED, 3, 50_000, replace=True).tolist() == FROZEN_COUNTS


@pytest.mark.parametrize("rows", [[100, 300, 50, 550], [10**11, 3 * 10**11, 6 * 10**11]])
def test_each_leaf_has_a_binomial_count(rows):
    counts = SampleTree(rows).window(0, len(rows)).counts(KEY, 20_000, 700, replace=True, compiled=True)
    for leaf in (0, len(rows) - 1):
        distribution = stats.binom(700, rows[leaf] / sum(rows))
        x = np.arange(701)
        expected = distribution.pmf(x) * len(counts)
        common = expected >= 10
        seen = np.bincount(counts[:, leaf], minlength=701)
        observed = np.append(seen[common], seen[~common].sum())
        wanted = np.append(expected[common], expected[~common].sum())
        statistic = ((observed - wanted) ** 2 / np.maximum(wanted, 1.0)).sum()
        assert stats.chi2.sf(statistic, common.sum()) > FAILURE


def test_what_cannot_be_drawn_is_refused():
    tree = SampleTree([3, 3])
    assert tree.window(0, 2).counts(KEY, 1, 7, replace=True).sum() == 7  # more draws than rows
    for size in (-1, 2**53 + 1):
        with pytest.raises(ValueError, match="block_size must be in"):
            tree.window(0, 1).counts(KEY, 2, size, replace=True)
    with pytest.raises(ValueError, match=r"block_size must be in \[0, 0\], got 1"):
        SampleTree([0, 0]).window(0, 1).counts(KEY, 2, 1, replace=True)
    with pytest.raises(ValueError, match=r"a leaf of 0 rows .* cannot give 1 rows"):
        leaf_sample(KEY, 0, 0, 0, 1, replace=True)
    with pytest.raises(ValueError, match="cannot give"):
        sampled_leaf_moments(np.zeros(3), None, None, 1, KEY, 0, np.array([2**31]), replace=True)


# --- the leaf


def slow_sample(block, leaf, n, b):
    """One word after the other: Lemire's method with rejection."""
    stream = iter(words(KEY, block, b + 100, node=leaf).view("<u4").tolist())
    rows = []
    while len(rows) < b:
        product = next(stream) * n
        if product % 2**32 >= 2**32 % n:
            rows.append(product >> 32)
    return rows


@properties
@given(st.integers(0, 2**32 - 1), st.integers(0, 2**40 - 1), st.integers(1, 300), st.integers(0, 400))
def test_a_sample_is_one_bounded_number_after_the_other(block, leaf, n, b):
    slow = slow_sample(block, leaf, n, b)
    for compiled in (False, True):
        rows = leaf_sample(KEY, block, leaf, n, b, replace=True, compiled=compiled)
        assert rows.dtype == np.int64 and rows.tolist() == slow


def test_a_sample_is_frozen():
    assert leaf_sample(KEY, 3, 17, 131_071, 5, replace=True).tolist() == FROZEN_FEW
    assert leaf_sample(KEY, 3, 17, 3, 12, replace=True).tolist() == FROZEN_MANY


def test_rejected_words_are_skipped():
    """About one word in 110,000 is rejected for this number of rows: find a block with one."""
    n, b = 100_003, 60_000
    bounds = np.full(b, n, dtype=np.uint64)
    halves = (words(KEY, k, b // 2, node=0).view("<u4").astype(np.uint64) for k in range(100))
    block = next(k for k, h in enumerate(halves) if not bounded32(h, bounds)[1].all())
    slow = slow_sample(block, 0, n, b)
    for compiled in (False, True):
        assert leaf_sample(KEY, block, 0, n, b, replace=True, compiled=compiled).tolist() == slow


def both(x, gone, codes, n_groups, leaf, counts):
    """The twin's result, after the compiled one was found to have the same bits."""
    counts = np.asarray(counts)
    twin, fast = (
        sampled_leaf_moments(x, gone, codes, n_groups, KEY, leaf, counts, c, replace=True)
        for c in (False, True)
    )
    for a, b in zip(twin, fast, strict=True):
        assert a.dtype == b.dtype and np.array_equal(a, b, equal_nan=True)
    return twin


@properties
@given(
    st.integers(1, 60),
    st.lists(st.integers(0, 120), min_size=1, max_size=6),
    st.booleans(),
    st.integers(0, 3),
    st.integers(0, 2**32),
)
def test_a_row_drawn_several_times_counts_as_often(n, counts, some_gone, n_groups, seed):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal(n) * 10.0 ** rng.integers(-3, 4) + rng.choice([0.0, 1e3])
    gone = rng.random(n) < 0.3 if some_gone else None
    codes = rng.integers(0, n_groups, n) if n_groups else None
    count, mean, m2 = both(x, gone, codes, max(1, n_groups), 9, counts)
    for k, b in enumerate(counts):
        drawn = [r for r in leaf_sample(KEY, k, 9, n, b, replace=True) if gone is None or not gone[r]]
        for g in range(max(1, n_groups)):
            values = [Fraction(x[r]) for r in drawn if codes is None or codes[r] == g]
            assert count[g, k] == len(values)
            if values:
                centre = sum(values) / len(values)
                scale = float(max(map(abs, values)))
                assert mean[g, k] == pytest.approx(float(centre), rel=1e-13, abs=1e-14 * scale)
                exact = float(sum((v - centre) ** 2 for v in values))
                assert m2[g, k] == pytest.approx(exact, rel=1e-11, abs=1e-24 * scale**2)


def test_many_blocks_of_a_full_leaf_have_the_same_bits_compiled():
    rng = np.random.default_rng(4)
    x = np.exp(3 * rng.standard_normal(131_072))
    counts = rng.integers(0, 9_000, 60)
    counts[[3, 17, 30]] = [131_072, 200_000, 0]
    both(x, rng.random(x.size) < 0.1, rng.integers(0, 5, x.size), 5, 8, counts)
    both(x, None, None, 1, 8, counts)


def test_values_that_are_not_finite_follow_the_rules_of_addition():
    x = np.zeros(4)
    x[1] = np.inf
    count, mean, m2 = both(x, None, None, 1, 0, [200, 0])  # every row is drawn, but with probability 4e-25
    assert count.tolist() == [[200, 0]] and mean.tolist() == [[np.inf, 0.0]] and np.isnan(m2[0, 0])


# --- tree and leaf together


def multiplicities(rows, size, n_blocks, key=KEY):
    """How often each row of the lake was drawn by each block, shape (n_blocks, rows)."""
    base = size + 1
    counts = SampleTree(rows).window(0, len(rows)).counts(key, n_blocks, size, replace=True, compiled=True)
    first = np.concatenate([[0], np.cumsum(rows)[:-1]])
    total = np.zeros(n_blocks, dtype=np.int64)
    for leaf, n in enumerate(rows):
        digits = float(base) ** (first[leaf] + np.arange(n))
        count, mean, _ = sampled_leaf_moments(
            digits, None, None, 1, key, leaf, counts[:, leaf], True, replace=True
        )
        total += np.rint(count * mean)[0].astype(np.int64)
    return total[:, None] // base ** np.arange(sum(rows)) % base


def tuples_pvalue(seen, n, size):
    """Chi-square over all multisets of `size` of n rows, each with its multinomial probability."""
    found = Counter(map(tuple, seen.tolist()))
    observed, expected = [], []
    for multiset in combinations_with_replacement(range(n), size):
        times = tuple(np.bincount(multiset, minlength=n).tolist())
        ways = math.factorial(size) // math.prod(math.factorial(t) for t in times)
        observed.append(found.pop(times, 0))
        expected.append(len(seen) * ways / n**size)
    assert not found  # nothing that is no sample of this size
    return stats.chisquare(observed, expected).pvalue


@pytest.mark.parametrize(
    ("rows", "size"), [((3, 3, 3, 1), 3), ((1, 2, 3), 4), ((0, 4, 1, 0, 2), 3), ((7,), 3), ((1, 1), 8)]
)
@pytest.mark.one_in(2)
def test_all_sequences_of_rows_are_equally_likely(rows, size):
    """Every multiset of rows, also those with lone rows of small files, has its multinomial share."""
    seen = multiplicities(rows, size, 40_000)
    assert (seen.sum(axis=1) == size).all()
    assert tuples_pvalue(seen, sum(rows), size) > FAILURE


@pytest.mark.slow
def test_the_test_would_find_samples_without_replacement_and_unequal_leaves():
    rng = np.random.default_rng(0)
    distinct = np.zeros((40_000, 6), dtype=np.int64)
    np.put_along_axis(distinct, np.argsort(rng.random((40_000, 6)), axis=1)[:, :3], 1, axis=1)
    assert tuples_pvalue(distinct, 6, 3) < FAILURE
    # leaves (1, 2, 3) with the lone row taken 5% too often
    chances = np.array([1.05, *[1 - 0.01] * 5]) / 6
    assert tuples_pvalue(rng.multinomial(3, chances, 200_000), 6, 3) < FAILURE
    assert tuples_pvalue(rng.multinomial(3, np.full(6, 1 / 6), 200_000), 6, 3) > FAILURE


def test_every_row_has_the_same_share_over_many_seeds():
    """Each of ten rows, the lone one of the last file too, is a tenth of 100,000 draws of 2,500 seeds."""
    seeds = [stream_key(resolve_seed(seed)[0], "monte_carlo") for seed in range(2_500)]
    drawn = sum(multiplicities((3, 3, 3, 1), 8, 5, key).sum(axis=0) for key in seeds)
    distribution = stats.binom(100_000, 0.1)
    assert distribution.ppf(FAILURE / 20) <= drawn.min() <= drawn.max() <= distribution.isf(FAILURE / 20), (
        drawn
    )


def test_blocks_are_independent():
    """Draws that two blocks have in common: neighbours, and the same block under another key."""
    rows, size, n = (5, 2, 1), 4, 8
    first, other = (multiplicities(rows, size, 30_000, key) for key in (KEY, KEY + 1))
    for left, right in ((first[:-1], first[1:]), (first, other)):
        pairs = (left * right).sum(axis=1)  # pairs of draws that met: expected size^2 / n
        error = pairs.std() / math.sqrt(pairs.size)
        assert abs(pairs.mean() - size**2 / n) < stats.norm.isf(FAILURE / 2) * error


def test_a_sample_mean_has_the_variance_of_sampling_with_replacement():
    """Var = sigma^2 / B about the mean of the lake; without replacement it would be four fifths of it."""
    rng = np.random.default_rng(5)
    rows, size = (1_000, 20, 3_000, 1), 800
    x = [rng.standard_normal(n) + 5 * i for i, n in enumerate(rows)]
    counts = SampleTree(rows).window(0, 4).counts(KEY, 20_000, size, replace=True, compiled=True)
    sums = np.zeros(20_000)
    for leaf, values in enumerate(x):
        count, mean, _ = sampled_leaf_moments(
            values, None, None, 1, KEY, leaf, counts[:, leaf], True, replace=True
        )
        sums += (count * mean)[0]
    whole = np.concatenate(x)
    means, exact = sums / size, whole.var() / size
    bound = stats.norm.isf(FAILURE / 2)
    assert abs(means.mean() - whole.mean()) < bound * np.sqrt(exact / means.size)
    assert abs(means.var() / exact - 1) < bound * np.sqrt(2 / means.size) * 1.05
    assert abs(means.var() / (0.8 * exact) - 1) > bound * np.sqrt(2 / means.size) * 1.05  # negative control


FROZEN_COUNTS = [[1, 0, 32608, 0, 17390], [1, 0, 32807, 0, 17191], [0, 0, 32612, 0, 17388]]
FROZEN_FEW = [56789, 128938, 2485, 85646, 91181]
FROZEN_MANY = [1, 2, 0, 1, 2, 2, 0, 1, 2, 2, 0, 1]
