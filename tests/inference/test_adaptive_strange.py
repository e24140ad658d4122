"""The rule on strange data: words instead of warnings, and every reason for having no interval."""

from __future__ import annotations

import numpy as np
import pytest

from distmom.inference.adaptive import answer_rule
from distmom.inference.status import Finding, NoInterval, flags_of
from distmom.numerics.blocks.moments import Moments


def blocks_of(x):
    """One group, equal blocks: x has shape (n_fine, rows)."""
    with np.errstate(all="ignore"):
        away = x / 2 - x[:, :1] / 2
        mean = 2 * (x[:, 0] / 2 + (away / x.shape[1]).sum(axis=1))
        mean = np.where(np.isfinite(x).all(axis=1), mean, x.sum(axis=1))
        m2 = np.where(np.isfinite(mean), ((x - mean[:, None]) ** 2).sum(axis=1), np.nan)
    return Moments(np.full((1, x.shape[0]), x.shape[1]), mean[None], m2[None])


def test_strange_data_gives_words_not_warnings():
    g = np.random.default_rng(0)
    cases = {
        "huge": g.choice([-1.7e308, 1.7e308, 1e308], (105, 20)),
        "tiny": g.normal(size=(105, 20)) * 1e-300,
        "subnormal": g.normal(size=(105, 20)) * 1e-310,
        "constant": np.full((105, 20), 1.7e308),
        "all infinite": np.full((105, 20), np.inf),
        "all nan": np.full((105, 20), np.nan),
        "one row": np.full((105, 1), 3.0),
        "huge and quiet": np.where(
            np.arange(2100).reshape(105, 20) % 97 == 0, -1.7e308, g.normal(size=(105, 20))
        ),
    }
    for name, x in cases.items():
        sample = x.reshape(1, -1)[:, :1024]
        for k in ("auto", 1, 7, 105):
            found = answer_rule(
                blocks_of(x), sample, np.array([sample.size]), 0.99, files=blocks_of(x), n_blocks=k
            )
            inner = found.intervals
            assert (np.isnan(inner.order_low) == (inner.order_reason > 0)).all(), (name, k)
            assert (np.isnan(inner.cantelli_low) == (inner.cantelli_reason > 0)).all(), (name, k)
            assert np.isnan(found.estimate[0]) == bool(found.status[0] & Finding.NO_FINITE_ANSWER), (name, k)
            assert np.isfinite(found.estimate[0]) == (name not in ("all infinite", "all nan")), (
                name,
                k,
            )
    quiet = answer_rule(blocks_of(cases["huge and quiet"]), None, None, 0.99)
    assert abs(quiet.estimate[0]) < 0.2 and quiet.n_screened_out[0] == 22


def test_no_groups_and_no_rows():
    nothing = answer_rule(
        Moments.empty(0, 105), np.empty((0, 9)), np.empty(0, np.int64), 0.99, files=Moments.empty(0, 45)
    )
    assert nothing.n_groups == 0 and nothing.suspect_cells.shape == (0, 45)
    for k in ("auto", 7):
        found = answer_rule(Moments.empty(2, 105), None, None, 0.99, files=Moments.empty(2, 105), n_blocks=k)
        assert [flags_of(s) for s in found.status] == [("no rows",)] * 2
        assert np.isnan(found.estimate).all() and np.isnan(found.plain_estimate).all()
        assert (found.n_blocks == 0).all() and (found.block_size == 0).all()
        assert (found.intervals.order_reason == NoInterval.NO_ANSWER).all()


@pytest.mark.parametrize("k", ["auto", 9])
def test_where_all_rows_are_equal_both_intervals_are_that_value(k):
    sample, n_sample = np.full((1, 1024), 0.1), np.array([1024])
    x = np.full((945, 20), 0.1)
    found = answer_rule(blocks_of(x), sample, n_sample, 0.99, files=blocks_of(x), n_blocks=k)
    assert found.constant[0] and flags_of(found.status[0]) == ()
    inner = found.intervals
    for value in (inner.order_low, inner.order_high, inner.cantelli_low, inner.cantelli_high):
        assert value[0] == found.estimate[0] == found.plain_estimate[0] == 0.1
    assert 0.99 <= inner.order_level[0] <= 1


@pytest.mark.parametrize("k", ["auto", 7])
def test_one_other_row_is_enough_to_say_nothing_of_the_spread(k):
    """The negative control: constant but for a row that the sample missed."""
    sample, n_sample = np.full((1, 1024), 0.1), np.array([1024])
    x = np.full((945, 20), 0.1)
    x[44, 0] = 1e9
    found = answer_rule(blocks_of(x), sample, n_sample, 0.99, n_blocks=k)
    assert not found.constant[0]
    words = "too few rows, or too few" if k == "auto" else "more than half of the blocks are constant"
    assert NoInterval(found.intervals.cantelli_reason[0]).words.startswith(words)
    assert np.isnan(found.intervals.cantelli_low[0]) and np.isnan(found.intervals.order_low[0])


@pytest.mark.parametrize("value", [np.inf, np.nan])
def test_non_finite_values_are_no_constant(value):
    found = answer_rule(blocks_of(np.full((105, 20), value)), None, None, 0.99)
    assert not found.constant[0] and flags_of(found.status[0]) == ("no finite answer",)


def test_fewer_rows_than_blocks_lowers_the_number():
    x = np.arange(10.0)
    count = np.zeros((1, 101), np.int64)
    count[0, ::10] = [1] * 10 + [0]
    mean = np.zeros((1, 101))
    mean[0, ::10] = [*x, 0]
    found = answer_rule(Moments(count, mean, np.zeros((1, 101))), x[None], np.array([10]), 0.99, n_blocks=101)
    assert found.lowered[0] and found.n_blocks[0] == 10 and found.estimate[0] == 4.0
    assert found.intervals.order_reason[0] == NoInterval.FEWER_ROWS_THAN_BLOCKS


def test_non_finite_blocks_up_to_just_below_half():
    g = np.random.default_rng(5)
    x = g.normal(size=(105, 20))
    for k, most in ((7, 3), (10, 4)):
        n_fine = k * (105 // k)
        for non_finite in range(1, k):
            y = x[:n_fine].copy()
            y[:: n_fine // k][:non_finite, 0] = np.inf
            found = answer_rule(blocks_of(y), None, None, 0.99, n_blocks=k)
            assert found.n_non_finite[0] == non_finite
            assert bool(np.isfinite(found.estimate[0])) == (non_finite <= most)
            words = flags_of(found.status[0])
            assert words[0] == ("contaminated" if non_finite <= most else "no finite answer")


def test_non_finite_blocks_widen_both_intervals():
    g = np.random.default_rng(6)
    x = g.normal(size=(945, 20))
    clean = answer_rule(blocks_of(x), None, None, 0.99, n_blocks=63).intervals
    x[::150, 0] = np.nan
    rough = answer_rule(blocks_of(x), None, None, 0.99, n_blocks=63)
    assert rough.n_non_finite[0] == 7
    assert rough.intervals.order_rank[0] < clean.order_rank[0]
    assert rough.intervals.cantelli_high[0] - rough.intervals.cantelli_low[0] > 1.1 * (
        clean.cantelli_high[0] - clean.cantelli_low[0]
    )


def test_dependent_blocks_use_the_spread_between_them():
    """A walk: rows vary little inside contiguous blocks, and much between them."""
    x = np.cumsum(np.random.default_rng(1).normal(size=945 * 20)).reshape(945, 20)
    rows = answer_rule(blocks_of(x), None, None, 0.99, block_source="rows").intervals
    stored = answer_rule(blocks_of(x), None, None, 0.99, block_source="stored").intervals
    assert stored.cantelli_high[0] - stored.cantelli_low[0] > 3 * (
        rows.cantelli_high[0] - rows.cantelli_low[0]
    )


def test_units_need_as_many_cells_as_blocks():
    g = np.random.default_rng(2)
    count = np.zeros((1, 945), np.int64)
    filled = np.sort(g.choice(945, 20, replace=False))
    count[0, filled] = 1000
    mean = np.where(count > 0, g.normal(size=(1, 945)), 0.0)
    found = answer_rule(Moments(count, mean, count * 1.0), None, None, 0.99, block_source="units")
    assert np.isfinite(found.path_estimate[0]).sum() == 4 and found.n_blocks[0] == 15  # 5, 7, 9, 15


def test_unwanted_intervals_say_so():
    found = answer_rule(
        blocks_of(np.random.default_rng(0).normal(size=(105, 9))), None, None, 0.99, intervals=()
    )
    assert (found.intervals.order_reason == NoInterval.NOT_WANTED).all()
    assert (found.intervals.cantelli_reason == NoInterval.NOT_WANTED).all()


def test_mistakes_of_the_caller():
    blocks = Moments.empty(1, 105)
    for change in (
        {"n_blocks": 10},
        {"block_source": "x"},
        {"intervals": ("normal",)},
        {"files": Moments.empty(2, 9)},
    ):
        with pytest.raises(ValueError):
            answer_rule(blocks, None, None, 0.99, **change)
    with pytest.raises(ValueError):
        answer_rule(blocks, None, None, 1.0)


def test_every_code_has_words():
    assert all(code.words or code == 0 for code in NoInterval)
    assert flags_of(0) == ()
    assert [flags_of(flag) for flag in Finding] and all(len(flags_of(flag)) == 1 for flag in Finding)
