"""Many small files at once against one file at a time, and sparse merging against the dense tree."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from distmom.numerics.blocks.labels import file_key, label_table, labels
from distmom.numerics.blocks.moments import Moments
from distmom.numerics.blocks.small_files import file_moments, first_labels, merge_over_files
from distmom.numerics.samples.sample import LeafSampler, row_keys
from distmom.numerics.tree import DyadicTree

KEYS = np.array([file_key(3, f"{number}.parquet") for number in range(7)])


def same_bits(a: Moments, b: Moments) -> bool:
    return all(u.dtype == v.dtype and np.array_equal(u, v, equal_nan=True) for u, v in zip(a, b, strict=True))


@given(st.integers(1, 40), st.integers(1, 6), st.integers(0, 60), st.integers(0, 2**32), st.booleans())
def test_merging_filled_cells_gives_the_bits_of_the_dense_tree(n_files, n_cells, n, seed, compiled):
    rng = np.random.default_rng(seed)
    pairs = np.unique(rng.integers(0, n_cells * n_files, n))
    cells, files = pairs // n_files, pairs % n_files
    entries = Moments(
        rng.integers(1, 5, pairs.size), rng.normal(size=pairs.size) * 1e3, rng.random(pairs.size)
    )
    tree: DyadicTree[Moments] = DyadicTree(n_files, Moments.merge)
    for number in range(n_files):
        dense = Moments.empty(n_cells)
        for target, source in zip(dense, entries, strict=True):
            target[cells[files == number]] = source[files == number]
        tree.push(0, number, dense)
    levels = (n_files - 1).bit_length()
    start = 8 << levels  # a node anywhere in a larger tree
    found_cells, found = merge_over_files(
        cells, files + start, entries.each(np.copy), levels, compiled=compiled
    )
    assert np.array_equal(found_cells, np.unique(cells))
    want = tree.root
    assert want is not None and same_bits(found, want.at(found_cells))
    assert not np.delete(want.count, found_cells).any()


def test_labels_are_those_of_one_file_at_a_time():
    table = label_table(3, 45)
    sizes = np.array([45, 0, 1, 2, 7, 44, 3])
    files, rows = np.repeat(np.arange(7), sizes), np.concatenate([np.arange(n) for n in sizes])
    want = np.concatenate([labels(0, n, key, table) for n, key in zip(sizes, KEYS, strict=True)])
    assert np.array_equal(first_labels(rows, files, KEYS, table), want)


@pytest.mark.parametrize("compiled", [False, True])
def test_keys_are_those_that_each_file_would_draw(compiled):
    files, rows = np.repeat(np.arange(7), 5), np.tile(np.arange(5), 7)
    x = np.arange(35.0)
    one_by_one, together = (LeafSampler(20, compiled=compiled) for _ in range(2))
    for number, key in enumerate(KEYS):
        one_by_one.offer(key, 0, x[files == number], None)
    together.add(row_keys(KEYS[files], 0, rows), x)
    for want, found in zip(one_by_one.result(), together.result(), strict=True):
        assert np.array_equal(found, want)


def test_weighted_moments_of_files():
    rng = np.random.default_rng(1)
    files = np.repeat(np.arange(4), [3, 0, 1, 30])
    x, w = rng.normal(size=34) + 1e6, rng.lognormal(size=34)
    found = file_moments(x, files, 4, w)
    for number in range(4):
        mine = files == number
        if not mine.any():
            assert all(array[number] == 0 for array in found)
            continue
        a, b = x[mine].astype(np.longdouble), w[mine].astype(np.longdouble)
        mean, mean2 = (b * a).sum() / b.sum(), (b * b * a).sum() / (b * b).sum()
        right = mine.sum(), b.sum(), mean, (b * b).sum(), mean2, (b * b * (a - mean2) ** 2).sum()
        for got, want in zip(found, right, strict=True):
            assert got[number] == pytest.approx(float(want), rel=1e-12)
    bare, equal = file_moments(x, files, 4), file_moments(x, files, 4, np.full(34, 0.25))
    assert np.array_equal(equal.count, bare.count)
    assert np.array_equal(equal.mean, bare.mean) and np.array_equal(equal.mean2, bare.mean)
    assert np.array_equal(equal.m2, bare.m2 / 16)


def test_moments_of_files():
    x = np.array([0.1, 0.1, 0.1, 5.0, 1.0, 2.0, 6.0, 1.7e308, -1.7e308, np.nan, 1.0])
    files = np.array([0, 0, 0, 2, 3, 3, 3, 4, 4, 5, 5])
    count, mean, m2 = file_moments(x, files, 7)
    assert count.tolist() == [3, 0, 1, 3, 2, 2, 0]
    assert mean[:4].tolist() == [0.1, 0.0, 5.0, 3.0] and m2[:4].tolist() == [0.0, 0.0, 0.0, 14.0]
    assert not np.isfinite(m2[4]) and np.isnan(mean[5])  # differences overflow; not a number
    assert (mean[6], m2[6]) == (0.0, 0.0)
