"""Numbers of sampled rows: the draws of sampled means, in any range of blocks."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from distmom.numerics.random.philox import stream_key
from distmom.numerics.samples import row_samples
from distmom.numerics.samples.row_samples import RowSamples, leaf_sizes
from distmom.numerics.samples.sample_tree import SampleTree
from distmom.numerics.samples.sampled_leaf import leaf_sample

SEED = 0x0123456789ABCDEF0123456789ABCDEF


@pytest.fixture(autouse=True)
def small_leaves(monkeypatch):
    monkeypatch.setattr(row_samples, "LEAF_ROWS", 8)


def slow_numbers(files, block, size, replace):
    """The definition: shares of the leaves, then the rows of each."""
    key = stream_key(SEED, "monte_carlo" if replace else "swor")
    leaves = [min(8, n - start) for n in files for start in range(0, n, 8)]
    counts = SampleTree(leaves).window(0, len(leaves)).counts(key, block + 1, size, replace=replace)[block]
    first, found = 0, []
    for leaf, (n, b) in enumerate(zip(leaves, counts, strict=True)):
        found += [first + r for r in leaf_sample(key, block, leaf, n, b, replace=replace).tolist()]
        first += n
    return sorted(found)


@given(
    st.lists(st.integers(0, 20), min_size=1, max_size=6).filter(any),
    st.integers(1, 30),
    st.integers(0, 3),
    st.integers(1, 3),
    st.booleans(),
)
def test_numbers_follow_their_definition(files, size, first, n_blocks, replace):
    size = size if replace else min(size, sum(files))
    rows = np.array(files)
    found = RowSamples(SEED, rows, size, replace).numbers(first, n_blocks)
    compiled = RowSamples(SEED, rows, size, replace, compiled=True).numbers(first, n_blocks)
    assert np.array_equal(found, compiled) and found.shape == (n_blocks, size)
    for k in range(n_blocks):
        assert found[k].tolist() == slow_numbers(files, first + k, size, replace)


def test_leaves_of_files():
    assert leaf_sizes(np.array([0, 3, 8, 17, 0])).tolist() == [3, 8, 8, 8, 1]


def test_more_rows_than_there_are():
    with pytest.raises(ValueError, match="block_size"):
        RowSamples(SEED, np.array([3, 4]), 8).numbers(0, 1)
