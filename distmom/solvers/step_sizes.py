"""How far to go along a direction."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from distmom.numerics.arrays import Floats

Memory = tuple[Floats, ...]


Path = Callable[[float], tuple[float, float]]
"""For a length s: objective of this step's blocks at the projection of x - s g, squared distance to it."""


@dataclass(frozen=True)
class Decaying:
    """``size / sqrt(1 + t / after)`` times the gradient in step t (from 0); ``after=inf`` keeps the size."""

    size: float
    after: float = 20.0

    def begin(self, n: int) -> Memory:
        """The memory before the first step in `n` dimensions."""
        return ()

    def displacement(
        self, memory: Memory, gradient: Floats, step: int, here: float, along: Path
    ) -> tuple[Floats, Memory]:
        """What to subtract in step 0, 1, …, and the new memory; the objective starts at `here`."""
        return self.size / np.sqrt(1.0 + step / self.after) * gradient, memory


@dataclass(frozen=True)
class Adam(Decaying):
    """Adam (Kingma & Ba 2015): means of gradients over roots of means of their squares, by coordinate.

    The size falls as in `Decaying`; ``after=inf`` keeps it. Each coordinate has its own scale, so with a
    projection it need not end at the minimum on the set.
    """

    first: float = 0.9
    second: float = 0.999
    least: float = 1e-8

    def begin(self, n: int) -> Memory:  # noqa: D102
        return np.zeros(n), np.zeros(n)

    def displacement(  # noqa: D102
        self, memory: Memory, gradient: Floats, step: int, here: float, along: Path
    ) -> tuple[Floats, Memory]:
        mean = self.first * memory[0] + (1.0 - self.first) * gradient
        square = self.second * memory[1] + (1.0 - self.second) * gradient * gradient
        unbiased = mean / (1.0 - self.first ** (step + 1))
        spread = np.sqrt(square / (1.0 - self.second ** (step + 1)))
        size = self.size / np.sqrt(1.0 + step / self.after)
        return size * unbiased / (spread + self.least), (mean, square)


@dataclass(frozen=True)
class Backtracking:
    """Halve the step until the objective of the same blocks falls enough (Armijo along the projected path).

    The first trial is ``size``, later ones twice the step taken last. Costs one evaluation of the losses per
    trial. Enough is ``slope`` times squared distance over step.
    """

    size: float
    slope: float = 0.1
    trials: int = 40

    def begin(self, n: int) -> Memory:  # noqa: D102
        return (np.array([0.5 * self.size]),)

    def displacement(  # noqa: D102
        self, memory: Memory, gradient: Floats, step: int, here: float, along: Path
    ) -> tuple[Floats, Memory]:
        share = 2.0 * float(memory[0][0])
        for _ in range(self.trials):
            value, moved = along(share)
            if value <= here - self.slope * moved / share:
                return share * gradient, (np.array([share]),)
            share *= 0.5
        return np.zeros_like(gradient), memory


StepSize = Decaying | Backtracking
"""Rules; their memory is a tuple of arrays."""
