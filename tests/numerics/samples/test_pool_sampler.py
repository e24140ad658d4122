"""The large row sample: complete below a key, uniform, the same for any cutting of the work."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from distmom.numerics.blocks.leaf import LEAF_ROWS
from distmom.numerics.samples.pool import RowPool, all_in_order, merge_pools, sharing
from distmom.numerics.samples.pool_sampler import (
    HASHED,
    WHOLE,
    LastDraw,
    PoolSampler,
    hashed_keys,
    key_bound,
    leaf_quota,
    pool_key,
    pool_keys,
)

NOTHING = np.empty(0)
KEY = np.uint64(12345)


def sampled(x, leaves, size, quota, gone=None, weights=None, compiled=False, bound=1.0):
    """The sample of some of the leaves of a file of these rows."""
    sampler = PoolSampler(size, quota, compiled=compiled, bound=bound)
    for leaf in leaves:
        rows = slice(leaf * LEAF_ROWS, (leaf + 1) * LEAF_ROWS)
        part = x[rows]
        middle = part.size // 3
        columns = [(part[:middle], part[middle:])]
        if weights is not None:
            columns.append((weights[rows], NOTHING))
        mask = None if gone is None else gone[rows]
        sampler.offer(KEY, leaf, part.size, mask, *columns)
    return sampler.result()


def same(a: RowPool, b: RowPool) -> bool:
    a, b = a.in_order(), b.in_order()
    return bool(a.below == b.below and np.array_equal(a.keys, b.keys) and np.array_equal(a.values, b.values))


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize(("size", "quota"), [(5_000, 300), (60_000, 20_000), (1_000, 1_024), (10**6, 10**6)])
@pytest.mark.parametrize("gone_share", [0.0, 0.3, 0.9, 0.9995])
@pytest.mark.one_in(6)
def test_any_cutting_gives_the_same_sample(size, quota, gone_share, compiled):
    n = 3 * LEAF_ROWS + 5_000
    rng = np.random.default_rng(1)
    x = np.arange(float(n))
    gone = rng.random(n) < gone_share if gone_share else None
    whole = sampled(x, range(4), size, quota, gone)
    parts = [sampled(x, some, size, quota, gone, compiled=compiled) for some in ([0], [1, 2], [3])]
    first = parts[0].merge(parts[1], size).merge(parts[2], size)
    last = parts[0].merge(parts[2].merge(parts[1], size), size)
    assert same(whole, first)
    assert same(whole, last)
    assert whole.keys.size <= size
    assert np.unique(whole.values).size == whole.values.size
    assert (whole.keys <= whole.below).all()
    used = np.arange(n) if gone is None else np.flatnonzero(~gone)
    assert np.isin(whole.values, used).all()
    if np.isinf(whole.below):
        assert whole.values.size == used.size
    else:
        assert whole.values.size >= min(size, 3 * quota) // 2


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize(("size", "quota"), [(1_000, 400), (1_000, 1_000), (9_000, 3_500)])
@pytest.mark.parametrize("gone_share", [0.0, 0.6])
def test_rows_beyond_the_bound_are_none_of_the_sample(size, quota, gone_share, compiled):
    """Fewer rows are drawn, and the same stay: also where some do not count, if in all leaves alike."""
    n = 4 * LEAF_ROWS
    gone = np.random.default_rng(3).random(n) < gone_share if gone_share else None
    bound = key_bound(size, n)
    assert size / n < bound < 1.3 * size / n
    ask = np.arange(float(n)), range(4), size, quota, gone
    found, whole = sampled(*ask, bound=bound, compiled=compiled), sampled(*ask)
    assert same(found, whole)
    assert found.keys.size == size
    few = sampled(*ask, bound=bound / 4, compiled=compiled)  # fewer rows than there are: a smaller sample
    assert 0.2 * size < few.keys.size < 0.36 * size
    kept = found.in_order().values[: few.keys.size]
    assert np.array_equal(few.in_order().values, kept)


def test_it_is_complete_below_its_bound():
    """The obvious twin: every row has the key of its hash, and the smallest are taken."""
    x = np.random.default_rng(0).normal(size=LEAF_ROWS + 700)
    found = sampled(x, range(2), 3_000, 2_500).in_order()
    keys = np.concatenate(
        [hashed_keys(pool_key(KEY), leaf, np.arange(n)) for leaf, n in ((0, LEAF_ROWS), (1, 700))]
    )
    assert LEAF_ROWS <= HASHED * 2_500
    first = np.sort(keys[:LEAF_ROWS])[2_499]
    order = np.argsort(keys)
    order = order[keys[order] <= first][:3_000]
    assert np.array_equal(found.values, x[order])
    assert np.array_equal(found.keys, keys[order])


@pytest.mark.parametrize("quota", [256, 4_096])
def test_it_is_uniform(quota):
    """Places of sampled rows by a chi-squared test of 64 cells (fails by chance in one of 10,000 seeds)."""
    n = 8 * LEAF_ROWS
    found = sampled(np.arange(float(n)), range(8), 2_000, quota)
    counts = np.bincount((found.values * 64 // n).astype(int), minlength=64)
    assert stats.chisquare(counts).pvalue > 1e-4
    last = sampled(
        np.arange(8.0 * LEAF_ROWS), range(4, 8), 2_000, quota
    )  # negative control: half of the rows
    halves = np.bincount((last.values * 64 // n).astype(int), minlength=64)
    assert stats.chisquare(halves).pvalue < 1e-10


def test_keys_drawn_and_hashed_have_one_distribution():
    """Least keys of leaves that draw and of leaves that hash: the same uniform order statistics."""
    rng = np.random.default_rng(2)
    drawn, hashed = [], []
    for leaf in range(200):
        for quota, found in ((64, drawn), (4_096, hashed)):
            sampler = PoolSampler(10, quota)
            sampler.offer(
                np.uint64(rng.integers(1 << 60)), leaf, LEAF_ROWS, None, (np.zeros(LEAF_ROWS), NOTHING)
            )
            found.append(sampler.result().keys.max() * LEAF_ROWS)
    assert stats.ks_2samp(drawn, hashed).pvalue > 1e-4
    assert stats.kstest(drawn, stats.gamma(10).cdf).pvalue > 1e-4  # the tenth of many uniform keys


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("quota", [300, 20_000])
def test_weights_stay_with_their_rows(quota, compiled):
    n = 2 * LEAF_ROWS + 10
    x = np.random.default_rng(3).normal(size=n)
    found = sampled(x, range(3), 500, quota, weights=2.0 * x + 1.0, compiled=compiled)
    assert same(found, sampled(x, range(3), 500, quota))
    assert np.array_equal(found.weights, 2.0 * found.values + 1.0)
    assert found.sound(1, weighted=True)
    assert not found.sound(1, weighted=False)


@given(st.integers(1, 10**12), st.sampled_from([16_384, 65_536]))
def test_the_quota_is_enough_for_the_sample(n_rows, size):
    quota = leaf_quota(size, n_rows)
    n_leaves = max(1, n_rows // LEAF_ROWS)
    assert 256 <= quota <= size
    assert quota * n_leaves >= min(size, 1.5 * size - n_leaves)


def test_small_files_are_offered_whole():
    assert WHOLE >= 945  # files of up to so many rows are taken together
    x = np.random.default_rng(4).normal(size=900)
    one = PoolSampler(10_000, 256)
    one.offer(KEY, 0, 900, None, (x, NOTHING))
    many = PoolSampler(10_000, 256)
    many.add_files(np.full(900, KEY), np.arange(900), x, None)
    assert same(one.result(), many.result())


@given(st.integers(0, 2**64 - 1))
def test_the_key_of_one_file_is_that_of_many(key):
    assert pool_key(np.uint64(key)) == pool_keys(np.array([key], np.uint64))[0]


def test_columns_of_the_same_rows_share_their_order():
    """One sort for all of them, with the rows of each alone; other rows, or keys that tie, have their own."""
    g = np.random.default_rng(3)
    x = g.normal(size=(3, LEAF_ROWS))
    one, two = (sampled(values, range(1), 3_000, 2_500) for values in x[:2])
    other = sampled(x[2], range(1), 3_000, 2_500, g.random(LEAF_ROWS) < 0.5)
    tied = replace(one, keys=np.repeat(one.keys[::2], 2)[: one.keys.size])
    found = all_in_order([one, two, other, tied, tied])
    for pool, ordered in zip((one, two, other, tied, tied), found, strict=True):
        order = np.lexsort((pool.values, pool.keys))
        for name in ("keys", "values", "files", "rows"):
            assert np.array_equal(getattr(ordered, name), getattr(pool, name)[order])
    assert found[0].keys is found[1].keys
    assert found[2].keys is not found[1].keys


@pytest.mark.parametrize("compiled", [False, True])
def test_columns_of_the_same_rows_are_merged_together(compiled: bool) -> None:
    """As each column is alone; the rows of neighbours are kept once, but not those of a column with gaps."""
    rng = np.random.default_rng(4)
    gone = rng.random(3 * LEAF_ROWS) < 0.3
    masks = [None, None, gone, gone, None]
    columns = rng.normal(size=(len(masks), gone.size))
    parts = [
        [sampled(x, [leaf], 3_000, 2_500, mask) for x, mask in zip(columns, masks, strict=True)]
        for leaf in range(3)
    ]
    found = sharing(parts[0])
    for part in parts[1:]:
        found = merge_pools(found, sharing(part), 3_000, compiled=compiled)
    for c, pool in enumerate(found):
        alone = parts[0][c].merge(parts[1][c], 3_000).merge(parts[2][c], 3_000)
        assert pool.keys.size == 3_000 and pool.below == alone.below
        assert all(
            np.array_equal(a, b) for a, b in zip(pool.parts, alone.parts, strict=True) if a is not None
        )
    assert found[0].shares(found[1]) and found[2].shares(found[3])
    assert not found[1].shares(found[2]) and not found[3].shares(found[4])
    assert found[0].values is not found[1].values


@pytest.mark.parametrize("compiled", [False, True])
def test_columns_of_the_same_rows_share_what_is_drawn_of_a_leaf(compiled: bool) -> None:
    """Three columns, of which the second has rows that do not count in one leaf: as each has them alone."""
    rng = np.random.default_rng(5)
    columns, leaf_rows = rng.normal(size=(3, 5, 2_000)), 2_000
    gone = rng.random(leaf_rows) < 0.3
    last = LastDraw()
    together = [PoolSampler(600, 150, compiled=compiled, last=last) for _ in columns]
    alone = [PoolSampler(600, 150, compiled=compiled) for _ in columns]
    for number in range(5):
        key, leaf = np.uint64(7 + number // 3), number % 3
        for samplers in (together, alone):
            for c, sampler in enumerate(samplers):
                mask = gone if (c, number) == (1, 2) else None
                sampler.offer(key, leaf, leaf_rows, mask, (columns[c, number], NOTHING))
    for mine, other in zip(together, alone, strict=True):
        a, b = mine.result(), other.result()
        assert a.below == b.below
        assert all(np.array_equal(x, y) for x, y in zip(a.parts, b.parts, strict=True) if x is not None)
    assert together[0].result().same_rows(together[2].result())
    assert not together[0].result().same_rows(together[1].result())
