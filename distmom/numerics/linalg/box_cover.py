"""Points that cover a box: every point of the box is near one of them."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from distmom.numerics.arrays import Floats


def box_cover(edges: Sequence[tuple[float, float]], epsilon: float) -> list[Floats]:
    """Coordinates along each axis of a grid that covers a box.

    Parameters
    ----------
    edges : sequence of (low, high)
        Ends of each axis.
    epsilon : float
        No point of the box is farther than this from its nearest grid point (Euclidean).

    Returns
    -------
    list of ndarray
        The centres of equal cells, whose half diagonal is at most epsilon.

    Examples
    --------
    >>> [axis.tolist() for axis in box_cover([(0.0, 4.0), (1.0, 1.0)], 1.0)]
    [[1.0, 3.0], [1.0]]
    """
    wide = sum(high > low for low, high in edges)
    step = 2.0 * epsilon / math.sqrt(max(wide, 1))
    axes = []
    for low, high in edges:
        k = max(1, math.ceil((high - low) / step * (1.0 - 1e-12)))
        axes.append(low + (high - low) * (np.arange(k) + 0.5) / k)
    return axes
