"""The numbers of the rule, each from just below and just above."""

from __future__ import annotations

import numpy as np
import pytest

from distmom.inference.adaptive import answer_rule
from distmom.inference.status import Finding, flags_of
from distmom.numerics.blocks.moments import Moments


def spread(n_fine, seed=0, centre=0.0, rows=20):
    """Fine blocks of `rows` rows with variance 1 and means of that spread."""
    mean = centre + np.random.default_rng(seed).normal(size=(1, n_fine)) / np.sqrt(rows)
    return Moments(np.full((1, n_fine), rows), mean, np.full((1, n_fine), rows - 1.0))


def answered(rows, **options):
    return answer_rule(rows, None, None, 0.99, **options)


@pytest.mark.parametrize(("n_fine", "least"), [(105, 8.0), (945, np.sqrt(945) / 2)])
def test_a_block_is_outlying_beyond_eight_or_half_the_root_of_their_number(n_fine, least):
    """With many blocks, between 8 and that bound, it is no outlying one but counts against the capacity."""
    for factor, outlying in ((0.97, 0), (1.03, 1)):
        rows = spread(n_fine)
        rows.mean[0] *= 0.5  # the spread within blocks is the larger one, and known: 1/sqrt(20)
        # contradicted anyhow, so that outlying blocks are screened out: two blocks that no distribution
        # explains
        rows.mean[0, :2] = 1e6
        rows.mean[0, 10] = np.median(rows.mean) + factor * least / np.sqrt(20)
        assert answered(rows).n_screened_out[0] == 2 + outlying


@pytest.mark.parametrize(("n_far", "beyond"), [(26, False), (27, True)])
def test_a_quarter_of_the_blocks_is_the_capacity(n_far, beyond):
    rows = spread(105)
    rows.mean[0, :n_far] = 1e6  # neighbours: only two blocks of five are bad
    found = answered(rows)
    assert found.k_hat[0] == 5 and found.n_screened_out[0] == n_far
    assert bool(found.status[0] & Finding.BREAKDOWN_POINT_EXCEEDED) == beyond


def test_capacity_counts_blocks_that_are_nearly_wild():
    """Beyond 8 standard deviations but not outlying: enough of them move the mean by too much."""
    sd = np.sqrt(1 / 20)
    for many in (20, 200):
        rows = spread(945)
        rows.mean[0, 0] = 1e6
        rows.mean[0, 1 : 1 + many] += 12 * sd
        found = answered(rows)
        assert found.n_screened_out[0] == 1
        assert bool(found.status[0] & Finding.BREAKDOWN_POINT_EXCEEDED) == (many == 200)


@pytest.mark.parametrize(("n", "k"), [(3600, 15), (3601, 21), (7056, 21), (7057, 35)])
def test_blocks_of_the_answer_grow_like_a_quarter_of_the_root(n, k):
    rows = spread(105)
    rows.count[0] = n // 105 + (np.arange(105) < n % 105)
    assert answered(rows).n_blocks[0] == k


def test_from_sixty_three_blocks_on_the_number_of_rows_does_not_matter():
    for rows_in_a_block in (100, 10**9):
        assert answered(spread(945, rows=rows_in_a_block)).n_blocks[0] == 63


def test_ten_cells_are_asked_and_nine_are_not():
    for n_cells in (9, 10):
        cells = Moments.empty(1, 105)
        cells.count[0, :n_cells] = 200
        cells.mean[0, :n_cells] = spread(n_cells, rows=200).mean
        cells.m2[0, :n_cells] = 199.0
        assert np.isnan(answered(spread(105), files=cells).file_estimate[0]) == (n_cells == 9)


@pytest.mark.parametrize(("sd", "words"), [(0.5, "files disagree"), (2.0, "ok")])
def test_only_the_quieter_set_may_accuse(sd, words):
    """Cells around another value than the rows: believed, and named, only if they vary less than the rows."""
    cells = spread(105, seed=1)
    cells = Moments(cells.count, 50.0 + sd * cells.mean, sd * sd * cells.m2)
    cells.mean[0, 7] = 1e7
    found = answered(spread(105), files=cells)
    assert abs(found.file_estimate[0] - 50.0) < 1.0
    assert (*flags_of(found.status[0]), "ok")[0] == words
    assert set(np.flatnonzero(found.suspect_cells[0])) == ({7} if words != "ok" else set())
    assert abs(found.estimate[0] - (50.0 if words != "ok" else 0.0)) < 1.0


def test_a_non_finite_block_contradicts_even_where_widths_overflow():
    mean = 2.0 * np.linspace(-6.8e307, 6.8e307, 45)[None]
    mean[0, 40] = np.inf
    found = answered(Moments(np.full((1, 45), 20), mean, np.zeros((1, 45))))
    assert np.isinf(found.path_margin[0, 0])
    assert found.n_screened_out[0] == 1 and flags_of(found.status[0])[-1] == "contaminated"


def test_few_kept_blocks_stay_odd():
    """Five finest blocks, one outlying: four are left, and three carry the answer."""
    rows = spread(5, rows=1000)
    rows.mean[0, 0] = 1e9
    found = answered(rows)
    assert found.n_screened_out[0] == 1 and found.n_blocks[0] == 3
    assert flags_of(found.status[0]) == ("breakdown point exceeded", "contaminated")
