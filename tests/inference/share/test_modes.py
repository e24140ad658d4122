"""Sizes of another order stay in; codes, copies, narrow clusters and garbage do not."""

from __future__ import annotations

import numpy as np
import pytest

from distmom.inference.share.modes import second_mode, uncoded

NONE = np.empty(0)


def sizes(centre, sigma, n, seed=0):
    return np.sort(centre * np.exp(sigma * np.random.default_rng(seed).normal(size=n)))


FILES = sizes(1e3, 1.0, 5000)
LENGTHS = sizes(20.0, 0.1, 5000)


@pytest.mark.parametrize("n", [2, 5, 20, 500])
def test_a_second_mode_is_wide(n):
    assert second_mode(FILES, sizes(1e7, 1.0, n, 1), NONE, 1e5)
    assert not second_mode(FILES, sizes(1e7, 0.01, n + 3, 1), NONE, 1e5)


def test_one_row_is_one_of_sizes_that_span_decades():
    assert second_mode(FILES, np.array([1e9]), NONE, 1e6)
    assert not second_mode(LENGTHS, np.array([1e9]), NONE, 1e6)


@pytest.mark.parametrize("factor", [100.0, 1000.0, 1024.0**2])
def test_copies_by_a_unit_are_damage_where_rows_spread_moderately(factor):
    copy = np.sort(factor * sizes(20.0, 0.1, 200, 1))
    assert not second_mode(LENGTHS, copy, NONE, 3 * LENGTHS[-1])
    assert second_mode(LENGTHS, 3.3 * copy, NONE, 3 * LENGTHS[-1])
    wide = np.sort(factor * sizes(20.0, 0.5, 12, 1))
    assert second_mode(LENGTHS, wide, NONE, 3 * LENGTHS[-1])
    assert second_mode(LENGTHS, copy[::30], NONE, 3 * LENGTHS[-1])  # too few to tell
    assert second_mode(FILES, np.sort(factor * FILES[::20]), NONE, 1e5)


def test_codes_are_no_mode_but_rounded_sizes_are():
    codes = np.sort(np.random.default_rng(0).choice([999.0, 9999.0, 99999.0], 300)) * 100
    assert not second_mode(FILES, codes, NONE, 1e4 * 4)
    unit = 10.0 ** np.floor(np.log10(FILES))
    rounded = np.sort(np.round(FILES / unit) * unit)
    assert second_mode(rounded, np.sort(rounded[::20] * 1e4), NONE, 1e6)


def test_what_lies_on_both_sides_is_garbage():
    g = np.random.default_rng(0)
    garbage = 1e8 * g.standard_cauchy(400)
    above, below = np.sort(garbage[garbage > 1e6]), np.sort(garbage[garbage < -1e6])
    assert not second_mode(FILES, above, below, 1e6)
    assert second_mode(FILES, above, below[:10], 1e6)
    assert second_mode(FILES, above, np.full(500, -9999999.0), 1e6)


def test_signs():
    signs = np.random.default_rng(0).choice([-1.0, 1.0], 5000)
    wide = np.sort(signs * sizes(1e3, 1.5, 5000))
    assert second_mode(wide, sizes(1e8, 1.0, 100, 1), NONE, 1e6)
    normal = np.sort(np.random.default_rng(1).normal(size=5000))
    assert not second_mode(normal, sizes(1e8, 1.0, 100, 1), NONE, 1e6)
    assert not second_mode(-FILES[::-1], sizes(1e8, 1.0, 100, 1), NONE, 1e6)
    with_codes = np.concatenate([np.full(600, -9999.0), FILES])
    assert second_mode(with_codes, sizes(1e8, 1.0, 100, 1), NONE, 1e6)


@pytest.mark.parametrize("inside", [np.zeros(50), np.full(50, -1.0), np.array([1.0])])
def test_without_positive_rows_there_are_no_sizes(inside):
    assert not second_mode(inside, sizes(1e8, 1.0, 100), NONE, 1e6)


def test_rows_that_repeat_themselves():
    x = np.sort(np.array([1.0, 1, 1, 2, 2, 3, 3, 3, 3, 4, 5]))
    assert (uncoded(x), uncoded(NONE), uncoded(np.arange(4.0)), uncoded(np.ones(1))) == (4, 0, 4, 1)
