"""Euclidean projections on the sets that parameters may have to lie in."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from distmom.numerics.arrays import Floats
from distmom.numerics.linalg.nearest import nearest_psd

Projection = Callable[[Floats], Floats]
"""Gives the nearest point of a set: the point itself where it lies in the set."""


def unconstrained(x: Floats) -> Floats:
    """The whole space: the point itself."""
    return x


def psd_cone(x: Floats) -> Floats:
    """Symmetric positive semi-definite matrices, row after row in a vector: negative eigenvalues become 0.

    Examples
    --------
    >>> import numpy as np
    >>> psd_cone(np.array([1.0, 2.0, 2.0, 1.0])).round(12).tolist()
    [1.5, 1.5, 1.5, 1.5]
    """
    side = round(float(np.sqrt(x.size)))
    return nearest_psd(x.reshape(side, side)).ravel()


def ball(x: Floats, radius: float) -> Floats:
    """Points whose Euclidean norm is at most `radius`: those outside are drawn to the sphere."""
    norm = float(np.linalg.norm(x))
    return x if norm <= radius else np.asarray(x * (radius / norm))


def simplex(x: Floats) -> Floats:
    """Non-negative coordinates that sum to 1: what is subtracted from all is found by sorting them.

    References
    ----------
    Held, Wolfe & Crowder (1974), Validation of subgradient optimization.
    """
    if x.min() >= 0.0 and abs(float(x.sum()) - 1.0) <= 1e-15:
        return x
    falling = np.sort(x)[::-1]
    excess = (np.cumsum(falling) - 1.0) / np.arange(1, x.size + 1)
    last = int(np.flatnonzero(falling > excess)[-1])
    return np.asarray(np.maximum(x - excess[last], 0.0))
