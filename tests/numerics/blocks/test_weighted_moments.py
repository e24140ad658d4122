"""Weighted moments: against exact fractions, the unweighted ones, and the twins of the compiled kernels."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from distmom.numerics.blocks.cells import Cells
from distmom.numerics.blocks.labels import (
    chunk_labels,
    file_key,
    label_table,
    labels,
    stored_edges,
    stored_labels,
)
from distmom.numerics.blocks.leaf import LEAF_ROWS, Weights, labelled_moments, leaf_moments
from distmom.numerics.blocks.moments import Moments
from distmom.numerics.blocks.stored import stored_moments
from distmom.numerics.blocks.weighted_moments import LARGEST, SMALLEST, WeightedMoments, plain_rows

SEED = 11
KEY = file_key(SEED, "a.parquet")
TABLES = {k: label_table(SEED, k) for k in (1, 3, 45, 945)}

value = st.floats(-1e6, 1e6, allow_nan=False).map(float)
weight = st.one_of(st.floats(1e-3, 1e3).map(float), st.sampled_from([1e-9, 1e9, 1.0]))
rows = st.lists(st.tuples(value, weight), max_size=12)


def moments_of(pairs) -> WeightedMoments:
    """Slow twin of one block: exact rational arithmetic; plain addition where a value is not finite."""
    out = WeightedMoments.empty(1)
    if not pairs:
        return out
    w = [Fraction(b) for _, b in pairs]
    out.count[0], out.weight[0], out.weight2[0] = len(pairs), float(sum(w)), float(sum(v * v for v in w))
    if not all(np.isfinite(a) for a, _ in pairs):
        with np.errstate(invalid="ignore"):
            out.mean[0] = out.mean2[0] = np.sum([a for a, _ in pairs])
        out.m2[0] = np.nan
        return out
    x = [Fraction(a) for a, _ in pairs]
    mean2 = sum(v * v * a for v, a in zip(w, x, strict=True)) / sum(v * v for v in w)
    out.mean[0] = float(sum(v * a for v, a in zip(w, x, strict=True)) / sum(w))
    out.mean2[0] = float(mean2)
    out.m2[0] = float(sum(v * v * (a - mean2) ** 2 for v, a in zip(w, x, strict=True)))
    return out


def same_bits(a, b) -> bool:
    return all(u.dtype == v.dtype and np.array_equal(u, v, equal_nan=True) for u, v in zip(a, b, strict=True))


def assert_close(got: WeightedMoments, want: WeightedMoments, scale: float) -> None:
    assert np.array_equal(got.count, want.count)
    np.testing.assert_allclose(got.weight, want.weight, rtol=1e-13)
    np.testing.assert_allclose(got.weight2, want.weight2, rtol=1e-13)
    np.testing.assert_allclose(got.mean, want.mean, rtol=1e-12, atol=1e-13 * scale)
    np.testing.assert_allclose(got.mean2, want.mean2, rtol=1e-12, atol=1e-13 * scale)
    np.testing.assert_allclose(
        got.m2, want.m2, rtol=1e-9, atol=1e-13 * scale**2 * max(1.0, float(np.max(want.weight2, initial=0)))
    )


def scale_of(pairs) -> float:
    return 1.0 + max([abs(a) for a, _ in pairs if np.isfinite(a)], default=0.0)


# --- merging


@given(rows, rows)
def test_merging_gives_the_moments_of_the_union(left, right):
    got = moments_of(left).merge(moments_of(right))
    assert_close(got, moments_of(left + right), scale_of(left + right))


@given(st.lists(rows, max_size=6))
def test_total_is_the_union_of_all_blocks(blocks):
    each = [moments_of(b) for b in blocks]
    stack = WeightedMoments.empty(0) if not each else each[0]
    for other in each[1:]:
        stack = stack.joined(other)
    whole = stack.total()
    assert same_bits(whole.at(None), stack.at(None).total(compiled=True))
    flat = [pair for b in blocks for pair in b]
    assert_close(whole.at(None), moments_of(flat), scale_of(flat))


outlying = st.tuples(st.one_of(value, st.sampled_from([np.inf, -np.inf, np.nan])), weight)


@given(st.lists(outlying, min_size=1, max_size=12), st.integers(0, 12))
def test_compiled_merging_gives_the_same_bits(pairs, cut):
    a, b = moments_of(pairs[:cut]), moments_of(pairs[cut:])
    assert same_bits(a.merge(b), a.merge(b, compiled=True))


def test_an_infinity_ruins_the_mean_in_the_same_way_in_any_order():
    up, down, plain = (moments_of([(v, 2.0)]) for v in (np.inf, -np.inf, 3.0))
    for compiled in (False, True):
        assert (
            up.merge(plain, compiled=compiled).mean[0] == np.inf == plain.merge(up, compiled=compiled).mean[0]
        )
        assert np.isnan(up.merge(down, compiled=compiled).mean[0])
        assert up.merge(WeightedMoments.empty(1), compiled=compiled).mean[0] == np.inf


def test_huge_values_of_opposite_sign_do_not_overflow_the_mean():
    a, b = (
        WeightedMoments(np.array([1]), *(np.array([v]) for v in (1.0, x, 1.0, x, 0.0)))
        for x in (1.7e308, -1.7e308)
    )
    for compiled in (False, True):
        got = a.merge(b, compiled=compiled)
        assert got.mean[0] == 0.0 and got.m2[0] == np.inf


# --- what is made of them


@given(st.lists(st.tuples(value, weight), min_size=2, max_size=12))
def test_variance_and_effective_rows_are_their_formulas(pairs):
    """(sum w)^2 / sum w^2, and sum w^2 (x - mean)^2 / (sum w)^2 n/(n - 1), in exact arithmetic."""
    got = moments_of(pairs)
    x, w = [Fraction(a) for a, _ in pairs], [Fraction(b) for _, b in pairs]
    n = sum(w) ** 2 / sum(v * v for v in w)
    mean = sum(v * a for v, a in zip(w, x, strict=True)) / sum(w)
    v = sum(b * b * (a - mean) ** 2 for a, b in zip(x, w, strict=True)) / sum(w) ** 2
    np.testing.assert_allclose(got.effective[0], float(n), rtol=1e-12)
    if n >= 2:
        found = got.row_variance[0] / got.effective[0]
        # the mean is known to a unit in the last place of the values, so its square to that of their range
        slack = 1e-13 * scale_of(pairs) ** 2
        np.testing.assert_allclose(found, float(v * n / (n - 1)), rtol=1e-9, atol=slack)


def test_few_effective_rows_do_not_blow_up_the_variance():
    dominated = moments_of([(0.0, 1e6), (1.0, 1.0), (2.0, 1.0)])
    assert dominated.effective[0] == pytest.approx(1.0, abs=1e-5)
    assert dominated.row_variance[0] < 1e-5
    assert np.isnan(moments_of([(1.0, 3.0)]).row_variance[0])
    assert moments_of([]).effective[0] == 0.0


@pytest.mark.parametrize("unit", [1.0, 2.0**-40, 8.0])
@pytest.mark.one_in(4)
def test_equal_weights_give_the_unweighted_bits(unit):
    """A power of two as the weight of all rows changes no bit: kernels, merging, totals, variances."""
    g = np.random.default_rng(0)
    x, gone = g.standard_t(3, 7_000) + 5.0, g.random(7_000) < 0.05
    x[17] = np.inf
    w = np.full(x.size, unit)
    edges = stored_edges(x.size + 20, 7)
    chunks = chunk_labels(100, x.size, 7, KEY, TABLES[45])
    for mask in (None, gone):
        for compiled in (False, True):
            pairs = [
                (
                    leaf_moments(x, mask, 100, KEY, TABLES[45], compiled=compiled),
                    leaf_moments(x, mask, 100, KEY, TABLES[45], weights=Weights(w), compiled=compiled),
                ),
                (
                    stored_moments(x, mask, 13, edges, compiled=compiled),
                    stored_moments(x, mask, 13, edges, weights=Weights(w), compiled=compiled),
                ),
                _of_cells(x, w, mask, compiled),
                (
                    leaf_moments(x, mask, 100, KEY, TABLES[45], chunk_rows=7, compiled=compiled),
                    labelled_moments(x, w, mask, chunks, 45, compiled=compiled),
                ),
            ]
            for plain, weighted in pairs:
                assert_equal_weights(plain, weighted, unit)
                assert_equal_weights(
                    plain.merge(plain, compiled=compiled), weighted.merge(weighted, compiled=compiled), unit
                )
                assert_equal_weights(plain.total(compiled=compiled), weighted.total(compiled=compiled), unit)


def _of_cells(x, w, mask, compiled):
    places = np.random.default_rng(1).integers(0, 9, x.size)
    found = []
    for cells, weights in ((Cells(compiled=compiled), None), (Cells(weighted=True, compiled=compiled), w)):
        cells.grow(9)
        cells.add(x, mask, places, weights)
        found.append(cells.moments(9))
    return found


def assert_equal_weights(plain: Moments, weighted: WeightedMoments, unit: float) -> None:
    assert np.array_equal(plain.count, weighted.count)
    assert np.array_equal(weighted.weight, plain.count * unit)
    assert np.array_equal(plain.mean, weighted.mean, equal_nan=True)
    assert np.array_equal(plain.mean, weighted.mean2, equal_nan=True)
    assert np.array_equal(plain.m2 * unit * unit, weighted.m2, equal_nan=True)
    assert np.array_equal(plain.effective, weighted.effective)
    assert np.array_equal(plain.row_variance, weighted.row_variance, equal_nan=True)


# --- kernels


def slow_blocks(x, w, gone, blocks, k) -> WeightedMoments:
    """Row by row: the pairs of each block, and their exact moments."""
    first, *others = (
        moments_of([(a, b) for a, b, g, at in zip(x, w, gone, blocks, strict=True) if at == k_ and not g])
        for k_ in range(k)
    )
    for other in others:
        first = first.joined(other)
    return first


leaves = st.tuples(
    st.sampled_from(sorted(TABLES)),
    st.integers(0, 3000),
    st.integers(0, 2500),
    st.integers(0, 2**32 - 1),
    st.sampled_from([0.0, 0.001, 0.05, 0.9, 1.0]),
    st.sampled_from(["normal", "outlying", "infinite", "offset"]),
)


def draw(n, seed, share, kind):
    g = np.random.default_rng(seed)
    x, w = g.normal(size=n), g.lognormal(size=n)
    if kind == "outlying":
        x, w = g.standard_cauchy(n) * 10.0 ** g.integers(-5, 9, n), w * 10.0 ** g.integers(-9, 9, n)
    if kind == "infinite" and n:
        x[g.integers(0, n, 3)] = [np.inf, -np.inf, np.inf]
    if kind == "offset":
        x += 1e9
    gone = g.random(n) < share
    x[gone], w[gone] = np.nan, np.nan
    return x, w, gone


@given(leaves)
def test_leaf_equals_the_twins(case):
    k, first, n, seed, share, kind = case
    x, w, gone = draw(n, seed, share, kind)
    before = x.copy(), w.copy()
    fast = leaf_moments(x, gone, first, KEY, TABLES[k], weights=Weights(w), compiled=True)
    assert all(np.array_equal(a, b, equal_nan=True) for a, b in zip(before, (x, w), strict=True))
    assert same_bits(fast, leaf_moments(x, gone, first, KEY, TABLES[k], weights=Weights(w)))
    if n < 300 and k < 100 and kind != "outlying":
        blocks = labels(first, n, KEY, TABLES[k])
        scale = 1e9 if kind == "offset" else 10.0
        assert_close(fast.at(slice(k)), slow_blocks(x, w, gone, blocks, k), scale)
        assert_close(fast.at(slice(k, None)), slow_blocks(x, w, gone, np.zeros(n, int), 1), scale)
    if not gone.any():
        assert same_bits(fast, leaf_moments(x, None, first, KEY, TABLES[k], weights=Weights(w)))
        assert same_bits(
            fast, leaf_moments(x, None, first, KEY, TABLES[k], weights=Weights(w), compiled=True)
        )


@given(leaves, st.floats(0.0, 1.0))
def test_a_leaf_in_two_parts_has_the_same_bits(case, where):
    k, first, n, seed, share, kind = case
    x, w, gone = draw(n, seed, share, kind)
    cut = int(where * n)
    parts = {"rest": x[cut:], "weights": Weights(w[:cut], w[cut:])}
    edges = stored_edges(first + n + 13, 7)
    for compiled in (False, True):
        whole = leaf_moments(x, gone, first, KEY, TABLES[k], weights=Weights(w), compiled=compiled)
        two = leaf_moments(x[:cut], gone, first, KEY, TABLES[k], **parts, compiled=compiled)
        assert same_bits(whole, two)
        whole = stored_moments(x, gone, first, edges, weights=Weights(w), compiled=compiled)
        assert same_bits(whole, stored_moments(x[:cut], gone, first, edges, **parts, compiled=compiled))


@given(
    n=st.integers(0, 500),
    k=st.integers(1, 40),
    seed=st.integers(0, 99),
    holes=st.booleans(),
    offset=st.sampled_from([0.0, 1e9]),
)
def test_given_blocks_equal_the_row_by_row_twin(n, k, seed, holes, offset):
    x, w, gone = draw(n, seed, 0.3 * holes, "normal")
    x += offset
    at = np.random.default_rng(seed).integers(0, k, n)
    mask = gone if holes else None
    found = [labelled_moments(x, w, mask, at, k, compiled=compiled) for compiled in (False, True)]
    assert same_bits(*found)
    assert_close(found[0].at(slice(k)), slow_blocks(x, w, gone, at, k), max(offset, 10.0))


def test_a_full_leaf_equals_the_twins():
    g = np.random.default_rng(3)
    x, w, gone = g.lognormal(0, 2, LEAF_ROWS), g.lognormal(0, 1, LEAF_ROWS), g.random(LEAF_ROWS) < 0.05
    for mask in (None, gone):
        fast = leaf_moments(x, mask, 5 * LEAF_ROWS, KEY, TABLES[945], weights=Weights(w), compiled=True)
        assert same_bits(fast, leaf_moments(x, mask, 5 * LEAF_ROWS, KEY, TABLES[945], weights=Weights(w)))
        used = slice(None) if mask is None else ~mask
        blocks = labels(5 * LEAF_ROWS, LEAF_ROWS, KEY, TABLES[945])[used]
        total = np.bincount(blocks, w[used], 945)
        np.testing.assert_allclose(
            fast.mean[:945], np.bincount(blocks, (x * w)[used], 945) / total, rtol=1e-12
        )


@pytest.mark.slow
def test_the_second_moment_survives_a_bad_first_shift():
    """Every probed place holds a value far from all other rows, with a tiny weight."""
    n = 31 * 1000
    g = np.random.default_rng(0)
    x, w = 1.0 + g.normal(size=n) * 1e-3, g.uniform(0.5, 1.0, n)
    probed = (np.arange(31) * n) // 31
    x[probed], w[probed] = 1e12, 1e-35
    for compiled in (False, True):
        random = leaf_moments(x, None, 0, KEY, TABLES[45], weights=Weights(w), compiled=compiled)
        stored = stored_moments(x, None, 0, np.array([0, n]), weights=Weights(w), compiled=compiled)
        spread = np.concatenate([random.row_variance[:45], stored.row_variance])
        assert np.all((spread > 0.8e-6) & (spread < 1.2e-6)), spread


def test_constants_have_no_spread():
    w = np.random.default_rng(0).lognormal(size=4000)
    for constant in (0.1, 22642751.0, -1e300, 1e-300):
        got = leaf_moments(np.full(4000, constant), None, 7, KEY, TABLES[45], weights=Weights(w))
        assert (got.mean == constant).all() and (got.row_variance == 0.0).all()


@given(st.integers(0, 500), st.integers(0, 400), st.integers(1, 50), st.integers(0, 99), st.booleans())
def test_stored_blocks_equal_the_row_by_row_twin(first, n, k, seed, holes):
    x, w, gone = draw(n, seed, 0.2 * holes, "normal")
    total = first + n + 13
    mask = gone if holes else None
    got = stored_moments(x, mask, first, stored_edges(total, k), weights=Weights(w))
    assert same_bits(
        got, stored_moments(x, mask, first, stored_edges(total, k), weights=Weights(w), compiled=True)
    )
    assert_close(got.at(slice(k)), slow_blocks(x, w, gone, stored_labels(first, n, total, k), k), 10.0)


@given(st.integers(0, 500), st.integers(1, 40), st.integers(0, 2**20), st.booleans(), st.booleans())
def test_cells_equal_the_twins(n, k, seed, holes, infinite):
    x, w, gone = draw(n, seed, 0.3 * holes, "infinite" if infinite else "normal")
    cells = np.random.default_rng(seed).integers(0, k, n)
    found = []
    for compiled in (False, True):
        for parts in ([slice(0, n)], [slice(0, n // 3), slice(n // 3, n)]):
            table = Cells(weighted=True, compiled=compiled)
            table.grow(k)
            for part in parts:
                table.add(x[part], gone[part] if holes else None, cells[part], w[part])
            found.append(table.moments(k))
    assert all(same_bits(found[0], other) for other in found[1:])
    assert_close(found[0], slow_blocks(x, w, gone, cells, k), 10.0)


def test_opposite_huge_values_do_not_overflow_a_cell():
    for compiled in (False, True):
        table = Cells(weighted=True, compiled=compiled)
        table.grow(1)
        table.add(np.array([1.7e308, -1.7e308]), None, np.zeros(2, np.int64), np.full(2, 0.5))
        assert table.moments(1).mean[0] == 0.0 and table.moments(1).m2[0] == np.inf


def test_which_weights_are_plain():
    w = np.array([1.0, SMALLEST, LARGEST])
    odd = np.array([0.0, -0.0, -1.0, SMALLEST / 2, LARGEST * 2, np.inf, np.nan, 3.0])
    assert plain_rows(w) is None
    marked = plain_rows(odd)
    assert marked is not None and marked.tolist() == [False] * 7 + [True]
