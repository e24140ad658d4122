"""The loop: start, step, end."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np

from distmom.numerics.arrays import Floats
from distmom.numerics.median import lower_median
from distmom.solvers import status
from distmom.solvers.aggregators import AGGREGATORS, Aggregator, Chosen
from distmom.solvers.blocks import BlockOracle
from distmom.solvers.held_out import HeldOut
from distmom.solvers.projections import Projection, unconstrained
from distmom.solvers.state import NORMS, DescentState
from distmom.solvers.status import DescentStatus
from distmom.solvers.step_sizes import Decaying, StepSize

MOST_INFINITE = 5
"""Steps in a row without a finite loss that end a descent: one may hit too many outlying blocks."""

MOST_IDLE = 100
"""Steps in a row without a move (zero gradients, or no usable block) that end a descent."""


@dataclass(frozen=True)
class Descent:
    """The rules of each step: a gradient longer than `clip` running median lengths is shortened."""

    aggregator: Aggregator = AGGREGATORS["median_block"]
    step_size: StepSize = field(default_factory=lambda: Decaying(0.1))
    projection: Projection = unconstrained
    clip: float = 3.0
    averaging: str = "mean"  # of the last half of the iterates; or "geometric_median"; "none" takes the last

    def begin(self, start: Floats) -> DescentState:
        """The state before the first step."""
        start = self.projection(np.array(start, np.float64))
        return DescentState(0, start, self.step_size.begin(start.size))

    def step(self, state: DescentState, blocks: BlockOracle) -> DescentStatus | None:
        """One step, in place; a status if it cannot be made."""
        usable = blocks.usable
        moved = False
        chosen = Chosen(float("nan"), np.zeros_like(state.x), -2)
        if usable.any():
            chosen = self.aggregator.choose(blocks, state.x)
            if np.isfinite(chosen.loss) and np.isfinite(chosen.gradient).all():
                moved = self._move(state, blocks, chosen)
                state.infinite = 0
                if not np.isfinite(state.x).all():
                    return status.DIVERGED
            else:
                chosen = Chosen(float("inf"), np.zeros_like(state.x), -2)
                state.infinite += 1
                if state.infinite >= MOST_INFINITE:
                    return status.NO_FINITE_LOSS
        history = state.history
        history.objective.append(chosen.loss)
        history.block.append(chosen.block)
        history.gradient_norm.append(_length(chosen.gradient))
        history.skipped.append(int(usable.size - usable.sum()))
        state.idle = 0 if moved else state.idle + 1
        state.iterates.add(state.x)
        state.step += 1
        return None

    def _move(self, state: DescentState, blocks: BlockOracle, chosen: Chosen) -> bool:
        """Step along the clipped gradient; whether the point moved.

        The first gradient is compared with those of the other blocks, since there is nothing else.
        """
        if not state.norms.size and np.isfinite(self.clip):
            every = blocks.gradients(state.x, np.flatnonzero(blocks.usable).tolist())
            norms = np.array([_length(gradient) for gradient in every])
            state.norms = norms[np.isfinite(norms) & (norms > 0.0)][:NORMS]
        gradient = self._clipped(state, chosen.gradient)
        x = state.x

        def along(share: float) -> tuple[float, float]:
            there = self.projection(x - share * gradient)
            away = there - x
            return self.aggregator.objective(blocks, there), float(away @ away)

        rule, memory = self.step_size, state.memory
        step, state.memory = rule.displacement(memory, gradient, state.step, chosen.loss, along)
        with np.errstate(over="ignore", invalid="ignore"):
            target = x - step
        state.x = self.projection(target) if np.isfinite(target).all() else target
        return bool((state.x != x).any())

    def _clipped(self, state: DescentState, gradient: Floats) -> Floats:
        norm = _length(gradient)
        if norm == 0.0:
            return gradient
        state.norms = np.append(state.norms, norm)[-NORMS:]
        most = self.clip * float(lower_median(state.norms))
        return gradient if norm <= most else gradient * (most / norm)

    def averaged(self, state: DescentState) -> Floats:
        """The average of the iterates so far."""
        if self.averaging == "none" or state.iterates.count == 0:
            return state.x
        return self.projection(state.iterates.last_half(self.averaging))

    def look(self, state: DescentState, held_out: HeldOut) -> bool:
        """Compare with the best point so far on the held-out blocks, in place; whether to go on."""
        x = self.averaged(state)
        losses = held_out.losses(x)
        if held_out.recorded:
            state.history.held_out_step.append(state.step)
            state.history.held_out.append(float(lower_median(losses)))
        if held_out.improved(losses, state.best_losses):
            state.best, state.best_losses, state.since_best = x, losses, 0
        else:
            state.since_best += 1
        if state.since_best < held_out.patience:
            return True
        return held_out.persistent and not held_out.optimal(_best(self, state, held_out))


@dataclass(frozen=True)
class DescentOutcome:
    """The result of a descent: `x` is the best averaged point on held-out blocks, or the last one."""

    x: Floats
    status: DescentStatus
    state: DescentState


def descend(
    descent: Descent,
    steps: Iterator[BlockOracle],
    state: DescentState,
    n_steps: int,
    held_out: HeldOut | None = None,
    after: Callable[[DescentState], None] | None = None,
) -> DescentOutcome:
    """Take steps on blocks until one ends the descent, at most `n_steps` in all, the state's own included.

    The state, from `Descent.begin` or a checkpoint, is changed; `after` is called with it after each step.

    Notes
    -----
    Cost per step: the losses of all blocks and one gradient (all gradients for the combining aggregators).
    Memory: p numbers for each of at most 32 sums of iterates.
    """
    end: DescentStatus | None = None
    done = held_out is not None and not state.step and held_out.persistent and _at_a_kink(held_out, state)
    while end is None and state.step < n_steps:
        end = descent.step(state, next(steps))
        if end is None and done:
            end = status.CONVERGED
        if end is None and state.idle >= MOST_IDLE:
            end = status.STATIONARY if state.history.block[-1] != -2 else status.ALL_SKIPPED
        if end is None and held_out is not None and state.step % held_out.every == 0:
            end = None if descent.look(state, held_out) else status.CONVERGED
        if end is None and after is not None:
            after(state)
    if end is None:
        watched = held_out is not None and state.best is not None
        end = status.ALL_STEPS
        if watched:
            end = status.CONVERGED if state.since_best > 1 else status.STILL_IMPROVING
    x = _best(descent, state, held_out)
    if held_out is not None and end.good:
        end = judged(end, held_out, x)
    return DescentOutcome(x, end, state)


def _at_a_kink(held_out: HeldOut, state: DescentState) -> bool:
    """Whether the start, which is kept then, loses nothing while slopes lead away from it."""
    found = held_out.lossless(state.x) and not held_out.at_rest(state.x)
    if found:
        state.best, state.best_losses = state.x, held_out.losses(state.x)
    return found


def judged(end: DescentStatus, held_out: HeldOut, x: Floats) -> DescentStatus:
    """The status in the light of the gradient: at a minimum the gradient is noise, elsewhere it is not.

    Without held-out blocks other rows may be used to judge it.
    """
    if held_out.judged_in is None:
        return end
    if held_out.optimal(x):
        return end if end is status.STATIONARY else status.CONVERGED
    return end if end is status.STILL_IMPROVING else status.NOT_CONVERGED


def _best(descent: Descent, state: DescentState, held_out: HeldOut | None) -> Floats:
    """The point that was best on the held-out blocks, the last one included; the state stays as it is."""
    last = descent.averaged(state)
    if held_out is None or state.best is None or held_out.improved(held_out.losses(last), state.best_losses):
        return last
    if held_out.persistent and not held_out.optimal(state.best) and held_out.optimal(last):
        return last
    return state.best


def _length(x: Floats) -> float:
    """Euclidean norm, without overflow of the squares."""
    scale = float(np.abs(x).max(initial=0.0))
    if scale == 0.0 or not np.isfinite(scale):
        return scale
    z = x / scale
    return scale * float(np.sqrt(z @ z))
