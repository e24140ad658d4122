"""Euclidean projections on the sets that parameters may have to lie in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from distmom.numerics.arrays import Floats
from distmom.numerics.linalg.nearest import nearest_psd


class Projection(Protocol):
    """Gives the nearest point of a set."""

    def __call__(self, x: Floats) -> Floats:
        """The nearest point; `x` itself where it lies in the set."""
        ...


@dataclass(frozen=True)
class Unconstrained:
    """The whole space."""

    def __call__(self, x: Floats) -> Floats:
        """The point itself."""
        return x


@dataclass(frozen=True)
class PsdCone:
    """Symmetric positive semi-definite matrices, row after row in a vector.

    Examples
    --------
    >>> import numpy as np
    >>> PsdCone()(np.array([1.0, 2.0, 2.0, 1.0])).round(12).tolist()
    [1.5, 1.5, 1.5, 1.5]
    """

    def __call__(self, x: Floats) -> Floats:
        """Negative eigenvalues become 0."""
        side = round(float(np.sqrt(x.size)))
        return nearest_psd(x.reshape(side, side)).ravel()


@dataclass(frozen=True)
class Ball:
    """Points whose Euclidean norm is at most `radius`."""

    radius: float

    def __call__(self, x: Floats) -> Floats:
        """Points outside are drawn to the sphere."""
        norm = float(np.linalg.norm(x))
        return x if norm <= self.radius else np.asarray(x * (self.radius / norm))


@dataclass(frozen=True)
class Simplex:
    """Non-negative coordinates that sum to `total`.

    References
    ----------
    Held, Wolfe & Crowder (1974), Validation of subgradient optimization.
    """

    total: float = 1.0

    def __call__(self, x: Floats) -> Floats:
        """What is subtracted from all coordinates is found by sorting them."""
        if x.min() >= 0.0 and abs(float(x.sum()) - self.total) <= 1e-15 * self.total:
            return x
        falling = np.sort(x)[::-1]
        excess = (np.cumsum(falling) - self.total) / np.arange(1, x.size + 1)
        last = int(np.flatnonzero(falling > excess)[-1])
        return np.asarray(np.maximum(x - excess[last], 0.0))
