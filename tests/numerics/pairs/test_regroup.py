"""Rows go to their cells in the order they come, compiled or not."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from distmom.numerics.pairs.regroup import CellRows


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("n_columns", [1, 3])
def test_rows_keep_their_order_in_their_cells(compiled: bool, n_columns: int) -> None:
    g = np.random.default_rng(0)
    n, n_cells = 1_000, 7
    columns = g.normal(size=(n_columns, n))
    cells, gone = g.integers(-1, n_cells, n), g.random(n) < 0.2
    cells[cells == 4] = 5  # an empty cell
    wanted = [columns[:, (cells == c) & ~gone].T for c in range(n_cells)]
    kept = CellRows(np.array([rows.shape[0] for rows in wanted]), n_columns, compiled=compiled)
    edges = [0, 1, 1, 400, 1_000]
    for start, stop in pairwise(edges):
        assert not kept.whole
        part = slice(start, stop)
        kept.add(list(columns[:, part]), gone[part], cells[part])
    assert kept.whole
    for c, rows in enumerate(wanted):
        assert np.array_equal(kept.rows(c), rows)


@pytest.mark.parametrize("compiled", [False, True])
def test_a_row_too_many_is_refused(compiled: bool) -> None:
    kept = CellRows(np.array([2, 1]), 1, compiled=compiled)
    kept.add([np.arange(3.0)], None, np.array([0, -1, 1]))
    with pytest.raises(ValueError, match="more rows"):
        kept.add([np.arange(2.0)], None, np.array([0, 0]))
