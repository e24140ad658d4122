"""Tiles of pairs: both engines give the same bits, tiles are made in any order, memory stays small."""

import random
import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kernel_twins import PLAIN, as_rows, sample_of, twin_sums

from distmom.numerics.kernels import catalogue
from distmom.numerics.kernels.evaluate import block_sums
from distmom.numerics.kernels.function import kernel
from distmom.numerics.kernels.two_samples import Between
from distmom.numerics.pairs import tiles
from distmom.numerics.pairs.tiles import TileFold, pair_tile, tile_numbers, tile_rows, tiled_sums

COMPILED = [name for name, (k, _, _) in PLAIN.items() if k.compiled is not None]


def same_bits(a, b):
    rows = zip(a.row_means, b.row_means, strict=True)
    return a[:3] == b[:3] and all(np.array_equal(u, v, equal_nan=True) for u, v in rows)


@pytest.mark.parametrize("name", COMPILED)
@pytest.mark.parametrize("n", [2, 5, 511, 514, 1030])
@pytest.mark.one_in(3)
def test_both_engines_give_the_same_bits(name, n):
    k, columns, _ = PLAIN[name]
    x = sample_of(k, columns, np.random.default_rng(n), n, n % 2 == 0)
    one, other = (tiled_sums(k, x, compiled=compiled) for compiled in (False, True))
    assert same_bits(one, other)
    for compiled in (False, True):
        alone = tiled_sums(k, x, rows=False, compiled=compiled)
        assert alone[:3] == one[:3] and alone.row_means is None


@pytest.mark.parametrize("name", ["gini", "distance"])
@pytest.mark.parametrize("weighted", [pytest.param(False, marks=pytest.mark.slow), True])
@pytest.mark.one_in(2)
def test_both_engines_give_the_same_bits_for_two_samples_and_weights(name, weighted):
    k, columns, _ = PLAIN[name]
    rng = np.random.default_rng(1)
    x, y = (sample_of(k, columns, rng, n, False) for n in (517, 1029))
    weights = tuple(rng.exponential(size=n) for n in (517, 1029)) if weighted else None
    one, other = (tiled_sums(Between(k), x, y, weights=weights, compiled=c) for c in (False, True))
    assert same_bits(one, other)
    if weighted:
        one, other = (tiled_sums(k, y, weights=weights[1:], compiled=c) for c in (False, True))
        assert same_bits(one, other)


@pytest.mark.parametrize("name", COMPILED)
def test_read_only_and_strided_rows_are_taken(name):
    k, columns, _ = PLAIN[name]
    x = sample_of(k, columns, np.random.default_rng(2), 40, False)
    frozen = np.repeat(x, 2, axis=0)[::2]
    frozen.flags.writeable = False
    assert same_bits(tiled_sums(k, frozen, compiled=True), tiled_sums(k, x, compiled=True))


@given(st.integers(2, 60), st.integers(1, 30), st.integers(0, 2**32 - 1))
def test_tiles_made_in_any_order_are_the_block(n, width, seed):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tiles, "TILE", width)
        rng = np.random.default_rng(seed)
        x, y = rng.normal(size=n), rng.normal(size=n // 2 + 1)
        for k, samples in ((catalogue.gini(), (x,)), (catalogue.auc(), (x, y))):
            sizes = tuple(s.size for s in samples)
            numbers, side = list(tile_numbers(sizes)), tiles.tile_side(sizes)
            made = {}
            for i, j in random.Random(seed).sample(numbers, len(numbers)):
                other = None if len(sizes) == 1 and i == j else samples[-1][tile_rows(j, side)]
                made[i, j] = pair_tile(k, samples[0][tile_rows(i, side)], other)
            fold = TileFold(k, sizes)
            for i, j in numbers:
                fold.add(i, j, made[i, j])
            assert same_bits(fold.result(), tiled_sums(k, *samples))
            exact = block_sums(k, *samples)[0]
            assert fold.result().n_tuples == exact.n_tuples
            np.testing.assert_allclose(fold.result().mean, exact.mean, rtol=1e-10)
            for one, wanted in zip(fold.result().row_means, exact.row_means, strict=True):
                np.testing.assert_allclose(one, wanted, rtol=1e-10)


def test_tiles_out_of_order_and_missing_tiles_are_refused(monkeypatch):
    monkeypatch.setattr(tiles, "TILE", 4)
    x, k = np.arange(9.0), catalogue.gini()
    fold = TileFold(k, (9,))
    tile = pair_tile(k, x[:4], None)
    with pytest.raises(ValueError, match=r"\(0, 1\) is not the next"):
        fold.add(0, 1, tile)
    with pytest.raises(ValueError, match=r"\(0, 1\) is missing"):
        fold.result()


def test_all_pairs_of_25_000_rows_in_little_memory():
    x = np.random.default_rng(0).normal(size=25_000)
    k = catalogue.gini()
    tiled_sums(k, x[:100], compiled=True)
    tracemalloc.start()
    found = tiled_sums(k, x)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert found.n_tuples == 312_487_500
    by_sorting = block_sums(k, x)[0]
    assert found.mean == pytest.approx(by_sorting.mean, rel=1e-10)
    np.testing.assert_allclose(found.row_means[0], by_sorting.row_means[0], rtol=1e-10)
    assert found.second == pytest.approx(by_sorting.second, rel=1e-10)
    assert peak < 4e6  # the matrix would take 5e9; a row sum for each row takes 2e5


@pytest.mark.slow
def test_users_functions_are_the_same_kernel_in_any_engine():
    x = np.random.default_rng(3).normal(size=700)
    plain = tiled_sums(kernel(lambda a, b: np.abs(a - b)), x)
    inlined = tiled_sums(kernel(lambda a, b: abs(a - b), compiled=True), x)
    assert same_bits(plain, inlined) and same_bits(plain, tiled_sums(catalogue.gini(), x))


@pytest.mark.slow
def test_users_functions_of_rows_and_of_two_samples():
    rng = np.random.default_rng(4)
    x, y = rng.normal(size=(20, 2)), rng.normal(size=(30, 2))

    def lead(a, b):
        return (a[..., 0] < b[..., 1]) * 1.0

    def lead_of_rows(a, b):
        return 1.0 if a[0] < b[1] else 0.0

    wanted = twin_sums(lambda a, b: float(a[0] < b[1]), [as_rows(x), as_rows(y)], (1, 1))
    for k in (
        kernel(lead, n_samples=2, columns=2),
        kernel(lead_of_rows, n_samples=2, columns=2, compiled=True),
    ):
        found = tiled_sums(k, x, y)
        assert found.n_tuples == 600 and found.mean == pytest.approx(wanted[1], rel=1e-12)
        for rows, exact in zip(found.row_means, wanted[3], strict=True):
            np.testing.assert_allclose(rows, exact, rtol=1e-12)


@pytest.mark.parametrize("n", [9_000, 20_000, 33_000, 40_000, 60_000, 100_000, 270_000])
def test_two_workers_get_nearly_equal_shares(n):
    """Each tile goes to the one that is free first; the tiles depend on the number of rows alone."""
    side = tiles.tile_side((n,))
    assert side in (1 << 12, 1 << 13, 1 << 14, 1 << 15)
    busy, total = [0, 0], 0
    for i, j in tile_numbers((n,)):
        a, b = (len(range(n)[tile_rows(k, side)]) for k in (i, j))
        pairs = a * b if i != j else a * (a - 1) // 2
        busy[busy.index(min(busy))] += pairs
        total += pairs
    assert total == n * (n - 1) // 2 and total / max(busy) > 1.9
