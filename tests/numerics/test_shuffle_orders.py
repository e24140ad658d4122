"""Buckets and orders: every permutation of few rows alike, the same for any cut and either twin."""

from collections import Counter
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from distmom.numerics.random import shuffle
from distmom.numerics.random.shuffle import bucket_bits, bucket_order, row_buckets

FAILURE = 1e-6  # chance that a correct implementation fails one test, had its seeds been drawn anew


def whole_order(seed, files, bits):
    """Rows of small files, numbered through, in the order of a shuffle."""
    buckets = np.concatenate([row_buckets(seed, i, 0, n, bits) for i, n in enumerate(files)])
    rows = np.arange(buckets.size)
    found = []
    for bucket in range(1 << bits):
        mine = rows[buckets == bucket]
        found += mine[bucket_order(seed, bucket, mine.size)].tolist()
    return tuple(found)


@pytest.mark.parametrize("bits", [0, 3])
def test_all_orders_of_four_rows_are_equally_likely(bits):
    seen = Counter(whole_order(seed, [2, 0, 1, 1], bits) for seed in range(4800))
    counts = [seen[order] for order in permutations(range(4))]
    assert sum(counts) == 4800
    assert stats.chisquare(counts).pvalue > FAILURE


def test_buckets_alone_are_no_uniform_order():
    """The negative control: without an order inside the buckets the test notices."""
    seen = Counter()
    for seed in range(4800):
        buckets = row_buckets(seed, 0, 0, 4, 1)
        seen[tuple(np.argsort(buckets, kind="stable").tolist())] += 1
    assert stats.chisquare([seen[order] for order in permutations(range(4))]).pvalue < FAILURE


@given(
    st.integers(0, 2**128 - 1), st.integers(0, 2**32 - 1), st.integers(0, 300), st.integers(0, 12), st.data()
)
def test_buckets_do_not_depend_on_the_cut(seed, file, n, bits, data):
    cut = data.draw(st.integers(0, n))
    whole = row_buckets(seed, file, 7, n, bits)
    parts = [row_buckets(seed, file, 7, cut, bits), row_buckets(seed, file, 7 + cut, n - cut, bits)]
    assert np.array_equal(whole, np.concatenate(parts)) and (whole < (1 << bits)).all()
    assert np.array_equal(whole, row_buckets(seed, file, 7, n, bits, compiled=True))


def test_buckets_across_the_stretches_of_a_file(monkeypatch):
    monkeypatch.setattr(shuffle, "STRETCH", 64)
    whole = row_buckets(5, 1, 0, 1000, 8)
    assert np.array_equal(whole[50:333], row_buckets(5, 1, 50, 283, 8, compiled=True))
    assert len({tuple(whole[i : i + 64]) for i in range(0, 960, 64)}) == 15  # no stretch like another


def test_buckets_are_uniform_and_frozen():
    found = row_buckets(1, 3, 0, 64_000, 6)
    assert stats.chisquare(np.bincount(found, minlength=64)).pvalue > FAILURE
    assert found[:8].tolist() == FROZEN
    assert bucket_order(1, 2, 6).tolist() == FROZEN_ORDER
    with pytest.raises(ValueError, match="bits"):
        row_buckets(1, 3, 0, 10, 13)


def test_number_of_buckets():
    assert [bucket_bits(n, 10) for n in (0, 10, 11, 20, 21, 1e30)] == [0, 0, 1, 1, 2, 12]


FROZEN = [52, 60, 37, 0, 13, 15, 13, 15]
FROZEN_ORDER = [0, 5, 3, 2, 4, 1]
