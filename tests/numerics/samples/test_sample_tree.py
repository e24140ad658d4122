"""How the rows of a sample spread over leaves: exact, and independent of how the leaves are cut."""

import pickle
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from distmom.numerics.random.counts import hypergeometric
from distmom.numerics.samples.sample_tree import LEVEL_SHIFT, SampleTree

KEY = 0x5EED5EED5EED5EED
FAILURE = 1e-6  # chance that a correct sampler fails one test, had its seed been drawn anew

properties = settings(derandomize=True, deadline=None)
lakes = st.lists(st.one_of(st.integers(0, 3), st.integers(0, 2**17)), min_size=1, max_size=40)


def slow_counts(rows, block, size, level=None, index=0):
    """The definition, node by node from the root."""
    if level is None:
        level = (len(rows) - 1).bit_length()
    if level == 0:
        return [size] if index < len(rows) else []
    half = 1 << (level - 1)
    left = sum(rows[2 * index * half : (2 * index + 1) * half])
    right = sum(rows[(2 * index + 1) * half : (2 * index + 2) * half])
    to_left = int(hypergeometric(KEY, block, (level << LEVEL_SHIFT) + index, left, right, size))
    return slow_counts(rows, block, to_left, level - 1, 2 * index) + slow_counts(
        rows, block, size - to_left, level - 1, 2 * index + 1
    )


@properties
@given(lakes, st.floats(0, 1), st.data())
def test_any_cut_into_windows_gives_the_counts_of_the_whole(rows, share, data):
    tree = SampleTree(rows)
    size = int(share * tree.n_rows)
    cuts = data.draw(st.sets(st.integers(1, len(rows) - 1))) if len(rows) > 1 else set()
    edges = [0, *sorted(cuts), len(rows)]
    whole = tree.window(0, len(rows)).counts(KEY, 3, size)
    assert whole.tolist() == [slow_counts(rows, k, size) for k in range(3)]
    pieces = []
    for start, stop in pairwise(edges):
        window = pickle.loads(pickle.dumps(tree.window(start, stop)))
        assert window.n_rows == tree.n_rows
        pieces.append(window.counts(KEY, 3, size, compiled=data.draw(st.booleans())))
        assert pieces[-1].shape == (3, stop - start)
    assert np.array_equal(np.concatenate(pieces, axis=1), whole)


@properties
@given(lakes, st.floats(0, 1))
def test_counts_sum_to_the_block_and_fit_their_leaves(rows, share):
    tree = SampleTree(rows)
    size = int(share * tree.n_rows)
    counts = tree.window(0, len(rows)).counts(KEY, 20, size, compiled=True)
    assert (counts.sum(axis=1) == size).all()
    assert (counts >= 0).all()
    assert (counts <= np.array(rows)).all()


def test_counts_are_frozen():
    counts = SampleTree([3, 3, 0, 131_072, 1, 70_000]).window(1, 6).counts(KEY, 3, 50_000)
    assert counts.tolist() == FROZEN_COUNTS


def test_more_blocks_keep_the_first_ones():
    window = SampleTree([50, 7, 90, 1]).window(1, 4)
    assert np.array_equal(window.counts(KEY, 5, 60), window.counts(KEY, 12, 60)[:5])


@pytest.mark.parametrize("rows", [[100, 300, 50, 550], [2] * 64, [10**11, 3 * 10**11, 6 * 10**11]])
def test_each_leaf_has_a_hypergeometric_count(rows):
    """Also for 10**12 rows, by chi-square over the counts with at least 10 expected draws."""
    tree = SampleTree(rows)
    size = min(tree.n_rows * 34 // 1000, 10_000)
    counts = tree.window(0, len(rows)).counts(KEY, 20_000, size, compiled=True)
    for leaf in {0, 1, len(rows) - 1}:
        distribution = stats.hypergeom(tree.n_rows, rows[leaf], size)
        if (
            tree.n_rows > 10**9
        ):  # the distribution is binomial to 1e-8, and SciPy's own form has lost its digits
            distribution = stats.binom(size, rows[leaf] / tree.n_rows)
        x = np.arange(distribution.ppf(1e-12), distribution.ppf(1 - 1e-12) + 2)
        expected = distribution.pmf(x) * len(counts)
        common = expected >= 10
        seen = np.array([(counts[:, leaf] == v).sum() for v in x])
        rest = (len(counts) - seen[common].sum(), len(counts) - expected[common].sum())
        observed, wanted = np.append(seen[common], rest[0]), np.append(expected[common], rest[1])
        statistic = ((observed - wanted) ** 2 / np.maximum(wanted, 1.0)).sum()
        assert stats.chi2.sf(statistic, common.sum()) > FAILURE


def test_all_allocations_of_a_tiny_lake_have_their_probability():
    """Eight of ten rows: the allocation (a, b, c, d) has probability of a multivariate hypergeometric."""
    counts = SampleTree([3, 3, 3, 1]).window(0, 4).counts(KEY, 40_000, 8, compiled=True)
    distribution = stats.multivariate_hypergeom([3, 3, 3, 1], 8)
    seen, times = np.unique(counts, axis=0, return_counts=True)
    expected = distribution.pmf(seen) * len(counts)
    assert expected.sum() == pytest.approx(len(counts))  # every possible allocation was seen
    assert stats.chisquare(times, expected).pvalue > FAILURE


def test_a_window_is_small_when_pickled():
    tree = SampleTree(np.full(2**20, 131_072))
    window = tree.window(777_777, 777_780)
    assert len(pickle.dumps(window)) < 1_000
    assert window.n_rows == 2**37


def test_what_cannot_be_drawn_is_refused():
    tree = SampleTree([3, 3])
    with pytest.raises(ValueError, match=r"block_size must be in \[0, 6\], got 7"):
        tree.window(0, 1).counts(KEY, 2, 7)
    with pytest.raises(ValueError, match="block_size"):
        tree.window(0, 1).counts(KEY, 2, -1)
    for start, stop in ((0, 3), (-1, 1), (1, 1), (2, 2)):
        with pytest.raises(ValueError, match="not within the 2 leaves"):
            tree.window(start, stop)
    for rows in ([], [3, -1], [[1, 2]], [2**53, 1], [2**62, 2**62]):
        with pytest.raises(ValueError, match="leaf_rows"):
            SampleTree(rows)


FROZEN_COUNTS = [[0, 0, 32607, 1, 17391], [1, 0, 32779, 0, 17220], [1, 0, 32608, 1, 17389]]
