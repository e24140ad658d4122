"""Labels: one row a block in every run, keyed by path and row alone, spread evenly, aligned with nothing."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from distmom.numerics.blocks.labels import (
    file_cell,
    file_key,
    label_table,
    labels,
    stored_edges,
    stored_labels,
)

SEED = 2**77 + 5


def test_every_whole_run_gives_each_block_one_row():
    for k in (1, 5, 101, 945):
        got = labels(0, 7 * k, file_key(SEED, "a"), label_table(SEED, k)).reshape(7, k)
        assert (np.sort(got, axis=1) == np.arange(k)).all()


@given(st.integers(0, 5000), st.integers(0, 3000), st.sampled_from([3, 45, 105, 945]))
def test_any_range_is_a_slice_of_the_file(first, n, k):
    key, table = file_key(SEED, "x/y.parquet"), label_table(SEED, k)
    whole = labels(0, 8000, key, table)
    assert np.array_equal(labels(first, n, key, table), whole[first : first + n])


def test_labels_depend_on_seed_path_and_number_of_blocks_only():
    table = label_table(SEED, 105)
    a = labels(0, 2000, file_key(SEED, "a"), table)
    assert np.array_equal(a, labels(0, 2000, file_key(SEED, "a"), table))
    assert not np.array_equal(a, labels(0, 2000, file_key(SEED, "b"), table))
    assert not np.array_equal(a, labels(0, 2000, file_key(SEED + 1, "a"), label_table(SEED + 1, 105)))


def test_frozen_labels():
    """Published results can be repeated only while these numbers stand."""
    assert int(file_key(7, "year=2013/part-0.parquet")) == 15170640218421707092
    got = labels(0, 12, file_key(7, "year=2013/part-0.parquet"), label_table(7, 945))
    assert got.tolist() == [128, 468, 732, 541, 115, 246, 179, 413, 67, 340, 509, 148]


def test_the_first_row_of_a_file_falls_into_any_block():
    """Chi-square over 40,000 files; the threshold has failure probability 1e-6 for uniform labels."""
    k = 45
    table = label_table(SEED, k)
    first = [int(labels(0, 1, file_key(SEED, f"f{i}"), table)[0]) for i in range(4000)]
    assert _chi2(first, k) > 1e-6
    unkeyed = [int(labels(0, 1, file_key(SEED, "f"), table)[0]) for _ in range(4000)]
    assert _chi2(unkeyed, k) < 1e-6  # negative control: without the path all files start alike


def _chi2(values, k):
    return stats.chisquare(np.bincount(values, minlength=k)).pvalue


@pytest.mark.parametrize("period", [5, 105, 945])
def test_periodic_data_do_not_line_up_with_blocks(period):
    """Every period-th row is marked: with a cyclic order one block in `period` would get them all."""
    k, n = 105, 105 * 2000
    got = labels(0, n, file_key(SEED, "a"), label_table(SEED, k))
    marked = np.bincount(got[::period], minlength=k)
    cyclic = np.bincount((np.arange(n) % k)[::period], minlength=k)
    # each count is a sum of n/period indicators of probability 1/k: 6 standard deviations, 105 blocks,
    # failure probability below 1e-6
    mean = n / period / k
    assert np.abs(marked - mean).max() < 6 * np.sqrt(mean)
    assert np.abs(cyclic - mean).max() > 6 * np.sqrt(mean)


def test_coarse_blocks_of_a_run_are_not_neighbours():
    """Two rows at fixed places of a run share a coarse block about as often as two rows of different runs."""
    k, runs = 945, 4000
    got = labels(0, k * runs, file_key(SEED, "a"), label_table(SEED, k)).reshape(runs, k) // 9
    together = (got[:, 0] == got[:, 1]).mean()
    # one of 105 on average over tables; a table of 16 permutations makes it 0/16 … 16/16 of the rotations
    assert together < 0.25


def test_file_cells_are_uniform():
    cells = [file_cell(file_key(SEED, f"day={i}/part-0.parquet"), 45) for i in range(9000)]
    assert min(cells) >= 0 and max(cells) < 45
    assert _chi2(cells, 45) > 1e-6


@given(st.integers(1, 3000), st.integers(1, 60))
def test_stored_blocks_are_contiguous_and_nearly_equal(total, k):
    got = stored_labels(0, total, total, k)
    assert np.array_equal(got, np.arange(total) * k // total)
    edges = stored_edges(total, k)
    assert np.array_equal(np.diff(edges), np.bincount(got, minlength=k))
