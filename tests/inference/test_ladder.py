"""Merging fine blocks: against plain loops, against the rows themselves, and with strange values."""

from __future__ import annotations

import numpy as np
import pytest
import rule_twin
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from distmom.inference.ladder import Merger, most_frequent, row_bound, scaled_mad
from distmom.numerics.blocks.moments import Moments
from distmom.numerics.median import median_or_nan

PROPERTY = settings(derandomize=True, deadline=None)

counts = st.lists(st.sampled_from([0, 0, 1, 2, 3, 20, 1000]), min_size=1, max_size=40)


def blocks_from(count, seed, outlying=()):
    g = np.random.default_rng(seed)
    count = np.asarray(count, np.int64)
    mean = np.where(count > 0, 100.0 + g.normal(size=count.shape), 0.0)
    for place, value in outlying:
        if count.reshape(-1)[place % count.size]:
            mean.reshape(-1)[place % count.size] = value
    m2 = np.where(np.isfinite(mean), g.exponential(size=count.shape) * count, np.nan)
    return Moments(count, mean, m2)


@PROPERTY
@given(
    counts,
    st.integers(0, 999),
    st.integers(1, 60),
    st.lists(st.tuples(st.integers(0, 50), st.sampled_from([np.inf, -np.inf, np.nan, 1e300])), max_size=3),
)
def test_merging_is_the_plain_loop(count, seed, k, outlying):
    blocks = blocks_from([count], seed, outlying)
    # means are summed about the lower median of the fine ones, and all others are nothing beside 1e300
    assume(2 * np.count_nonzero(blocks.mean == 1e300) < np.count_nonzero(blocks.count))
    merged = Merger(blocks).moments_at(k)
    plain = Merger(blocks).at(k)
    np.testing.assert_array_equal(merged.count, plain[0])
    np.testing.assert_array_equal(merged.mean, plain[1])
    want = rule_twin.merge(
        [(int(a), float(b), float(c)) for a, b, c in zip(*(x[0] for x in blocks), strict=True)], k
    )
    got = [(a, b, c) for a, b, c in zip(*(x[0] for x in merged), strict=True) if a]
    assert [g[0] for g in got] == [w[0] for w in want]
    np.testing.assert_allclose([g[1] for g in got], [w[1] for w in want], rtol=1e-13)
    finite = [i for i, w in enumerate(want) if np.isfinite(w[2]) and w[2] < 1e200 and abs(w[1]) < 1e150]
    np.testing.assert_allclose([got[i][2] for i in finite], [want[i][2] for i in finite], rtol=1e-9)
    assert all(np.isnan(g[2]) for g in got if not np.isfinite(g[1]))


@PROPERTY
@given(
    st.lists(counts, min_size=1, max_size=4),
    st.integers(0, 999),
    st.lists(st.integers(1, 30), min_size=4, max_size=4),
)
def test_levels_together_or_one_by_one_or_per_group(groups, seed, levels):
    width = max(map(len, groups))
    blocks = blocks_from([row + [0] * (width - len(row)) for row in groups], seed)
    merger = Merger(blocks)
    count, mean = merger.at_levels(np.array(levels))
    for column, k in enumerate(levels):
        one_count, one_mean = merger.at(k)
        np.testing.assert_array_equal(count[:, column, :k], one_count)
        np.testing.assert_array_equal(mean[:, column, :k], one_mean)
    own = np.array(levels[: len(groups)])
    each_count, each_mean = merger.at(own)
    for g, k in enumerate(own):
        np.testing.assert_array_equal(each_count[g, :k], merger.at(int(k))[0][g])
        np.testing.assert_array_equal(each_mean[g, :k], merger.at(int(k))[1][g])


@pytest.mark.parametrize("k", [5, 7, 9, 15, 21, 27, 35, 45, 63, 105, 135, 189, 315, 945])
def test_equal_blocks_nest_by_division(k):
    merger = Merger(Moments(np.full((1, 945), 7), np.zeros((1, 945)), np.zeros((1, 945))))
    np.testing.assert_array_equal(merger.index(k)[0], np.arange(945) // (945 // k))


def test_sizes_differ_by_one_fine_block():
    g = np.random.default_rng(3)
    count = g.integers(0, 4, (200, 105))
    for k in (5, 7, 15, 21):
        sizes, _ = Merger(Moments(count, np.zeros(count.shape), np.zeros(count.shape))).at(k)
        fair = count.sum(axis=1, keepdims=True) / k
        assert np.abs(sizes - fair).max() <= 3  # the largest fine block


def test_which_blocks_merge_does_not_depend_on_values():
    count = np.random.default_rng(4).integers(0, 9, (1, 105))
    quiet = Merger(Moments(count, np.zeros(count.shape), np.zeros(count.shape)))
    outlying = Merger(Moments(count, np.where(count % 2, np.inf, -1e300), np.zeros(count.shape)))
    np.testing.assert_array_equal(quiet.index(21), outlying.index(21))


def test_the_moments_are_those_of_the_rows():
    x = 1e9 + np.random.default_rng(5).normal(size=(105, 12))
    fine = Moments(np.full((1, 105), 12), x.mean(1)[None], ((x - x.mean(1)[:, None]) ** 2).sum(1)[None])
    merged = Merger(fine).moments_at(7)
    rows = x.reshape(7, -1)
    np.testing.assert_allclose(merged.mean[0], rows.mean(1), rtol=1e-15)
    np.testing.assert_allclose(merged.m2[0], ((rows - rows.mean(1)[:, None]) ** 2).sum(1), rtol=1e-5)


def test_constants_and_extremes_survive_merging():
    count = np.random.default_rng(6).integers(1, 50, (1, 105))
    for value in (0.1, -1.7e308, 5e-324 * 2**60):
        merged = Merger(Moments(count, np.full(count.shape, value), np.zeros(count.shape))).moments_at(7)
        assert (merged.mean == value).all() and (merged.m2 == 0.0).all()
    ends = np.where(np.arange(105) % 2, 1.7e308, -1.7e308)[None]
    means = Merger(Moments(np.full((1, 105), 10**12), ends, np.zeros((1, 105)))).at(7)[1]
    np.testing.assert_allclose(np.abs(means), 1.7e308 / 15)


def test_an_outlying_first_block_costs_no_digits():
    x = np.random.default_rng(7).normal(size=(1, 105))
    outlying = x.copy()
    outlying[0, 0] = 1e200
    count, zero = np.full((1, 105), 10), np.zeros((1, 105))
    np.testing.assert_allclose(
        Merger(Moments(count, outlying, zero)).at(7)[1][0, 1:],
        Merger(Moments(count, x, zero)).at(7)[1][0, 1:],
        atol=1e-15,
    )


@PROPERTY
@given(st.lists(st.sampled_from([0.0, -0.0, 1.0, 2.0, np.inf, -np.inf]), max_size=40), st.integers(0, 5))
def test_most_frequent_value(values, padding):
    sample = np.array([values + [np.nan] * padding]).reshape(1, -1)
    found = most_frequent(sample, np.array([len(values)]))[0]
    want = max((values.count(v) for v in values), default=0)
    if 8 * want > 3 * len(values):
        assert found == want
    else:
        assert found <= want


def test_frequent_values_are_found_in_any_order_and_next_to_rare_ones():
    g = np.random.default_rng(8)
    for size in (3, 16, 17, 64, 1024):
        for share in (0.3, 0.376, 0.4, 0.7, 1.0):
            c = int(np.ceil(share * size))
            sample = np.where(np.arange(size) < c, 7.0, g.normal(size=size))
            spaced = np.empty(size)  # as far apart as they can be
            order = np.argsort((np.arange(size) * c) % size, kind="stable")
            spaced[order] = sample
            for line in (sample, g.permutation(sample), spaced):
                found = most_frequent(np.append(line, [np.nan] * 5)[None], np.array([size]))[0]
                assert found == c if 8 * c > 3 * size else found <= c


def test_large_counts_merge_like_small_ones():
    """Quotients are taken in float64 while that is exact; the same division in integers must agree."""
    g = np.random.default_rng(9)
    count = g.integers(1, 30, (3, 105))
    small, large = (Merger(Moments(s * count, count * 1.0, count * 1.0)) for s in (1, 2**36))
    for k in (1, 2, 7, 10, 105):
        np.testing.assert_array_equal(small.index(k), large.index(k))
        exact = [[k * (2 * int(c.sum()) + int(own)) // (2 * int(row.sum())) for c, own in
                  ((row[:i], row[i]) for i in range(105))] for row in count]  # fmt: skip
        np.testing.assert_array_equal(small.index(k), exact)


def test_row_bound_in_integers():
    levels = np.array([5, 7, 9])
    none = np.zeros(1, np.int64)
    assert row_bound(levels, np.array([56]), none, none).tolist() == [[True, True, False]]
    assert row_bound(levels, np.array([55]), none, none).tolist() == [[True, False, False]]
    # 99 of 100 sampled rows alike: 500 rows a block
    few, most = np.array([100]), np.array([99])
    assert row_bound(levels, np.array([3500]), few, most).tolist() == [[True, True, False]]
    assert row_bound(levels, np.array([3499]), few, most).tolist() == [[True, False, False]]
    assert not row_bound(levels, np.array([10**12]), few, few).any()


@PROPERTY
@given(st.lists(st.floats(allow_nan=True, allow_infinity=True), max_size=12))
def test_ordinary_median_and_mad(values):
    got = median_or_nan(np.array([values]).reshape(1, -1))[0]
    want = rule_twin.middle(values)
    assert got == want or (np.isnan(got) and np.isnan(want))
    mad = scaled_mad(np.array([values]).reshape(1, -1))[0]
    assert mad == pytest.approx(rule_twin.mad(values))
