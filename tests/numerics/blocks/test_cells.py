"""Running cells against a row-by-row twin: moments, any cutting, both engines."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from distmom.numerics.blocks.cells import Cells
from distmom.numerics.blocks.labels import file_key, label_table, labels

KEY = file_key(11, "a.parquet")


def slow(x, gone, cells, k):
    """Count, mean and squared deviations of each cell, by collecting its values."""
    rows = []
    for cell in range(k):
        values = x[(cells == cell) & ~gone]
        if values.size and not np.isfinite(values).all():
            with np.errstate(invalid="ignore"):
                rows.append((values.size, values.sum(), np.nan))
        else:
            mean = values.mean() if values.size else 0.0
            rows.append((values.size, mean, ((values - mean) ** 2).sum()))
    return (np.array(column) for column in zip(*rows, strict=True))


@given(st.integers(0, 800), st.integers(1, 40), st.integers(0, 2**20), st.booleans(), st.booleans())
def test_cells_equal_the_twins(n, k, seed, holes, infinite):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n) * 10.0 ** rng.integers(-3, 4, n)
    if infinite and n:
        x[rng.integers(0, n, 2)] = [np.inf, -np.inf]
    gone = rng.random(n) < 0.3 * holes
    cells = rng.integers(0, k, n)
    found = []
    for compiled in (False, True):
        for parts in ([slice(0, n)], [slice(0, n // 3), slice(n // 3, n)]):
            table = Cells(compiled=compiled)
            table.grow(k)
            for part in parts:
                mask = gone[part] if holes else None
                table.add(x[part], mask, cells[part])
            found.append(table.moments(k))
    for other in found[1:]:
        assert all(np.array_equal(a, b, equal_nan=True) for a, b in zip(found[0], other, strict=True))
    count, mean, m2 = found[0]
    want_count, want_mean, want_m2 = slow(x, gone, cells, k)
    assert np.array_equal(count, want_count)
    np.testing.assert_allclose(mean, want_mean, rtol=1e-12, atol=1e-8)
    np.testing.assert_allclose(m2, want_m2, rtol=1e-9, atol=1e-8)


@pytest.mark.parametrize("compiled", [False, True])
def test_groups_of_very_different_levels_keep_their_digits(compiled):
    rng = np.random.default_rng(0)
    cells = rng.integers(0, 3, 3000)
    x = np.array([1e12, 0.0, -1e-6])[cells] + rng.normal(size=3000) * np.array([1.0, 1e-3, 1e-9])[cells]
    table = Cells(compiled=compiled)
    table.grow(3)
    table.add(x, None, cells)
    count, _, m2 = table.moments(3)
    assert np.allclose(np.sqrt(m2 / count), [1.0, 1e-3, 1e-9], rtol=0.1)


def test_opposite_huge_values_do_not_overflow_the_mean():
    for compiled in (False, True):
        table = Cells(compiled=compiled)
        table.grow(1)
        table.add(np.array([1.7e308, -1.7e308]), None, np.zeros(2, np.int64))
        assert table.moments(1).mean[0] == 0.0 and table.moments(1).m2[0] == np.inf


@given(st.integers(0, 3000), st.integers(0, 2500), st.sampled_from([1, 5, 9, 945]), st.booleans())
def test_random_blocks_are_code_and_label(first, n, width, holes):
    rng = np.random.default_rng(n)
    x, codes = rng.normal(size=n), rng.integers(0, 7, n)
    gone = rng.random(n) < 0.3 if holes else None
    labelled = label_table(3, 945)
    k = 945 // width
    want = Cells()
    want.grow(7 * k)
    want.add(x, gone, codes * k + labels(first, n, KEY, labelled) // width)
    for compiled in (False, True):
        found = Cells(compiled=compiled)
        found.grow(7 * k)
        for part in (slice(0, n // 3), slice(n // 3, n)):
            mask = None if gone is None else gone[part]
            found.add_blocks(x[part], mask, codes[part], first + part.start, KEY, labelled, width)
        assert same(found.moments(7 * k), want.moments(7 * k))


@pytest.mark.parametrize("n_once", [0, 3, 2])
def test_unloading_hands_the_moments_over_and_starts_anew(n_once):
    rng = np.random.default_rng(1)
    x, cells = rng.normal(size=900), rng.integers(0, 12, 900)
    x[5] = np.inf
    found = []
    for compiled in (False, True):
        table = Cells(compiled=compiled)
        table.grow(15)
        table.add(x, None, cells)
        before = table.moments(15).each(lambda a: np.array(a).reshape(5, 3))
        found.append(table.unload(5, 3, n_once))
        assert same(found[-1].at((slice(None), slice(3))), before)
        assert not table.moments(15).count.any() and not table.moments(15).mean.any()
    assert same(*found)
    if n_once:
        once = cells % 3 < n_once
        assert found[0].count[:, 3].tolist() == [*np.bincount(cells[once] // 3, minlength=5)]


def same(a, b):
    return all(u.dtype == v.dtype and np.array_equal(u, v, equal_nan=True) for u, v in zip(a, b, strict=True))
