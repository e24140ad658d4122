"""Row samples: uniform, exactly mergeable, the same for any cutting of the work."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from distmom.numerics.blocks.labels import file_key
from distmom.numerics.samples.group_sample import GroupSampler
from distmom.numerics.samples.sample import LeafSampler, RowSample, leaf_sample


def take(key, n, size, gone=None, below=np.inf, leaf=0):
    return leaf_sample(key, leaf, n, gone, size, below)


@given(
    st.integers(0, 600),
    st.sampled_from([1, 8, 64]),
    st.integers(0, 2**31),
    st.sampled_from([0, 0.3, 0.95, 1]),
)
def test_samples_are_distinct_used_rows_with_ascending_keys(n, size, seed, share):
    gone = np.random.default_rng(seed).random(n) < share
    keys, rows = take(file_key(seed, "a"), n, size, gone)
    assert rows.size == min(size, n - int(gone.sum())) == keys.size
    assert np.unique(rows).size == rows.size and not gone[rows].any()
    assert (np.diff(keys) >= 0).all()


@given(st.integers(1, 3000), st.integers(0, 2**31), st.floats(0, 2))
def test_a_bound_only_cuts_the_same_sample_short(n, seed, below):
    key = file_key(seed, "a")
    keys, rows = take(key, n, 64)
    few_keys, few_rows = take(key, n, 64, below=below)
    assert np.array_equal(few_keys, keys[keys <= below]) and np.array_equal(few_rows, rows[keys <= below])


@given(
    st.lists(st.integers(0, 5000), min_size=1, max_size=4),
    st.sampled_from([1, 64, 1024]),
    st.integers(0, 2**31),
    st.sampled_from([None, 0.0, 0.3, 0.95]),
)
def test_the_compiled_sampler_takes_the_same_sample(sizes, size, seed, share):
    rng = np.random.default_rng(seed)
    samplers = [LeafSampler(size, compiled=compiled) for compiled in (False, True)]
    halves = LeafSampler(size, compiled=True)
    key = file_key(seed, "a")
    for leaf, n in enumerate(sizes):
        x = rng.normal(size=n)
        gone = None if share is None else rng.random(n) < share
        for sampler in samplers:
            sampler.offer(key, leaf, x, gone)
        cut = seed % (n + 1)
        halves.offer(key, leaf, x[:cut], gone, x[cut:])
    assert same(halves.result(), samplers[0].result())
    assert same(*(sampler.result() for sampler in samplers))


def same(a, b):
    return np.array_equal(a.keys, b.keys) and np.array_equal(a.values, b.values, equal_nan=True)


@given(st.integers(1, 3), st.integers(0, 12), st.integers(0, 12), st.integers(0, 2**31))
def test_the_compiled_merge_is_the_same(groups, left, right, seed):
    """Also with equal keys, of which the left sample's come first."""
    rng = np.random.default_rng(seed)
    parts = []
    for n in (left, right):
        part = RowSample.empty(groups, 12)
        part.keys[:, :n] = np.sort(rng.integers(0, 9, (groups, n)), axis=1)
        part.values[:, :n] = rng.normal(size=(groups, n))
        parts.append(part)
    assert same(parts[0].merge(parts[1]), parts[0].merge(parts[1], compiled=True))


def test_merging_is_exact_in_any_order():
    parts = []
    for leaf, n in enumerate((100, 3, 0, 500, 65)):
        keys, rows = take(file_key(5, "a"), n, 64, leaf=leaf)
        pad = RowSample.empty(1, 64)
        pad.keys[0, : keys.size], pad.values[0, : keys.size] = keys, rows + 1000.0 * leaf
        parts.append(pad)
    forward, backward = parts[0], parts[-1]
    for a, b in zip(parts[1:], parts[-2::-1], strict=True):
        forward, backward = forward.merge(a), b.merge(backward)
    assert np.array_equal(forward.values, backward.values)
    assert np.isfinite(forward.values).all()


@pytest.mark.slow
def test_every_row_is_as_likely_as_any_other():
    """Three leaves of 30, 5 and 65 rows, samples of 10 of 100: chi-square, failure probability 1e-6."""
    counts, first_only = np.zeros(100), np.zeros(100)
    for seed in range(3000):
        key, samples, start = file_key(seed, "a"), RowSample.empty(1, 10), 0
        for leaf, n in enumerate((30, 5, 65)):
            keys, rows = take(key, n, 10, leaf=leaf)
            if leaf == 0:
                first_only[rows] += 1
            samples = samples.merge(RowSample(keys[None], (rows + start)[None].astype(float)))
            start += n
        counts[samples.values[0].astype(int)] += 1
    # counts of a sample without replacement vary a little less than multinomial ones: the test is safe
    assert stats.chisquare(counts).pvalue > 1e-6
    assert stats.chisquare(first_only + 1e-9, np.full(100, first_only.mean() + 1e-9)).pvalue < 1e-6


@given(st.integers(1, 900), st.integers(1, 6), st.integers(0, 2**31), st.integers(0, 900), st.booleans())
def test_group_samples_do_not_depend_on_batches_or_engine(n, groups, seed, cut, holes):
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, groups, n)
    x = rng.normal(size=n)
    gone = rng.random(n) < 0.3 if holes else np.zeros(n, bool)
    key = file_key(seed, "a")
    results = []
    for compiled in (False, True):
        for parts in ([slice(0, n)], [slice(0, cut), slice(cut, n)]):
            sampler = GroupSampler(16, compiled=compiled)
            for p in parts:
                sampler.offer(key, p.start, codes[p], x[p], gone[p] if holes else None, groups)
            results.append(sampler.result(groups))
    for other in results[1:]:
        assert np.array_equal(results[0].keys, other.keys)
        assert np.array_equal(results[0].values, other.values, equal_nan=True)
    for g in range(groups):
        used = x[(codes == g) & ~gone]
        got = results[0].values[g]
        got = got[~np.isnan(got)]
        assert got.size == min(16, used.size) and np.isin(got, used).all()


def test_group_samples_are_uniform():
    """Chi-square over 2,000 files of 200 rows, failure probability 1e-6; keys alike in all files fail it."""
    counts, alike = np.zeros(200), np.zeros(200)
    for seed in range(2000):
        for key, target in ((file_key(seed, "a"), counts), (file_key(5, "a"), alike)):
            sampler = GroupSampler(8, compiled=True)
            sampler.offer(key, 0, np.zeros(200, np.int64), np.arange(200.0), None, 1)
            target[sampler.result(1).values[0].astype(int)] += 1
    assert stats.chisquare(counts).pvalue > 1e-6
    assert stats.chisquare(alike).pvalue < 1e-6
