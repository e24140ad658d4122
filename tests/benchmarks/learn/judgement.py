"""Whether a learner is worse than another, by the differences of their scores on the same splits.

A difference of means alone says little: with few rows to test on, one row is a hundredth.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

EQUAL = 0.005
"""Differences of scores that are none."""

ERRORS = 2.0
"""Standard errors of a mean difference that may be chance."""


class Lost(NamedTuple):
    """What one learner loses to another: the mean difference over seeds, and its standard error.

    The error of a single difference is infinite, so that it decides nothing.
    """

    mean: float
    error: float

    @property
    def worse(self) -> bool:
        """Whether the mean is beyond what counts as none and beyond chance."""
        return self.mean > EQUAL and self.mean > ERRORS * self.error

    def __str__(self) -> str:
        if not math.isfinite(self.mean):
            return "failed" if self.mean > 0.0 else "the other failed"
        if abs(self.mean) >= 10.0:
            return "> 10" if self.mean > 0.0 else "< −10"
        return f"{self.mean:+.3f} ± " + (f"{self.error:.3f}" if math.isfinite(self.error) else "?")


def lost(ours: Sequence[float], other: Sequence[float]) -> Lost:
    """Of scores of the same seeds; a learner that fails under any has failed, and both failing are equal.

    Examples
    --------
    >>> lost([0.90, 0.91, 0.92], [0.92, 0.93, 0.94]).worse, lost([0.85, 0.95], [0.92, 0.90]).worse
    (True, False)
    """
    failed = [not np.isfinite(scores).all() for scores in (ours, other)]
    if any(failed):
        return Lost((failed[0] - failed[1]) * math.inf if failed[0] != failed[1] else 0.0, 0.0)
    away = np.subtract(other, ours)
    if away.size < 2:
        return Lost(float(away.mean()), math.inf)
    return Lost(float(away.mean()), float(away.std(ddof=1) / math.sqrt(away.size)))
