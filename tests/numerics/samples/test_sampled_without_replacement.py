"""Tree and leaf together: every set of rows of a lake is equally likely, and blocks are independent."""

from itertools import combinations

import numpy as np
import pytest
from scipy import stats

from distmom.numerics.random.philox import resolve_seed, stream_key
from distmom.numerics.samples.sample_tree import SampleTree
from distmom.numerics.samples.sampled_leaf import sampled_leaf_moments

KEY = 0x1234567887654321
FAILURE = 1e-6  # chance that a correct sampler fails one test, had its seed been drawn anew


def drawn_sets(rows, counts, key):
    """The set of rows of each block as bits: a row's value is its bit, so the sum of a sample is the set."""
    first = np.concatenate([[0], np.cumsum(rows)[:-1]])
    total = np.zeros(len(counts), dtype=np.int64)
    for leaf, n in enumerate(rows):
        bits = np.exp2(first[leaf] + np.arange(n))
        count, mean, _ = sampled_leaf_moments(bits, None, None, 1, key, leaf, counts[:, leaf], True)
        total += np.rint(count * mean)[0].astype(np.int64)
    return total


def sample(rows, size, n_blocks, key=KEY):
    counts = SampleTree(rows).window(0, len(rows)).counts(key, n_blocks, size, compiled=True)
    return drawn_sets(rows, counts, key)


def members(sets, n):
    return (sets[:, None] >> np.arange(n)) & 1


def subsets_pvalue(sets, n, size):
    wanted = [sum(1 << i for i in c) for c in combinations(range(n), size)]
    seen, times = np.unique(sets, return_counts=True)
    assert set(seen.tolist()) <= set(wanted)
    found = dict(zip(seen.tolist(), times.tolist(), strict=True))
    return stats.chisquare([found.get(w, 0) for w in wanted]).pvalue


@pytest.mark.parametrize(
    ("rows", "size"), [((3, 3, 3, 1), 8), ((1, 2, 3), 3), ((1, 2, 3), 2), ((0, 4, 1, 0, 2), 4), ((7,), 3)]
)
def test_all_sets_of_rows_are_equally_likely(rows, size):
    sets = sample(rows, size, 40_000)
    assert (members(sets, sum(rows)).sum(axis=1) == size).all()  # no row twice
    assert subsets_pvalue(sets, sum(rows), size) > FAILURE


def test_the_test_would_find_a_biased_allocation():
    """The lone row always, the other seven by chance: a rounded proportional allocation does such things."""
    rng = np.random.default_rng(0)
    others = rng.multivariate_hypergeometric([3, 3, 3], 7, size=40_000)
    counts = np.column_stack([others, np.ones(len(others), dtype=np.int64)])
    assert subsets_pvalue(drawn_sets((3, 3, 3, 1), counts, KEY), 10, 8) < FAILURE
    lone = np.where(rng.random(len(others)) < 0.77, 1, 0)  # slightly too rare: 0.77 instead of 0.80
    fewer = rng.multivariate_hypergeometric([3, 3, 3], 8, size=40_000)
    counts = np.column_stack([np.where(lone[:, None] == 1, others, fewer), lone])
    assert subsets_pvalue(drawn_sets((3, 3, 3, 1), counts, KEY), 10, 8) < FAILURE


@pytest.mark.slow
def test_every_row_has_the_same_share_over_many_seeds():
    """Each of ten rows, the lone one of the last file too, in 0.8 of 20,000 samples of 4,000 seeds.

    The bounds are binomial quantiles for all ten rows at once.
    """
    seeds = [stream_key(resolve_seed(seed)[0], "swor") for seed in range(4_000)]
    sets = np.concatenate([sample((3, 3, 3, 1), 8, 5, key) for key in seeds])
    included = members(sets, 10).sum(axis=0)
    distribution = stats.binom(len(sets), 0.8)
    low, high = distribution.ppf(FAILURE / 20), distribution.isf(FAILURE / 20)
    assert len(sets) == 20_000
    assert 0.78 < low / len(sets) < high / len(sets) < 0.82
    assert ((low <= included) & (included <= high)).all(), included
    assert subsets_pvalue(sets, 10, 8) > FAILURE


def test_blocks_are_independent():
    """The rows two blocks share are hypergeometric: neighbours, and the same block under another key."""
    rows, size, n = (20, 5, 12, 1, 4), 9, 42
    distribution = stats.hypergeom(n, size, size)
    first = members(sample(rows, size, 30_000), n)
    other = members(sample(rows, size, 30_000, key=KEY + 1), n)
    for left, right in ((first[:-1], first[1:]), (first, other)):
        shared = (left & right).sum(axis=1)
        x = np.arange(size + 1)
        expected = distribution.pmf(x) * len(shared)
        common = expected >= 10
        seen = np.bincount(shared, minlength=size + 1)
        observed = np.append(seen[common], seen[~common].sum())
        wanted = np.append(expected[common], expected[~common].sum())
        assert stats.chisquare(observed, wanted).pvalue > FAILURE
    correlation = np.corrcoef(first[:-1].ravel(), first[1:].ravel())[0, 1]
    assert abs(correlation) < stats.norm.isf(FAILURE / 2) / np.sqrt(len(first) * (n - 1))


def test_rows_of_one_block_repel_each_other_as_they_must():
    """Without replacement, two rows are both in a sample with probability B (B - 1) / (n (n - 1))."""
    rows, size, n = (3, 3, 3, 1), 4, 10
    inside = members(sample(rows, size, 40_000), n)
    together = inside.T @ inside
    distribution = stats.binom(len(inside), size * (size - 1) / (n * (n - 1)))
    pairs = together[np.triu_indices(n, 1)]
    assert pairs.min() >= distribution.ppf(FAILURE / 90)
    assert pairs.max() <= distribution.isf(FAILURE / 90)
    with_replacement = stats.binom(len(inside), 1 - 2 * 0.9**size + 0.8**size)
    assert with_replacement.mean() < distribution.ppf(FAILURE / 90)  # negative control


def test_a_sample_mean_has_the_variance_of_sampling_without_replacement():
    """Var = (n - B) / (n - 1) * sigma^2 / B, over leaves of unequal size and level."""
    rng = np.random.default_rng(5)
    rows, size = (1_000, 20, 3_000, 1), 800
    x = [rng.standard_normal(n) + 5 * i for i, n in enumerate(rows)]
    counts = SampleTree(rows).window(0, 4).counts(KEY, 20_000, size, compiled=True)
    sums = np.zeros(20_000)
    for leaf, values in enumerate(x):
        count, mean, _ = sampled_leaf_moments(values, None, None, 1, KEY, leaf, counts[:, leaf], True)
        sums += (count * mean)[0]
    whole = np.concatenate(x)
    exact = (whole.size - size) / (whole.size - 1) * whole.var() / size
    means = sums / size
    bound = stats.norm.isf(FAILURE / 2)
    assert abs(means.mean() - whole.mean()) < bound * np.sqrt(exact / means.size)
    assert abs(means.var() / exact - 1) < bound * np.sqrt(2 / means.size) * 1.05
