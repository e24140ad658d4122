"""What the rule owes to symmetry: groups apart, portions, scale, shift and mirror."""

from __future__ import annotations

import numpy as np
import pytest
from rule_groups import OUTLYING, a_batch

from distmom.inference.adaptive import answer_rule
from distmom.inference.answers import Intervals
from distmom.numerics.blocks.moments import Moments


def same(a, b):
    for name in vars(a):
        x, y = getattr(a, name), getattr(b, name)
        if isinstance(x, Intervals):
            same(x, y)
        else:
            np.testing.assert_array_equal(x, y, err_msg=name)


def pick(found, order):
    """Rows of an answer in another order."""
    values = {}
    for name in vars(found):
        value = getattr(found, name)
        if name == "intervals":
            value = Intervals(*(getattr(value, inner)[order] for inner in vars(value)))
        elif name != "levels":
            value = value[order]
        values[name] = value
    return type(found)(**values)


@pytest.mark.parametrize("k", ["auto", 7])
@pytest.mark.parametrize("outlying", sorted(OUTLYING))
@pytest.mark.one_in(3)
def test_groups_do_not_see_each_other(outlying, k):
    rows, files, sample, n_sample = a_batch(outlying=outlying)
    whole = answer_rule(rows, sample, n_sample, 0.99, files=files, n_blocks=k)
    order = np.array([3, 0, 5, 1, 4, 2])
    moved = answer_rule(
        Moments(*(a[order] for a in rows)), sample[order], n_sample[order], 0.99,
        files=Moments(*(a[order] for a in files)), n_blocks=k,
    )  # fmt: skip
    same(moved, pick(whole, order))
    width = whole.block_rows.shape[1]
    for g in range(6):
        part = slice(g, g + 1)
        alone = answer_rule(
            Moments(*(a[part] for a in rows)), sample[part], n_sample[part], 0.99,
            files=Moments(*(a[part] for a in files)), n_blocks=k,
        )  # fmt: skip
        own = alone.block_rows.shape[1]
        expected = pick(whole, part)
        assert own <= width and not expected.block_rows[:, own:].any()
        np.testing.assert_array_equal(alone.block_estimates, expected.block_estimates[:, :own])
        for name in ("estimate", "status", "path_estimate", "path_margin", "file_estimate", "n_screened_out"):
            np.testing.assert_array_equal(getattr(alone, name), getattr(expected, name), err_msg=name)
        same(alone.intervals, expected.intervals)


def test_portions_do_not_matter(monkeypatch):
    rows, files, sample, n_sample = a_batch(outlying="files", n=12_000)
    whole = answer_rule(rows, sample, n_sample, 0.99, files=files)
    assert whole.files_first.all()
    monkeypatch.setattr("distmom.inference.adaptive.CELLS_AT_ONCE", 300)
    monkeypatch.setattr("distmom.inference.steps.LEVELS_AT_ONCE", 300)
    same(answer_rule(rows, sample, n_sample, 0.99, files=files), whole)


def transform(moments, a, b=0.0):
    return Moments(
        moments.count, np.where(moments.count > 0, a * moments.mean + b, 0.0), moments.m2 * (a * a)
    )


@pytest.mark.parametrize("k", ["auto", 7, 21])
@pytest.mark.parametrize("outlying", ["none", "rows", "files", "infinite"])
def test_scale_by_a_power_of_two_is_exact(outlying, k):
    rows, files, sample, n_sample = a_batch(outlying=outlying)
    plain = answer_rule(rows, sample, n_sample, 0.99, files=files, n_blocks=k)
    factor = 2.0**-7
    scaled = answer_rule(
        transform(rows, factor), sample * factor, n_sample, 0.99, files=transform(files, factor), n_blocks=k
    )
    np.testing.assert_array_equal(scaled.status, plain.status)
    for name in (
        "estimate",
        "plain_estimate",
        "path_estimate",
        "path_margin",
        "block_estimates",
        "file_estimate",
    ):
        np.testing.assert_array_equal(getattr(scaled, name), factor * getattr(plain, name), err_msg=name)
    for name in ("order_low", "order_high", "cantelli_low", "cantelli_high", "cantelli_centre"):
        np.testing.assert_array_equal(
            getattr(scaled.intervals, name), factor * getattr(plain.intervals, name)
        )


@pytest.mark.parametrize("k", ["auto", 7])
@pytest.mark.parametrize("outlying", ["none", "rows", "files"])
def test_shift_and_mirror(outlying, k):
    """Odd numbers of blocks throughout: the lower median is the middle one, and mirrors."""
    rows, _, sample, n_sample = a_batch(distribution="normal", outlying=outlying, n=105 * 20)
    plain = answer_rule(rows, sample, n_sample, 0.99, files=None, n_blocks=k)
    assert (plain.n_blocks % 2 == 1).all()
    moved = answer_rule(transform(rows, 1.0, 64.0), sample + 64.0, n_sample, 0.99, n_blocks=k)
    np.testing.assert_array_equal(moved.status, plain.status)
    np.testing.assert_allclose(moved.estimate, plain.estimate + 64.0, rtol=0, atol=1e-9)
    np.testing.assert_allclose(
        moved.intervals.cantelli_low, plain.intervals.cantelli_low + 64.0, rtol=0, atol=1e-9
    )
    mirror = answer_rule(transform(rows, -1.0), -sample, n_sample, 0.99, n_blocks=k)
    np.testing.assert_array_equal(mirror.status, plain.status)
    for got, want in (
        (mirror.estimate, -plain.estimate),
        (mirror.intervals.order_low, -plain.intervals.order_high),
        (mirror.intervals.cantelli_high, -plain.intervals.cantelli_low),
    ):
        np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-14)
