"""Moments and their merging against exact arithmetic, and every compiled kernel against its NumPy twin."""

from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from distmom.numerics.blocks.block_state import MANY_CELLS
from distmom.numerics.blocks.moments import Moments

finite = st.floats(-1e6, 1e6, allow_nan=False).map(float)
outlying = st.sampled_from([np.inf, -np.inf, np.nan, 1.7e308, -1.7e308, 0.0, 1.0])


def moments_of(values) -> Moments:
    """Slow twin: exact rational arithmetic; the rule of plain addition where a value is not finite."""
    n = len(values)
    if n == 0:
        return Moments.empty(1)
    if not np.isfinite(values).all():
        with np.errstate(invalid="ignore"):
            mean = float(np.sum(values))
        return Moments(np.array([n]), np.array([mean]), np.array([np.nan]))
    exact = [Fraction(v) for v in values]
    mean = sum(exact) / n
    m2 = sum((v - mean) ** 2 for v in exact)
    return Moments(np.array([n]), np.array([float(mean)]), np.array([float(m2)]))


def same_bits(a: Moments, b: Moments) -> bool:
    return all(u.dtype == v.dtype and np.array_equal(u, v, equal_nan=True) for u, v in zip(a, b, strict=True))


@given(st.lists(finite, max_size=20), st.lists(finite, max_size=20))
def test_merging_gives_the_moments_of_the_union(left, right):
    got = moments_of(left).merge(moments_of(right))
    want = moments_of(left + right)
    scale = 1.0 + float(np.abs([0.0, *left, *right]).max())
    assert got.count == want.count
    assert abs(got.mean[0] - want.mean[0]) <= 1e-15 * 4 * scale
    assert abs(got.m2[0] - want.m2[0]) <= 1e-14 * 40 * scale**2


@given(st.lists(st.one_of(finite, outlying), min_size=1, max_size=12), st.integers(0, 12))
def test_compiled_merge_gives_the_same_bits(values, cut):
    values = [v for v in values if abs(v) < 1e300 or not np.isfinite(v)]
    a, b = moments_of(values[:cut]), moments_of(values[cut:])
    assert same_bits(a.merge(b), a.merge(b, compiled=True))


def test_the_kernel_for_many_cells_gives_the_same_bits():
    rng = np.random.default_rng(0)
    a, b = (
        Moments(rng.integers(0, 3, MANY_CELLS), rng.normal(size=MANY_CELLS), rng.random(MANY_CELLS))
        for _ in range(2)
    )
    assert same_bits(a.merge(b), a.merge(b, compiled=True))


def test_an_infinity_ruins_the_mean_in_the_same_way_in_any_order():
    up, down, plain = (moments_of([v]) for v in (np.inf, -np.inf, 3.0))
    assert up.merge(plain).mean[0] == plain.merge(up).mean[0] == np.inf
    assert plain.merge(up).merge(up).mean[0] == np.inf
    assert np.isnan(up.merge(down).mean[0]) and np.isnan(up.merge(down).merge(plain).mean[0])
    assert np.isnan(up.merge(plain).m2[0])
    for compiled in (False, True):
        assert up.merge(Moments.empty(1), compiled=compiled).mean[0] == np.inf


def test_huge_values_of_opposite_sign_do_not_overflow_the_mean():
    a, b = (Moments(np.array([1]), np.array([v]), np.array([0.0])) for v in (1.7e308, -1.7e308))
    for compiled in (False, True):
        got = a.merge(b, compiled=compiled)
        assert got.mean[0] == 0.0 and got.m2[0] == np.inf


def test_a_common_offset_costs_no_digits():
    parts = [moments_of([v]) for v in (1e9, 1e9 + 1, 1e9 + 2)]
    both = parts[0].merge(parts[1]).merge(parts[2])
    assert both.m2[0] == 2.0
    constant = Moments(np.full(4, 5), np.full(4, 22642751.1), np.zeros(4))
    whole = constant.total()
    assert (whole.count, whole.mean, whole.m2) == (20, 22642751.1, 0.0)


@given(
    st.lists(
        st.lists(st.one_of(finite, outlying.filter(lambda v: not abs(v) > 1e300 or np.isinf(v))), max_size=6),
        max_size=8,
    )
)
def test_total_is_the_union_of_all_blocks(blocks):
    each = [moments_of(b) for b in blocks]
    stack = Moments.empty(len(blocks))
    for k, one in enumerate(each):
        stack.count[k], stack.mean[k], stack.m2[k] = (a[0] for a in one)
    whole = stack.total()
    fast = stack.at(None).total(compiled=True)
    assert all(np.array_equal(a, b[0], equal_nan=True) for a, b in zip(whole, fast, strict=True))
    want = moments_of([v for b in blocks for v in b])
    assert whole.count == want.count[0]
    np.testing.assert_allclose(whole.mean, want.mean[0], rtol=1e-12, atol=1e-9)
    np.testing.assert_allclose(whole.m2, want.m2[0], rtol=1e-9, atol=1e-3)
