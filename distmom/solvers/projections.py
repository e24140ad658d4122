"""Euclidean projections onto the sets to which parameters may be constrained."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from distmom.numerics.arrays import Floats
from distmom.numerics.linalg.nearest import nearest_psd

Projection = Callable[[Floats], Floats]
"""Returns the nearest point of a set: the point itself if it is in the set."""


def unconstrained(x: Floats) -> Floats:
    """The whole space: the point itself."""
    return x


def psd_cone(x: Floats) -> Floats:
    """Symmetric positive semi-definite matrices, flattened row by row: negative eigenvalues become 0.

    Examples
    --------
    >>> import numpy as np
    >>> psd_cone(np.array([1.0, 2.0, 2.0, 1.0])).round(12).tolist()
    [1.5, 1.5, 1.5, 1.5]
    """
    side = round(float(np.sqrt(x.size)))
    return nearest_psd(x.reshape(side, side)).ravel()


def ball(x: Floats, radius: float) -> Floats:
    """Points whose Euclidean norm is at most `radius`: those outside are projected onto the sphere."""
    norm = float(np.linalg.norm(x))
    return x if norm <= radius else np.asarray(x * (radius / norm))


def simplex(x: Floats) -> Floats:
    """Non-negative coordinates that sum to 1: the common shift is found by sorting them.

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
