"""Tuples for incomplete U-statistics: frozen, distinct, uniform over all tuples, for any number of rows."""

from collections import Counter
from itertools import combinations, product
from math import comb, prod

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from distmom.numerics.random.tuple_draws import sample_tuples

KEY = 0x0123456789ABCDEF
FAILURE = 1e-6  # chance that a correct sampler fails one test, had its seed been drawn anew


def sample_triples(key, block, n, size, **how):
    return sample_tuples(key, block, (n,), (3,), size, **how)


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
@pytest.mark.one_in(6)
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
    for degree in (4, 5, 8):
        tuples = listed(sample_tuples(KEY, 2, (9,), (degree,), 7))
        assert len(set(tuples)) == 7 and tuples == sorted(tuples)
        assert all(len(set(rows)) == degree and list(rows) == sorted(rows) for rows in tuples)
    for wrong in ((2, 1), (5, 11)):
        with pytest.raises(ValueError, match="tuples"):
            sample_triples(KEY, 0, *wrong)


@pytest.mark.parametrize("size", [2, 12])
@pytest.mark.one_in(2)
def test_tuples_of_four_are_uniform(size):
    seen = Counter()
    for block in range(2000):
        seen.update(listed(sample_tuples(KEY, block, (6,), (4,), size)))
    counts = [seen[rows] for rows in combinations(range(6), 4)]
    assert stats.chisquare(counts).pvalue > FAILURE
    assert stats.chisquare([c * (1 + (i == 0)) for i, c in enumerate(counts)]).pvalue < FAILURE


DEGREES = st.lists(st.integers(1, 3), min_size=2, max_size=3).map(tuple)


@given(DEGREES, st.data(), st.integers(0, 40), st.integers(0, 2**32 - 1), st.booleans())
def test_tuples_of_several_samples_are_ordered_and_distinct(degrees, data, size, block, replace):
    rows = tuple(data.draw(st.one_of(st.integers(d, 6), st.integers(d, 2**63 - 1))) for d in degrees)
    size = size if replace else min(size, prod(map(comb, rows, degrees)))
    tuples = listed(sample_tuples(KEY, block, rows, degrees, size, replace=replace))
    assert len(tuples) == size and tuples == sorted(tuples)
    assert replace or len(set(tuples)) == size
    for chosen in tuples:
        for n, d in zip(rows, degrees, strict=True):
            mine, chosen = chosen[:d], chosen[d:]
            assert list(mine) == sorted(set(mine)) and mine[0] >= 0 and mine[-1] < n


@pytest.mark.parametrize(
    ("rows", "degrees", "size"), [((4, 3), (2, 1), 3), ((4, 3), (2, 1), 12), ((3, 3), (2, 2), 2)]
)
@pytest.mark.parametrize("replace", [False, True])
@pytest.mark.one_in(5)
def test_tuples_of_several_samples_are_uniform(rows, degrees, size, replace):
    seen = Counter()
    for block in range(2000):
        seen.update(listed(sample_tuples(KEY, block, rows, degrees, size, replace=replace)))
    choices = product(*(combinations(range(n), d) for n, d in zip(rows, degrees, strict=True)))
    counts = [seen[sum(chosen, ())] for chosen in choices]
    assert sum(counts) == 2000 * size
    assert stats.chisquare(counts).pvalue > FAILURE
    assert stats.chisquare([c * (1 + (i == 0)) for i, c in enumerate(counts)]).pvalue < FAILURE


def test_tuples_of_several_samples_are_frozen():
    assert listed(sample_tuples(KEY, 0, (60_000, 6 * 10**9), (2, 1), 2)) == FROZEN_SEVERAL
    assert listed(sample_tuples(KEY, 0, (2, 3), (2, 2), 3)) == [(0, 1, 0, 1), (0, 1, 0, 2), (0, 1, 1, 2)]
    for rows, degrees, size in (((2, 1), (2, 2), 1), ((3, 3), (2, 2), 10), ((3, 3), (0, 2), 1)):
        with pytest.raises(ValueError, match="tuples"):
            sample_tuples(KEY, 0, rows, degrees, size)


FROZEN_SEVERAL = [(28715, 46300, 1927556105), (30523, 41859, 622549550)]
FROZEN = [(6225, 30523, 41859), (19274, 28715, 46300), (29940, 49241, 59549)]
FROZEN_LARGE = [(1443847870, 2172801434, 3899953448), (2106193331, 2183337397, 2247722910)]
