"""Problems with known minima, in the form that a solver asks."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np
from numpy.typing import NDArray

from distmom.solvers.projections import Projection, ball, psd_cone, simplex, unconstrained

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Quadratics:
    """Blocks with loss (x - c_k)^T A (x - c_k) / 2: outlying blocks have their centre elsewhere."""

    centres: Floats
    curvature: Floats
    usable: NDArray[np.bool_] = field(default_factory=lambda: np.ones(0, np.bool_))

    def __post_init__(self) -> None:
        if not self.usable.size:
            object.__setattr__(self, "usable", np.ones(len(self.centres), np.bool_))

    def losses(self, x: Floats) -> Floats:
        away = x - self.centres
        return 0.5 * np.einsum("kd,de,ke->k", away, self.curvature, away)

    def gradients(self, x: Floats, blocks: Sequence[int]) -> Floats:
        return np.stack([self.curvature @ (x - self.centres[block]) for block in blocks])


@dataclass(frozen=True)
class Problem:
    """A stream of blocks around a minimum, `outlying` of 11 blocks of each step far away."""

    name: str
    minimum: Floats
    centre: Floats
    projection: Projection
    outlying: int = 0
    noise: float = 0.01

    def steps(self, seed: int) -> Iterator[Quadratics]:
        g = np.random.default_rng(seed)
        curvature = np.diag(np.linspace(0.5, 2.0, self.centre.size))
        while True:
            centres = self.centre + self.noise * g.normal(size=(11, self.centre.size))
            centres[g.permutation(11)[: self.outlying]] += 1e6
            yield Quadratics(centres, curvature)


def problems(outlying: int) -> list[Problem]:
    """One for each projection; the curvature is diagonal, so that the constrained minima can be told."""
    free = np.array([1.0, -2.0, 3.0])
    # on the simplex: minimise sum a_i (x_i - c_i)^2 / 2 with x_i = c_i - m / a_i, sum 1
    a, c = np.linspace(0.5, 2.0, 3), np.array([0.6, 0.5, 0.4])
    on_simplex = c - (c.sum() - 1.0) / (1.0 / a).sum() / a
    # symmetric matrices are changed as a whole, so entries (0, 1) and (1, 0) share the mean of two curvatures
    return [
        Problem("free", free, free, unconstrained, outlying),
        Problem(
            "ball", np.array([2.0, 0.0, 0.0]), np.array([5.0, 0.0, 0.0]), partial(ball, radius=2.0), outlying
        ),
        Problem("simplex", on_simplex, c, simplex, outlying),
        Problem("psd", np.diag([3.0, 0.0]).ravel(), np.diag([3.0, -2.0]).ravel(), psd_cone, outlying),
    ]
