"""Co-moments of blocks against NumPy, merged in any way, compiled or not; nearest matrices."""

from __future__ import annotations

import numpy as np
import pytest

from distmom.numerics.linalg.comoments import Comoments, leaf_comoments
from distmom.numerics.linalg.nearest import as_correlation, nearest_correlation, nearest_psd

N, CELLS = 3_000, 9


def leaf(
    seed: int, *, compiled: bool = False, offset: float = 0.0
) -> tuple[Comoments, np.ndarray, np.ndarray]:
    g = np.random.default_rng(seed)
    rows = g.normal(size=(N, 3)) @ np.array([[1.0, 0.5, 0.0], [0.0, 2.0, 1e-3], [0.0, 0.0, 1e6]]) + offset
    cells, gone = g.integers(0, CELLS - 1, N), g.random(N) < 0.1  # the last cell is empty
    rows[gone] = np.nan
    found = leaf_comoments(list(rows.T.copy()), gone, cells, CELLS, compiled=compiled)
    return found, rows[~gone], cells[~gone]


def check(found: Comoments, rows: np.ndarray, cells: np.ndarray, tolerance: float = 1e-11) -> None:
    for k in range(CELLS):
        mine = rows[cells == k]
        assert found.rows[k] == len(mine)
        if len(mine) > 1:
            d = mine - mine.mean(axis=0)
            assert found.mean[k] == pytest.approx(mine.mean(axis=0), rel=1e-12)
            spread = np.sqrt(np.square(d).sum(axis=0))
            assert (np.abs(found.product[k] - d.T @ d) <= tolerance * np.outer(spread, spread)).all()


@pytest.mark.parametrize("offset", [0.0, 1e8])
def test_leaves_and_their_merge(offset: float) -> None:
    """A mean has the digits of its offset: 10^8 leaves eight of them to the products of two means."""
    one, rows, cells = leaf(0, offset=offset)
    tolerance = 1e-11 if offset == 0.0 else 1e-8
    check(one, rows, cells, tolerance)
    two, more, others = leaf(1, offset=offset)
    check(one.merge(two), np.concatenate([rows, more]), np.concatenate([cells, others]), tolerance)
    coarse = np.arange(CELLS) // 3
    check(one.pooled(coarse, CELLS), rows, coarse[cells], tolerance)


def test_the_compiled_twin_has_the_same_bits() -> None:
    for a, b in zip(leaf(2)[0], leaf(2, compiled=True)[0], strict=True):
        assert a.tobytes() == b.tobytes()


@pytest.mark.parametrize("size", [0, 1, N // 3])
def test_a_leaf_in_two_pieces_has_the_same_bits(size: int) -> None:
    g = np.random.default_rng(4)
    rows, cells, gone = g.normal(size=(3, N)), g.integers(0, CELLS, N), g.random(N) < 0.1
    whole = leaf_comoments(rows, gone, cells, CELLS)
    pieces = leaf_comoments(rows[:, : N - size], gone, cells, CELLS, rest=rows[:, N - size :])
    assert [a.tobytes() for a in whole] == [a.tobytes() for a in pieces]


def test_an_infinite_value_ruins_its_block_alone() -> None:
    x = np.arange(20.0)
    x[3] = np.inf
    found = leaf_comoments([x, np.arange(20.0)], None, np.arange(20) % 4, 4)
    assert np.isfinite(found.product).all(axis=(1, 2)).tolist() == [True, True, True, False]
    clean = leaf_comoments([np.arange(20.0)] * 2, None, np.arange(20) % 4, 4)
    assert np.isnan(found.merge(clean).product[3]).any() and np.isfinite(found.merge(clean).product[:3]).all()


def test_nearest_matrices() -> None:
    """The example of Higham (2002)."""
    found = nearest_correlation(np.array([[1.0, 1.0, 0.0], [1.0, 1.0, 1.0], [0.0, 1.0, 1.0]]))
    assert found == pytest.approx(
        np.array([[1, 0.7607, 0.1573], [0.7607, 1, 0.7607], [0.1573, 0.7607, 1]]), abs=1e-4
    )
    assert np.linalg.eigvalsh(found)[0] > -1e-8
    good = np.array([[2.0, 1.0], [1.0, 3.0]])
    assert np.array_equal(nearest_psd(good), good)
    assert np.linalg.eigvalsh(nearest_psd(np.array([[1.0, 2.0], [2.0, 1.0]])))[0] > -1e-12
    assert as_correlation(good)[0, 1] == pytest.approx(1.0 / np.sqrt(6.0))
    assert np.isnan(as_correlation(np.diag([1.0, 0.0]))).sum() == 3
