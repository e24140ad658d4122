"""Sums of distances by sorting, piece by piece: the numbers of the definition, the bits of whole arrays."""

from __future__ import annotations

import numpy as np
import pytest

from distmom.numerics.arrays import Floats
from distmom.numerics.ranks import sorted_sums
from distmom.numerics.ranks.sorted_sums import rows_between, sums_within


def values(n: int, seed: int) -> Floats:
    """Some of which are equal."""
    g = np.random.default_rng(seed)
    return np.where(g.random(n) < 0.3, g.integers(-3, 3, n), g.standard_t(2, n)).astype(np.float64)


def weights(n: int, seed: int) -> Floats:
    """Some of which are zero."""
    g = np.random.default_rng([1, seed])
    return np.where(g.random(n) < 0.2, 0.0, g.random(n))


def whole(ordered: Floats, mass: Floats) -> Floats:
    """The sums of distances in one go over all gaps."""
    gaps = np.diff(ordered)
    below, above = np.cumsum(mass)[:-1], np.cumsum(mass[::-1])[-2::-1]
    sums = np.zeros(ordered.size)
    with np.errstate(invalid="ignore"):
        sums[1:] = np.cumsum(np.where(below > 0.0, below * gaps, 0.0))
        sums[:-1] += np.cumsum(np.where(above > 0.0, above * gaps, 0.0)[::-1])[::-1]
    return sums


@pytest.mark.parametrize("piece", [1, 2, 7, 1 << 15])
@pytest.mark.parametrize("n", [1, 2, 3, 14, 15, 100])
@pytest.mark.parametrize("weighted", [False, True])
def test_row_sums_are_those_of_the_definition_and_have_the_bits_of_whole_arrays(
    piece: int, n: int, weighted: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sorted_sums, "_PIECE", piece)
    for seed in range(5):
        x, w = values(n, seed), weights(n, seed) if weighted else None
        mass = np.ones(n) if w is None else w
        _, found = sums_within(x, w, rows=True)
        assert found is not None
        np.testing.assert_allclose(found, np.abs(x[:, None] - x) @ mass, rtol=1e-12, atol=1e-12)
        order = np.argsort(x, kind="stable")
        assert np.array_equal(np.sort(found[order]), np.sort(whole(x[order], mass[order])))


@pytest.mark.parametrize("piece", [1, 7, 1 << 15])
@pytest.mark.parametrize("weighted", [False, True])
def test_sums_between_samples(piece: int, weighted: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sorted_sums, "_PIECE", piece)
    for n, m in ((1, 1), (1, 30), (40, 9), (64, 64)):
        x, y = values(n, n), values(m, m + 1)
        both = (weights(n, n), weights(m, m)) if weighted else None
        of_x, of_y = rows_between(x, y, both)
        mass_x, mass_y = (np.ones(n), np.ones(m)) if both is None else both
        gaps = np.abs(x[:, None] - y)
        np.testing.assert_allclose(of_x, gaps @ mass_y, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(of_y, mass_x @ gaps, rtol=1e-12, atol=1e-12)
        if both is None:
            pooled = np.concatenate([x, y])
            order = np.argsort(pooled)
            of_first = whole(pooled[order], np.where(order < n, 0.0, 1.0))
            assert np.array_equal(of_x, of_first[np.argsort(order)][:n])


def test_infinite_rows_are_infinitely_far_and_no_further(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sorted_sums, "_PIECE", 2)
    x = np.array([3.0, np.inf, 1.0, 2.0, 5.0])
    _, found = sums_within(x, None, rows=True)
    assert np.isinf(np.asarray(found)).all()
    _, found = sums_within(x, np.array([1.0, 0.0, 1.0, 1.0, 1.0]), rows=True)
    assert np.asarray(found).tolist() == [5.0, np.inf, 7.0, 5.0, 9.0]
