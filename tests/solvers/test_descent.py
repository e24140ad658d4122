"""Solvers on problems with known minima: every step size, projection, aggregator and ending."""

import numpy as np
import pytest
from problems import Problem, Quadratics, problems

from distmom.solvers.aggregators import AGGREGATORS
from distmom.solvers.descent import Descent, descend
from distmom.solvers.held_out import HeldOut
from distmom.solvers.state import DescentState
from distmom.solvers.step_sizes import Adam, Backtracking, Decaying

STEP_SIZES = [Decaying(0.2, np.inf), Decaying(0.5), Adam(0.3), Backtracking(1.0)]
ROBUST = [name for name in AGGREGATORS if name != "plain"]


def solve(problem: Problem, n_steps: int = 400, **settings):
    descent = Descent(projection=problem.projection, **settings)
    state = descent.begin(np.zeros(problem.minimum.size))
    return descend(descent, problem.steps(1), state, n_steps)


@pytest.mark.parametrize("problem", problems(0), ids=lambda p: p.name)
@pytest.mark.parametrize("step_size", STEP_SIZES, ids=repr)
@pytest.mark.one_in(3)
def test_every_step_size_finds_the_minimum_on_every_set(problem, step_size):
    if isinstance(step_size, Adam) and problem.name == "simplex":
        pytest.skip("a step with other units in each coordinate does not end where the projection should")
    found = solve(problem, step_size=step_size)
    assert found.status.name == "all steps taken"
    assert np.abs(found.x - problem.minimum).max() < 0.02
    assert np.allclose(problem.projection(found.x), found.x, atol=1e-12)


@pytest.mark.parametrize("aggregator", ROBUST)
@pytest.mark.parametrize("averaging", ["mean", "geometric_median", "none"])
@pytest.mark.one_in(6)
def test_robust_aggregators_do_not_see_four_outlying_blocks_of_eleven(aggregator, averaging):
    problem = problems(4)[0]
    found = solve(problem, aggregator=AGGREGATORS[aggregator], averaging=averaging, step_size=Decaying(0.5))
    assert np.abs(found.x - problem.minimum).max() < 0.05


def test_the_sample_mean_is_moved_by_a_single_outlying_block():
    """The negative control."""
    problem = problems(1)[0]
    found = solve(problem, aggregator=AGGREGATORS["plain"], step_size=Decaying(0.5))
    assert np.abs(found.x - problem.minimum).max() > 100.0


def test_the_median_block_is_the_lower_median_and_equal_losses_go_by_number():
    one = np.eye(1)
    chosen = AGGREGATORS["median_block"].choose
    assert chosen(Quadratics(np.array([[4.0], [1.0], [2.0], [3.0]]), one), np.zeros(1)).block == 2
    assert chosen(Quadratics(np.array([[5.0], [1.0], [-1.0], [1.0]]), one), np.zeros(1)).block == 2
    unusable = Quadratics(np.array([[4.0], [1.0], [2.0]]), one, np.array([False, True, True]))
    assert chosen(unusable, np.zeros(1)).block == 1


def test_an_infinite_loss_of_half_of_the_blocks_ends_with_advice():
    problem = problems(0)[0]
    centres = np.tile(problem.centre, (11, 1))
    centres[:6] = np.inf
    descent = Descent()
    state = descent.begin(np.zeros(3))
    with np.errstate(invalid="ignore"):
        found = descend(descent, iter([Quadratics(centres, np.eye(3))] * 10), state, 10)
        assert found.state.history.block == [-2] * 4 and found.state.history.objective == [np.inf] * 4
        assert (found.status.name, found.status.good) == ("no finite loss", False)
        centres[5] = problem.centre
        found = descend(descent, iter([Quadratics(centres, np.eye(3))]), descent.begin(np.zeros(3)), 1)
    assert found.status.good and np.isfinite(found.x).all()


def test_a_first_gradient_that_is_huge_is_clipped_like_any_other():
    centres = np.ones((11, 1))
    curvature = np.eye(1)

    class Blind(Quadratics):
        """All losses are equal, so the one in the middle is chosen, whose gradient is outlying."""

        def losses(self, x):
            return np.zeros(11)

        def gradients(self, x, blocks):
            return np.array([[-1e9 if block == 5 else -1.0] for block in blocks])

    descent = Descent(step_size=Decaying(1.0, np.inf))
    found = descend(descent, iter([Blind(centres, curvature)]), descent.begin(np.zeros(1)), 1)
    assert found.x.tolist() == [3.0]
    loose = Descent(step_size=Decaying(1.0, np.inf), clip=np.inf)
    assert descend(loose, iter([Blind(centres, curvature)]), loose.begin(np.zeros(1)), 1).x[0] == 1e9


def test_blocks_that_say_nothing_are_counted_and_the_rest_decides():
    problem = problems(0)[0]

    def steps():
        for blocks in problem.steps(1):
            usable = np.ones(11, np.bool_)
            usable[:3] = False
            yield Quadratics(blocks.centres, blocks.curvature, usable)

    descent = Descent(step_size=Decaying(0.5))
    found = descend(descent, steps(), descent.begin(np.zeros(3)), 200)
    assert found.state.history.skipped == [3] * 200
    assert min(found.state.history.block) == 3
    assert np.abs(found.x - problem.minimum).max() < 0.05


def test_no_usable_block_at_all_ends_with_advice():
    none = Quadratics(np.ones((3, 1)), np.eye(1), np.zeros(3, np.bool_))
    descent = Descent()
    found = descend(descent, iter([none] * 500), descent.begin(np.zeros(1)), 500)
    assert found.status.name == "no usable block" and not found.status.good
    assert found.state.history.block == [-2] * 100


def test_a_zero_gradient_is_stationary():
    flat = Quadratics(np.zeros((3, 1)), np.eye(1))
    descent = Descent()
    assert descend(descent, iter([flat] * 500), descent.begin(np.zeros(1)), 500).status.name == "stationary"


def test_a_step_too_large_is_told_and_not_returned_as_nan():
    descent = Descent(step_size=Decaying(1e200, np.inf), clip=np.inf)
    steps = iter([Quadratics(np.full((3, 1), 1.0), np.eye(1))] * 9)
    with np.errstate(over="ignore"):
        found = descend(descent, steps, descent.begin(np.zeros(1)), 9)
    assert found.status.name in ("diverged", "no finite loss") and not found.status.good


def test_held_out_blocks_stop_and_give_the_best_point():
    problem = problems(4)[0]
    fixed = next(problem.steps(9))
    descent = Descent(step_size=Decaying(0.5))
    found = descend(
        descent, problem.steps(1), descent.begin(np.zeros(3)), 5000, HeldOut(fixed, every=10, patience=3)
    )
    assert found.status.name == "converged" and found.state.step < 2000
    assert np.abs(found.x - problem.minimum).max() < 0.05
    early = descend(descent, problem.steps(1), descent.begin(np.zeros(3)), 20, HeldOut(fixed, every=10))
    assert early.status.name == "still improving"


def test_a_state_goes_on_with_the_same_bits():
    problem = problems(4)[0]
    for step_size in STEP_SIZES:
        descent = Descent(step_size=step_size)
        fixed = HeldOut(next(problem.steps(9)), every=7, patience=99)
        whole = descend(descent, problem.steps(1), descent.begin(np.zeros(3)), 150, fixed)
        steps = problem.steps(1)
        half = descend(descent, steps, descent.begin(np.zeros(3)), 70, fixed)
        state = DescentState.from_arrays(half.state.to_arrays(), half.state)
        rest = descend(descent, steps, state, 150, fixed)
        assert rest.state.x.tobytes() == whole.state.x.tobytes()
        assert rest.state.history == whole.state.history and rest.x.tobytes() == whole.x.tobytes()
        assert rest.state.iterates.last_half("mean").tobytes() == (
            whole.state.iterates.last_half("mean").tobytes()
        )
