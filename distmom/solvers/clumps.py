"""Targets of which many have one value, as zeros of visits or of spending, or a limit of a scale.

The median absolute deviation says little of them, and a loss that bends early follows the clump or the other
rows, not the mean of both. Their unit is the root mean square of the distances from the median, and a loss
is to bend far out.
"""

from __future__ import annotations

import math

import numpy as np

from distmom.numerics.arrays import Floats

LEAST_SHARE = 0.1
"""Of the rows that have the most frequent value."""

DRAWN_IN = 5.0
"""Distances count as at most so many middle distances, of those that are not of the clump."""

BEND = 6.0
"""Units at which Huber's loss goes straight on."""


def clump(targets: Floats) -> tuple[float, float]:
    """The value that many targets have, and their share; 0 if no value has many.

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
    """Root mean square of the distances from the middle, of which none counts as far out."""
    away = np.abs(targets - middle)
    apart = away[(targets != value) & np.isfinite(away)]
    if not apart.size:
        return 0.0
    drawn = np.minimum(away, DRAWN_IN * float(np.median(apart)))
    return math.sqrt(float((drawn * drawn).mean()))
