"""Targets with a frequent value, such as zeros of visits or of spending, or a limit of a scale.

The median absolute deviation is uninformative for them. A loss that bends early follows either the clump or
the other rows, not the mean of both. Their unit is the root mean square of the distances from the median, and
the loss should bend far out.
"""

from __future__ import annotations

import math

import numpy as np

from distmom.numerics.arrays import Floats

LEAST_SHARE = 0.1
"""Share of the rows that have the most frequent value."""

DRAWN_IN = 5.0
"""Distances are capped at this many median distances of the rows outside the clump."""

BEND = 6.0
"""Units from which Huber's loss is linear."""


def clump(targets: Floats) -> tuple[float, float]:
    """The value that many targets share, and their share of all; 0 if there is no such value.

    Examples
    --------
    >>> clump(np.array([0.0, 0.0, 0.0, 1.5, 2.5])), clump(np.arange(20.0))
    ((0.0, 0.6), (0.0, 0.0))
    """
    values, counts = np.unique(targets[np.isfinite(targets)], return_counts=True)
    if not counts.size:
        return 0.0, 0.0
    most = int(counts.argmax())
    share = int(counts[most]) / targets.size
    return (float(values[most]), share) if share >= LEAST_SHARE and counts[most] > 1 else (0.0, 0.0)


def unit_of(targets: Floats, middle: float, value: float) -> float:
    """Root mean square of the distances from the middle, with a cap on those far out."""
    away = np.abs(targets - middle)
    apart = away[(targets != value) & np.isfinite(away)]
    if not apart.size:
        return 0.0
    drawn = np.minimum(away, DRAWN_IN * float(np.median(apart)))
    return math.sqrt(float((drawn * drawn).mean()))
