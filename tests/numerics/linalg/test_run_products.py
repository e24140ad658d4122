"""Tests of co-moments by runs: the compiled kernel has the bits of sums over labels."""

import numpy as np
import pytest

from distmom.numerics.blocks.labels import label_table, labels
from distmom.numerics.linalg.comoments import leaf_comoments
from distmom.numerics.linalg.run_products import RunColumns

KEY = np.uint64(17)


def both(columns, gone, first_row, n_blocks, cut):
    """Count, mean and products by the kernel, and by the twin."""
    table = label_table(3, n_blocks)
    first, rest = [x[:cut].copy() for x in columns], [x[cut:].copy() for x in columns]
    runs = RunColumns(first, rest, (first_row, KEY, table))
    cells = labels(first_row, columns[0].size, KEY, table).astype(np.int64)
    with np.errstate(invalid="ignore", over="ignore"):
        return runs.comoments(gone, *runs.means(gone)), leaf_comoments(columns, gone, cells, n_blocks)


@pytest.mark.parametrize("n_blocks", [1, 5, 64, 65, 301])
@pytest.mark.parametrize("c", [1, 2, 5])
def test_the_kernel_has_the_bits_of_labels(n_blocks, c):
    g = np.random.default_rng([n_blocks, c])
    for n, first_row in ((1, 0), (7 * n_blocks, 0), (2_000, 131_072), (1_999, 40)):
        columns = list(g.standard_t(2, (c, n)) + 1e3 * np.arange(c)[:, None])
        for gone in (None, g.random(n) < 0.02, g.random(n) < 0.6, np.ones(n, np.bool_)):
            for cut in (n, n // 3):
                for found, expected in zip(*both(columns, gone, first_row, n_blocks, cut), strict=True):
                    assert np.array_equal(found, expected)


def test_odd_values_give_the_bits_of_labels():
    g = np.random.default_rng(0)
    columns = list(g.normal(size=(4, 1_500)))
    columns[0][3], columns[1][[7, 8]], columns[2][900], columns[3][1] = (
        np.inf,
        [np.inf, -np.inf],
        np.nan,
        1e308,
    )
    columns[3][2:200] = -1e308
    gone = g.random(1_500) < 0.3
    for hidden in (None, gone):
        for found, expected in zip(*both(columns, hidden, 5, 33, 700), strict=True):
            assert np.array_equal(found, expected, equal_nan=True)
            assert not np.isfinite(expected).all() or expected.dtype == np.int64


def test_values_of_rows_that_are_gone_do_not_matter():
    g = np.random.default_rng(1)
    columns, gone = g.normal(size=(3, 900)), g.random(900) < 0.2
    wild = np.where(gone, np.nan, columns)
    for one, other in zip(
        both(list(columns), gone, 0, 63, 900)[0], both(list(wild), gone, 0, 63, 900)[0], strict=True
    ):
        assert np.array_equal(one, other)
