"""Pairs for incomplete U-statistics: frozen, distinct, uniform over all pairs, for any number of rows."""

import math
import tracemalloc
from collections import Counter
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from distmom.numerics.random.philox import bounded_in_order, stream_key
from distmom.numerics.random.tuple_draws import sample_tuples

KEY = 0x0123456789ABCDEF
FAILURE = 1e-6  # chance that a correct sampler fails one test, had its seed been drawn anew


def sample_pairs(key, block, n, size, **how):
    return sample_tuples(key, block, (n,), (2,), size, **how)


def sample_cross(key, block, sizes, size, **how):
    return sample_tuples(key, block, sizes, (1, 1), size, **how)


def integer(key, block, node, bound, place):
    """The number at a place of those below one bound."""
    return int(bounded_in_order(key, block, node, np.full(place + 1, bound, np.uint64))[-1])


def slow_pairs(key, block, n, size):
    """The definition with single draws: two bounded numbers for each pair, repeats left out, node by node."""
    found, node = set(), 0
    while len(found) < size:
        missing = size - len(found)
        # bounds differ from draw to draw: take each from a stream long enough to be cut
        first = [integer(key, block, node, n, 2 * k) for k in range(missing)]
        second = [integer(key, block, node, n - 1, 2 * k + 1) for k in range(missing)]
        found |= {(min(i, j + (j >= i)), max(i, j + (j >= i))) for i, j in zip(first, second, strict=True)}
        node += 1
    return sorted(found)


def listed(pairs):
    return list(zip(*(side.tolist() for side in pairs), strict=True))


def test_pairs_are_frozen():
    assert listed(sample_pairs(KEY, 0, 60_000, 5)) == FROZEN_PAIRS
    assert listed(sample_pairs(KEY, 1, 6 * 10**9, 4)) == FROZEN_LARGE
    assert listed(sample_pairs(KEY, 2, 5, 7, replace=True)) == FROZEN_REPEATED
    assert listed(sample_pairs(KEY, 3, 5, 7)) == FROZEN_MOST
    assert listed(sample_cross(KEY, 4, (3, 10**10), 4)) == FROZEN_CROSS


@given(st.integers(4, 40), st.integers(0, 20), st.integers(0, 2**64 - 1))
def test_pairs_follow_their_definition(n, size, key):
    size = min(size, n * (n - 1) // 4)
    assert listed(sample_pairs(key, 7, n, size)) == slow_pairs(key, 7, n, size)


@given(
    st.one_of(st.integers(2, 30), st.integers(2**32 - 2, 2**32 + 2), st.integers(2, 2**63 - 1)),
    st.integers(0, 60),
    st.integers(0, 2**32 - 1),
    st.booleans(),
)
def test_pairs_are_distinct_and_ordered(n, size, block, replace):
    size = size if replace else min(size, n * (n - 1) // 2)
    first, second = sample_pairs(KEY, block, n, size, replace=replace)
    pairs = listed((first, second))
    assert len(pairs) == size and pairs == sorted(pairs)
    assert all(0 <= i < j < n for i, j in pairs)
    assert replace or len(set(pairs)) == size


@given(st.integers(1, 9), st.integers(1, 9), st.integers(0, 90), st.booleans())
def test_pairs_of_two_samples(m, n, size, replace):
    size = size if replace else min(size, m * n)
    pairs = listed(sample_cross(KEY, 0, (m, n), size, replace=replace))
    assert len(pairs) == size and pairs == sorted(pairs)
    assert all(0 <= i < m and 0 <= j < n for i, j in pairs)
    assert replace or len(set(pairs)) == size


def chi2_pvalue(counts, support):
    return stats.chisquare([counts[pair] for pair in support]).pvalue


@pytest.mark.parametrize("size", [1, 4, 11])
@pytest.mark.one_in(3)
def test_every_pair_is_as_likely_as_any_other(size):
    """Rows 0-2 and 3-5 might be two files. 11 of the 15 pairs are drawn as 4 left out."""
    drawn = Counter(pair for block in range(6000) for pair in listed(sample_pairs(KEY, block, 6, size)))
    # without replacement counts vary less than multinomial ones, by (15 - size) / 14: scale the statistic up
    counts = np.array([drawn[pair] for pair in combinations(range(6), 2)])
    assert counts.sum() == 6000 * size
    statistic = ((counts - counts.mean()) ** 2 / counts.mean()).sum() * 14 / (15 - size)
    assert stats.chi2.sf(statistic, 14) > FAILURE


@pytest.mark.slow
def test_every_set_of_pairs_is_as_likely_as_any_other():
    """15 sets of two of the six pairs of four rows; drawing without the rejection of repeats fails it."""
    support = list(combinations(combinations(range(4), 2), 2))
    drawn = Counter(tuple(listed(sample_pairs(KEY, block, 4, 2))) for block in range(9000))
    assert chi2_pvalue(drawn, support) > FAILURE
    repeated = Counter(tuple(listed(sample_pairs(KEY, block, 4, 2, replace=True))) for block in range(9000))
    assert sum(repeated[pair, pair] for pair in combinations(range(4), 2)) > 9000 / 6 - 5 * math.sqrt(1250)


def test_with_replacement_every_pair_is_drawn_anew():
    drawn = Counter(listed(sample_pairs(KEY, 5, 6, 60_000, replace=True)))
    assert chi2_pvalue(drawn, list(combinations(range(6), 2))) > FAILURE
    crossed = Counter(listed(sample_cross(KEY, 5, (3, 4), 60_000, replace=True)))
    assert chi2_pvalue(crossed, list(product(range(3), range(4)))) > FAILURE
    biased = Counter(
        (min(i, j), max(i, j)) for i, j in np.random.default_rng(1).integers(0, 6, (60_000, 2)).tolist()
    )
    with_self = Counter({(i, j + (i == j)): count for (i, j), count in biased.items()})
    assert chi2_pvalue(with_self, list(combinations(range(6), 2))) < FAILURE  # negative control


def test_rows_of_more_than_five_billion_are_reached_evenly():
    """The rows of 20,000 pairs are the lesser and the greater one of two uniform numbers."""
    n = 7 * 10**9  # n (n - 1) / 2 exceeds 2**63
    first, second = sample_pairs(KEY, 6, n, 20_000)
    assert stats.kstest(second / n, stats.beta(2, 1).cdf).pvalue > FAILURE
    assert stats.kstest(first / n, stats.beta(1, 2).cdf).pvalue > FAILURE
    assert stats.kstest(first / n, stats.beta(2, 1).cdf).pvalue < FAILURE  # negative control


def test_blocks_and_seeds_do_not_share_pairs():
    seen = [
        set(listed(sample_pairs(stream_key(seed, "pairs"), block, 10**6, 50)))
        for seed in (0, 1)
        for block in (0, 1)
    ]
    assert len(set().union(*seen)) == 200


@pytest.mark.parametrize("n", [10**5, 10**10])
def test_memory_is_proportional_to_the_pairs(n):
    tracemalloc.start()
    sample_pairs(KEY, 0, n, 20_000)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 200 * 20_000


def test_all_pairs_and_none():
    assert listed(sample_pairs(KEY, 0, 5, 10)) == list(combinations(range(5), 2))
    assert listed(sample_cross(KEY, 0, (2, 3), 6)) == list(product(range(2), range(3)))
    assert listed(sample_pairs(KEY, 0, 2, 0)) == []


@pytest.mark.parametrize(("n", "size"), [(1, 0), (0, 0), (5, 11), (5, -1)])
def test_more_pairs_than_there_are_are_refused(n, size):
    with pytest.raises(ValueError, match="tuples"):
        sample_pairs(KEY, 0, n, size)


@pytest.mark.parametrize(("sizes", "size"), [((0, 3), 0), ((2, 3), 7), ((2, 3), -1)])
def test_the_same_for_two_samples(sizes, size):
    with pytest.raises(ValueError, match="tuples"):
        sample_cross(KEY, 0, sizes, size)


FROZEN_PAIRS = [(6225, 30524), (19275, 41859), (28715, 46300), (29940, 59549), (40557, 49242)]
FROZEN_LARGE = [
    (1443847870, 3899953448),
    (2106193331, 2183337397),
    (2172801433, 2247722909),
    (2393446665, 3293985825),
]
FROZEN_REPEATED = [(0, 2), (0, 2), (0, 4), (2, 3), (2, 3), (2, 4), (3, 4)]
FROZEN_MOST = [(0, 3), (0, 4), (1, 2), (1, 4), (2, 3), (2, 4), (3, 4)]
FROZEN_CROSS = [(0, 4964743468), (0, 5994065648), (0, 8124134119), (0, 9626662536)]
