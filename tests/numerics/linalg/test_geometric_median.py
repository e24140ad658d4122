"""The geometric median against a slow solver of 50 digits, its symmetries, layouts that divide by zero."""

from __future__ import annotations

from decimal import Decimal, getcontext

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from distmom.numerics.linalg.geometric_median import geometric_median
from distmom.numerics.median import lower_median

getcontext().prec = 50


def slow_median(points, weights=None) -> np.ndarray:
    """Weiszfeld's iteration alone, in 50 digits, after every point was asked whether it is the minimum."""
    x = [[Decimal(float(v)) for v in p] for p in points]
    w = [Decimal(float(v)) for v in (np.ones(len(x)) if weights is None else weights)]

    def pull(y):
        down, stiff, here = [Decimal(0)] * len(y), Decimal(0), Decimal(0)
        for p, a in zip(x, w, strict=True):
            away = [u - v for u, v in zip(p, y, strict=True)]
            rho = norm(away)
            if rho == 0:
                here += a
                continue
            stiff += a / rho
            down = [s + a * t / rho for s, t in zip(down, away, strict=True)]
        return down, stiff, here

    for p in x:
        down, _, here = pull(p)
        if norm(down) <= here:
            return np.array([float(v) for v in p])
    y = [sum(c) / len(x) for c in zip(*x, strict=True)]
    for _ in range(4_000):
        down, stiff, here = pull(y)
        step = [d / stiff * (1 - here / norm(down) if here else 1) for d in down]
        y = [v + s for v, s in zip(y, step, strict=True)]
        if norm(down) < Decimal(10) ** -24:
            break
    return np.array([float(v) for v in y])


def norm(v) -> Decimal:
    return sum(t * t for t in v).sqrt()


def mean_distance(points, weights, y) -> float:
    w = np.ones(len(points)) if weights is None else weights
    return float(np.sum(w * np.linalg.norm(points - y, axis=1)) / np.sum(w))


def scale_of(points) -> float:
    return float(np.abs(points - points.mean(axis=0)).max()) or 1.0


@pytest.mark.parametrize("kind", ["heavy tails", "weights", "duplicates", "far from the origin", "flat"])
@pytest.mark.one_in(2)
def test_it_agrees_with_the_slow_solver(kind):
    g = np.random.default_rng(len(kind))
    for _ in range(12):
        n, d = int(g.integers(3, 12)), int(g.integers(2, 5))
        x, w = g.standard_t(2, (n, d)), None
        if kind == "weights":
            w = g.integers(0, 5, n).astype(float)
            w[0] = 1.0
        elif kind == "duplicates":
            x = np.round(2.0 * x)
            x[n // 2 :] = x[: n - n // 2]
        elif kind == "far from the origin":
            x = np.round(1e6 + x, 3)
        elif kind == "flat":  # in a plane of the space
            x = np.concatenate([x, x[:, :1] - 2.0 * x[:, 1:2]], axis=1).round(6)
        found = geometric_median(x, w)
        kept = np.ones(n, bool) if w is None else w > 0
        if len(np.unique(x[kept], axis=0)) < 3:
            continue
        assert found.converged
        scale = scale_of(x)
        # the coordinates are rounded at their own size, 1e6 here and there
        rounding = 1e-15 * np.abs(x).max()
        np.testing.assert_allclose(found.point, slow_median(x, w), rtol=0, atol=1e-12 * scale + rounding)
        assert 0.0 <= found.gap <= 1e-12 * scale + d * rounding


@pytest.mark.parametrize("excess", [1e-3, 1e-9, 1e-12, 1e-15, 0.0, -1e-3])
def test_a_minimum_close_to_a_point_or_on_it(excess):
    """The pull of the others exceeds the weight of a point by a little: the minimum lies that close to it."""
    g = np.random.default_rng(5)
    x = g.normal(size=(13, 5))
    unit = (x[1:] - x[0]) / np.linalg.norm(x[1:] - x[0], axis=1)[:, None]
    w = np.ones(13)
    w[0] = np.linalg.norm(unit.sum(axis=0)) / (1.0 + excess)
    found = geometric_median(x, w)
    assert found.converged and found.gap <= 1e-13
    away = np.linalg.norm(found.point - x[0])
    assert (away == 0.0) if excess <= 0.0 else (away <= 10.0 * excess)
    if excess >= 1e-9:
        assert away > 0.1 * excess


CROSS = np.array([[0.0, 0.0], [1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]])


def test_symmetric_layouts_do_not_divide_by_zero():
    """The mean, where the iteration could start, is a point: Weiszfeld's step is not defined there."""
    found = geometric_median(CROSS)
    assert found.point.tolist() == [0.0, 0.0] and found.converged and found.gap == 0.0
    for x in (CROSS[1:], 2.0 * CROSS[1:] + [[1.0, 1.0]], np.array([[1.0, 1], [-1, 1], [-1, -1], [1, -1]])):
        found = geometric_median(x)
        np.testing.assert_allclose(found.point, x.mean(axis=0), rtol=0, atol=1e-15)
        assert found.converged and found.gap < 1e-14
    simplex = np.eye(7)
    np.testing.assert_allclose(geometric_median(simplex).point, np.full(7, 1.0 / 7.0), rtol=0, atol=1e-15)


def test_one_point_and_equal_points():
    for x in ([[3.0, -0.0]], [[3.0, 0.0]] * 4, [[3.0, 0.0], [3.0, 0.0], [5.0, 7.0]]):
        found = geometric_median(np.array(x))
        assert found.point.tolist() == [3.0, 0.0] and found.gap == 0.0 and found.converged
    assert geometric_median(np.array([[1.0, 1.0], [3.0, 5.0]])).point.tolist() == [2.0, 3.0]
    assert geometric_median(np.array([[1.0, 1.0], [3.0, 5.0]]), np.array([1.0, 1.5])).point.tolist() == [3, 5]


@given(st.lists(st.integers(-50, 50), min_size=1, max_size=12), st.integers(1, 4), st.randoms())
def test_on_a_line_it_is_the_middle_of_the_medians(places, d, shuffler):
    """Slow twin: the median of one dimension, the mean of both where there are two."""
    direction = np.array([3.0, -1.0, 4.0, 2.0])[:d]
    ordered = np.sort(np.array(places, float))
    middle = 0.5 * (ordered[(len(places) - 1) // 2] + ordered[len(places) // 2])
    mixed = list(ordered)
    shuffler.shuffle(mixed)
    found = geometric_median(np.outer(mixed, direction) + 1024.0)
    np.testing.assert_allclose(found.point, middle * direction + 1024.0, rtol=0, atol=1e-12)
    assert found.converged and found.gap < 1e-11
    if len(places) % 2:
        assert found.point.tolist() == (lower_median(ordered) * direction + 1024.0).tolist()


coordinate = st.floats(-100.0, 100.0, allow_subnormal=False).map(lambda v: round(v, 3))
clouds = st.integers(1, 3).flatmap(
    lambda d: st.lists(st.tuples(*[coordinate] * d), min_size=1, max_size=9).map(np.array)
)


@given(clouds, st.randoms(), st.integers(-300, 300))
def test_permutations_and_powers_of_two_change_no_bit(x, shuffler, power):
    order = list(range(len(x)))
    shuffler.shuffle(order)
    found, mixed, scaled = (geometric_median(p) for p in (x, x[order], x * 2.0**power))
    assert mixed.point.tolist() == found.point.tolist() and mixed.gap == found.gap
    assert scaled.point.tolist() == (found.point * 2.0**power).tolist()


@given(clouds, st.integers(0, 2**32 - 1))
def test_shifts_rotations_and_scaling(x, seed):
    """Up to rounding, where the minimum is well determined: not for points that nearly lie on a line."""
    spread = np.linalg.svd(x - x.mean(axis=0), compute_uv=False)
    assume(x.shape[1] == 1 or len(spread) < 2 or spread[1] > 0.05 * spread[0])
    g = np.random.default_rng(seed)
    turn, _ = np.linalg.qr(g.normal(size=(x.shape[1],) * 2))
    shift, factor = g.normal(size=x.shape[1]) * 100.0, g.uniform(0.1, 10.0)
    found = geometric_median(x)
    moved = geometric_median(factor * (x @ turn) + shift)
    np.testing.assert_allclose(moved.point, factor * (found.point @ turn) + shift, rtol=0, atol=1e-8)
    assert found.converged and moved.converged


@given(clouds)
def test_no_place_is_better_by_more_than_the_gap(x):
    found = geometric_median(x)
    here = mean_distance(x, None, found.point)
    others = [
        *x,
        x.mean(axis=0),
        np.median(x, axis=0),
        *(found.point + 1e-3 * step for step in x - found.point),
    ]
    best = min(mean_distance(x, None, y) for y in others)
    assert here - best <= found.gap + 1e-15 * np.abs(x).max(initial=1.0)


def test_the_gap_bounds_what_a_bad_place_loses(monkeypatch):
    """Stopped early, the bound still holds, and is of the size of the loss."""
    import distmom.numerics.linalg.geometric_median as module

    g = np.random.default_rng(3)
    for _ in range(20):
        x = g.standard_t(2, (9, 3))
        best = geometric_median(x)
        with monkeypatch.context() as patch:
            patch.setattr(module, "MOST_ITERATIONS", 1)
            early = geometric_median(x)
        loss = mean_distance(x, None, early.point) - mean_distance(x, None, best.point)
        assert not early.converged or early.gap == best.gap
        assert loss <= early.gap <= max(50.0 * scale_of(x), best.gap)


def test_nearly_half_of_the_points_may_be_anywhere():
    g = np.random.default_rng(0)
    x = g.normal(size=(31, 4))
    clean = geometric_median(x[:16])
    for far in (1e3, 1e30, 1e300):
        x[16:] = far * g.normal(size=(15, 4))
        found = geometric_median(x)
        assert found.converged and np.linalg.norm(found.point - clean.point) < 10.0
        assert found.gap < 1e-9
    assert np.abs(x.mean(axis=0)).max() > 1e290  # the mean is gone


def test_the_whole_range_of_floats():
    with np.errstate(over="raise", invalid="raise", divide="raise"):
        found = geometric_median(np.array([[1.7e308, 1], [-1.7e308, 2], [0, 1e-300], [1, 5], [0, 2.0]]))
        assert found.converged and np.isfinite(found.point).all()
        for size in (1e-160, 1e-315):
            tiny = geometric_median(CROSS[1:] * size)
            assert tiny.converged and np.abs(tiny.point).max() <= 1e-15 * size
        wide = geometric_median(CROSS * 1.7e308)
        assert wide.converged and wide.point.tolist() == [0.0, 0.0]
