"""Parameters that minimise a loss of the user's own, by robust gradient descent."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from functools import partial
from typing import Any

import numpy as np

from distmom.checks import check_choice, check_positive
from distmom.errors import ConfigError, blaming
from distmom.estimators.learn.learner import Learner
from distmom.estimators.learn.parameters import with_shared_parameters
from distmom.estimators.learn.run import Problem, ScaledSample, Training
from distmom.numerics.arrays import Floats
from distmom.numerics.losses.block_risk import UserRisk
from distmom.solvers.projections import Projection, ball, psd_cone, simplex, unconstrained


@with_shared_parameters
class RobustMinimizer(Learner):
    """Minimise a loss of blocks of rows, or of their pairs, despite outlying rows.

    Parameters
    ----------
    loss : callable
        ``loss(parameters, rows, targets) -> (value, gradient)`` for one block. It takes arrays of shapes
        (p,), (B, d) and (B,) (targets are zeros if there are none), and returns a number and an array of
        shape (p,). Rows are not scaled unless ``scaling="robust"``.
    start : array_like, shape (p,)
        Where to start. The loss should distinguish blocks there: at a point where it is the same for all
        rows, the choice of the median block is arbitrary.
    projection : {"none", "ball", "simplex", "psd"}
        Set that contains the parameters: a ball around 0, the simplex of non-negative numbers that sum to 1,
        or symmetric positive semi-definite matrices, row after row.
    radius : float
        Radius of the ball.
    step_size : float
        A factor of the gradient: there is no natural unit for it. ``step_rule="backtracking"`` finds one.

    Attributes
    ----------
    parameters_ : ndarray, shape (p,)

    Examples
    --------
    The mean, which minimises squared distances:

    >>> import numpy as np
    >>> import distmom as dm
    >>> X = np.random.default_rng(0).normal(size=(2000, 2)) + [3.0, -1.0]
    >>> X[::100] = 1e6
    >>> def squared(mean, rows, targets):
    ...     away = mean - rows
    ...     return (away**2).sum(axis=1).mean() / 2, away.mean(axis=0)
    >>> dm.RobustMinimizer(squared, start=[0, 0], random_state=0).fit(X).parameters_.round(1).tolist()
    [3.0, -1.0]
    """

    _needs_target = False

    loss: Callable[[Floats, Floats, Floats], tuple[float, Floats]] = field(kw_only=False)
    start: Any = field(kw_only=False)
    projection: str = "none"
    radius: float = 1.0
    step_rule: str = "backtracking"
    scaling: str = "none"

    def _settle(self, found: Training) -> None:
        self.parameters_ = found.x

    def _problem(self, sample: ScaledSample) -> Problem:
        check_positive("radius", self.radius)
        sets: dict[str, Projection] = {
            "none": unconstrained,
            "ball": partial(ball, radius=self.radius),
            "simplex": simplex,
            "psd": psd_cone,
        }
        check_choice("projection", self.projection, tuple(sets))
        if not callable(self.loss):
            raise ConfigError(f"loss: must be a function of parameters, rows and targets, not {self.loss!r}")
        start = np.array(self.start, np.float64).ravel()
        if not start.size or not np.isfinite(start).all():
            raise ConfigError("start: must be finite numbers, one for each parameter")
        if self.projection == "psd" and round(start.size**0.5) ** 2 != start.size:
            raise ConfigError(f"start: {start.size} numbers do not make a square matrix")
        self._check_loss(start, sample)
        return Problem(UserRisk(self.loss, start.size), start, 1.0, sets[self.projection])

    def _check_loss(self, start: Floats, sample: ScaledSample) -> None:
        """Refuse a loss that does not return what it should on one block."""
        rows, targets = (part[0] for part in sample.blocks())
        with blaming("loss"):
            found = self.loss(start.copy(), rows, targets)
        if not isinstance(found, tuple) or len(found) != 2:
            raise ConfigError("loss: must return a number and an array, the value and the gradient")
        if np.ndim(found[0]) or np.shape(found[1]) != start.shape:
            raise ConfigError(
                f"loss: must return a number and a gradient of shape {start.shape}, not of shapes "
                f"{np.shape(found[0])} and {np.shape(found[1])}"
            )
