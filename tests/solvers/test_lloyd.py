"""Centres of a sample: as good as those of scikit-learn on clean rows, and not of outlying rows."""

import numpy as np
import pytest
from sklearn.cluster import KMeans

from distmom.solvers.lloyd import LEAST, centres_of

CORNERS = np.array([[0.0, 0.0], [10.0, 0.0], [0.0, 10.0]])


def blobs(sizes: list[int], seed: int, centres: np.ndarray = CORNERS) -> np.ndarray:
    g = np.random.default_rng(seed)
    y = g.permutation(np.repeat(np.arange(len(sizes)), sizes))
    return centres[y] + g.normal(size=(y.size, centres.shape[1]))


def away(points: np.ndarray, centres: np.ndarray = CORNERS) -> float:
    """Of the centres that lie farthest from all points."""
    return float(np.sqrt(((centres[:, None] - points) ** 2).sum(axis=2)).min(axis=1).max())


def displaced(rows: np.ndarray, share: float, times: float) -> np.ndarray:
    g = np.random.default_rng(9)
    rows = rows.copy()
    bad = g.choice(len(rows), round(share * len(rows)), replace=False)
    rows[bad] += g.normal(0.0, times, (bad.size, rows.shape[1])) * rows.std(axis=0)
    return rows


def test_clean_rows_cost_what_they_cost_with_scikit_learn() -> None:
    g = np.random.default_rng(0)
    for rows, k in (
        (g.uniform(size=(2_000, 2)), 6),
        (blobs([500, 400, 300], 1), 3),
        (g.normal(size=(99, 5)), 2),
    ):
        found = centres_of(rows, k, 10, 0)
        squares = ((rows[:, None] - found.points) ** 2).sum(axis=2).min(axis=1)
        assert squares.max() < found.cap  # no row is cut off
        assert found.shares.sum() == pytest.approx(1.0)
        assert squares.sum() <= 1.01 * KMeans(k, n_init=10, random_state=0).fit(rows).inertia_


@pytest.mark.parametrize("times", [20.0, 1e3, 1e200])
@pytest.mark.parametrize("share", [0.01, 0.05])
def test_outlying_rows_draw_no_centre_and_small_clusters_do(share: float, times: float) -> None:
    clean = blobs([2_700, 250, 50], 2)
    rows = displaced(clean, share, times)
    found = centres_of(rows, 3, 10, 0)
    # that of 50 rows has a standard error of 0.14 in each coordinate: beyond 0.75 with probability 1e-6
    assert away(found.points) < 0.75
    assert 1.0 - found.shares.sum() == pytest.approx(share, abs=0.005)
    few = rows if times < 1e9 else np.clip(rows, -1e9, 1e9)
    assert away(KMeans(3, n_init=10, random_state=0).fit(few).cluster_centers_) > 5.0  # the control


def test_a_cell_of_few_rows_is_no_cluster() -> None:
    rows = np.concatenate([blobs([300], 3), 50.0 + blobs([LEAST], 3)])
    assert centres_of(rows, 2, 10, 0).points.max() > 40.0
    assert centres_of(rows[:-1], 2, 10, 0).points.max() < 5.0


def test_equal_rows_are_a_code_where_others_differ() -> None:
    rows = np.concatenate([blobs([300, 300], 3), np.full((30, 2), -9_999.0)])
    assert centres_of(rows, 3, 10, 0).points.min() > -9.0
    scattered = rows + np.where(rows < -9e3, np.random.default_rng(0).normal(size=rows.shape), 0.0)
    assert centres_of(scattered, 3, 10, 0).points.min() < -9e3  # the control


def test_rows_that_lie_together_without_a_centre_are_told() -> None:
    centres = np.array([[0.0, 0.0], [8.0, 0.0], [90.0, 90.0]])
    rows = blobs([3_000, 3_000, 20], 4, centres)
    assert centres_of(rows, 2, 10, 0).left_out == pytest.approx(20 / 6_020, abs=4 / 6_020)
    assert centres_of(displaced(rows[(rows < 50.0).all(axis=1)], 0.02, 100.0), 2, 10, 0).left_out == 0.0


def test_an_empty_cell_gets_a_row() -> None:
    """With as many clusters as distinct rows each has its own, from whatever start."""
    rows = np.repeat(np.arange(6.0)[:, None] ** 2, 40, axis=0)
    for seed in range(5):
        assert sorted(centres_of(rows, 6, 1, seed).points[:, 0].round(9)) == [0.0, 1.0, 4.0, 9.0, 16.0, 25.0]


@pytest.mark.parametrize("rows", [np.zeros((5, 2)), np.array([[0.0], [1.0]]), np.full((40, 1), 1e300)])
def test_equal_and_few_rows(rows: np.ndarray) -> None:
    found = centres_of(rows, 2, 3, 0)
    assert np.isfinite(found.points).all() and found.left_out == 0.0


def test_an_offset_costs_no_digits() -> None:
    rows = blobs([400, 40], 5)
    near, far = centres_of(rows, 2, 5, 0), centres_of(rows + 2.0**30, 2, 5, 0)
    assert np.abs(np.sort(far.points - 2.0**30, axis=0) - np.sort(near.points, axis=0)).max() < 1e-6
