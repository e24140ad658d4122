"""Tuples for incomplete U-statistics: frozen, distinct, uniform over all tuples, for any number of rows."""

from collections import Counter
from itertools import combinations
from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from distmom.numerics.pairs import sample_pairs
from distmom.numerics.tuple_draws import sample_tuples

KEY = 0x0123456789ABCDEF
FAILURE = 1e-6  # chance that a correct sampler fails one test, had its seed been drawn anew


def sample_triples(key, block, n, size, **how):
    return sample_tuples(key, block, n, 3, size, **how)


def listed(triples):
    return list(zip(*(side.tolist() for side in triples), strict=True))


@given(
    st.one_of(st.integers(3, 20), st.integers(2**32 - 2, 2**32 + 2), st.integers(3, 2**63 - 1)),
    st.integers(0, 60),
    st.integers(0, 2**32 - 1),
    st.booleans(),
)
def test_triples_are_ordered_and_distinct(n, size, block, replace):
    size = size if replace else min(size, comb(n, 3))
    triples = listed(sample_triples(KEY, block, n, size, replace=replace))
    assert len(triples) == size and triples == sorted(triples)
    assert all(0 <= i < j < k < n for i, j, k in triples)
    assert replace or len(set(triples)) == size


@pytest.mark.parametrize("size", [1, 9])
@pytest.mark.parametrize("replace", [False, True])
def test_triples_are_uniform(size, replace):
    seen = Counter()
    for block in range(3000):
        seen.update(listed(sample_triples(KEY, block, 5, size, replace=replace)))
    counts = [seen[triple] for triple in combinations(range(5), 3)]
    # without replacement the counts are less variable than a multinomial: the test only gains
    assert stats.chisquare(counts).pvalue > FAILURE
    assert stats.chisquare([c * (1 + (i == 0)) for i, c in enumerate(counts)]).pvalue < FAILURE


def test_sets_of_two_triples_are_uniform():
    seen = Counter(tuple(listed(sample_triples(KEY, block, 4, 2))) for block in range(3000))
    sets = list(combinations(combinations(range(4), 3), 2))
    assert stats.chisquare([seen[pair] for pair in sets]).pvalue > FAILURE


def test_triples_are_frozen():
    assert listed(sample_triples(KEY, 0, 60_000, 3)) == FROZEN
    assert listed(sample_triples(KEY, 1, 6 * 10**9, 2)) == FROZEN_LARGE


def test_tuples_of_any_degree():
    pairs = sample_tuples(KEY, 3, 50, 2, 7)
    assert all(map(np.array_equal, pairs, sample_pairs(KEY, 3, 50, 7)))
    for degree in (4, 5, 8):
        tuples = listed(sample_tuples(KEY, 2, 9, degree, 7))
        assert len(set(tuples)) == 7 and tuples == sorted(tuples)
        assert all(len(set(rows)) == degree and list(rows) == sorted(rows) for rows in tuples)
    for wrong in ((2, 1), (5, 11)):
        with pytest.raises(ValueError, match="tuples"):
            sample_triples(KEY, 0, *wrong)


@pytest.mark.parametrize("size", [2, 12])
def test_tuples_of_four_are_uniform(size):
    seen = Counter()
    for block in range(2000):
        seen.update(listed(sample_tuples(KEY, block, 6, 4, size)))
    counts = [seen[rows] for rows in combinations(range(6), 4)]
    assert stats.chisquare(counts).pvalue > FAILURE
    assert stats.chisquare([c * (1 + (i == 0)) for i, c in enumerate(counts)]).pvalue < FAILURE


FROZEN = [(6225, 30523, 41859), (19274, 28715, 46300), (29940, 49241, 59549)]
FROZEN_LARGE = [(1443847870, 2172801434, 3899953448), (2106193331, 2183337397, 2247722910)]
