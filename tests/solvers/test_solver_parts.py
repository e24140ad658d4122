"""Projections, averages and the rule for stopping, against slow or obvious twins."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from distmom.solvers.held_out import HeldOut
from distmom.solvers.iterates import Iterates
from distmom.solvers.projections import ball, psd_cone, simplex

points = st.lists(st.floats(-5, 5), min_size=1, max_size=6).map(np.array)


@given(points, st.integers(0, 2**32 - 1))
def test_the_simplex_projection_is_nearer_than_other_points_of_the_simplex(x, seed):
    near = simplex(x)
    assert near.min() >= 0.0 and near.sum() == pytest.approx(1.0)
    others = np.random.default_rng(seed).dirichlet(np.ones(x.size), 20)
    assert (((others - x) ** 2).sum(axis=1) >= ((near - x) ** 2).sum() - 1e-9).all()
    assert simplex(near) == pytest.approx(near, abs=1e-12)


def test_the_ball_keeps_what_is_inside():
    inside = np.array([0.3, 0.4])
    assert ball(inside, 1.0) is inside
    assert ball(inside * 10, 1.0) == pytest.approx([0.6, 0.8])


@pytest.mark.parametrize(
    ("matrix", "right"),
    [
        ([[1e-9, 0.0], [0.0, -1e-12]], [[1e-9, 0.0], [0.0, 0.0]]),
        ([[1.0, 2.0], [2.0, 1.0]], [[1.5, 1.5], [1.5, 1.5]]),
        ([[2e-9, 1e-9], [1e-9, 2e-9]], [[2e-9, 1e-9], [1e-9, 2e-9]]),
    ],
)
def test_the_psd_cone_on_matrices_that_broke_other_tools(matrix, right):
    found = psd_cone(np.ravel(matrix)).reshape(2, 2)
    assert found == pytest.approx(np.array(right), rel=1e-12, abs=1e-24)


@pytest.mark.parametrize("count", [1, 2, 31, 32, 33, 64, 65, 100, 1000])
def test_the_last_half_of_the_iterates_is_what_storing_all_of_them_would_give(count):
    g = np.random.default_rng(count)
    walk = g.normal(size=(count, 3)).cumsum(axis=0)
    iterates = Iterates()
    for x in walk:
        iterates.add(x)
    assert len(iterates.sums) <= 32
    first = -(-(count // 2) // iterates.length) * iterates.length
    first = min(first, (len(iterates.sums) - 1) * iterates.length)
    assert abs(first - count / 2) <= max(1, count / 16)
    assert iterates.last_half("mean") == pytest.approx(walk[first:].mean(axis=0))


def test_the_geometric_median_of_iterates_does_not_see_a_few_outlying_ones():
    iterates = Iterates()
    for i in range(32):
        iterates.add(np.array([1e9 if i % 10 == 9 else 1.0]))
    assert iterates.last_half("geometric_median")[0] == pytest.approx(1.0)
    assert iterates.last_half("mean")[0] > 1e6


class Fixed:
    usable = np.ones(5, np.bool_)


@pytest.mark.parametrize(
    ("change", "better"),
    [
        ([-1.0, -1.0, -1.0, 9.0, 9.0], True),
        ([-1.0, -1.0, 0.0, 0.0, 0.0], False),
        ([-1e-6] * 5, False),
        ([-np.inf, -1.0, -1.0, 0.0, 0.0], True),
    ],
)
def test_only_a_fall_in_the_median_over_blocks_is_an_improvement(change, better):
    held_out = HeldOut(Fixed())
    best = np.full(5, 10.0)
    assert held_out.improved(best + np.array(change), best) == better


def test_blocks_that_are_infinite_before_and_after_are_no_change():
    held_out = HeldOut(Fixed())
    best = np.array([np.inf, np.inf, 2.0, 2.0, 2.0])
    assert not held_out.improved(best, best)
    assert held_out.improved(best - 1.0, best)
