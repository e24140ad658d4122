"""Windows of order statistics: mean and variance of a sorted sample without some extremes."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from distmom.numerics.arrays import Floats


@dataclass(frozen=True)
class Window:
    """A window of order statistics: y[low : m - high]."""

    mean: float
    sd: float
    low: int
    high: int


class Windows:
    """Mean and variance of every window of a sample that leaves out at most `most` rows.

    Parameters
    ----------
    y_sorted : ndarray of float64
        Sorted finite values, m of them.
    most : int
        Largest number of rows that a window leaves out, at most m // 2.

    Notes
    -----
    Sums run from the centre outward, so values far out cost no digits of those inside. Squares that
    overflow make a window's standard deviation infinite.
    """

    def __init__(self, y_sorted: Floats, most: int) -> None:
        self.y, self.most = y_sorted, most
        self.centre = float(y_sorted[y_sorted.size // 2])
        with np.errstate(over="ignore", invalid="ignore"):
            d = y_sorted - self.centre
            below, above, middle = d[:most][::-1], d[d.size - most :], d[most : d.size - most]
            self._below, self._below2 = _sums(below), _sums(below * below)
            self._above, self._above2 = _sums(above), _sums(above * above)
            self._middle, self._middle2 = float(middle.sum()), float(np.square(middle).sum())

    def best(self, t: int) -> Window:
        """Window of least variance among those that leave out t rows; the lowest if several tie.

        Examples
        --------
        >>> import numpy as np
        >>> Windows(np.array([1.0, 2.0, 3.0, 4.0, 1e9]), 1).best(1)
        Window(mean=2.5, sd=1.118033988749895, low=0, high=1)
        """
        low = np.arange(t + 1)
        left, right, size = self.most - low, self.most - t + low, self.y.size - t
        with np.errstate(over="ignore", invalid="ignore"):
            mean = (self._middle + self._below[left] + self._above[right]) / size
            variance = (self._middle2 + self._below2[left] + self._above2[right]) / size - mean * mean
        variance = np.where(np.isfinite(variance), np.maximum(variance, 0.0), np.inf)
        at = int(np.argmin(variance))
        return Window(self.centre + float(mean[at]), math.sqrt(float(variance[at])), at, t - at)


def _sums(x: Floats) -> Floats:
    """Sums of the first 0, 1, 2, … values."""
    return np.concatenate([np.zeros(1), np.cumsum(x)])


def mean_of(x: Floats) -> float:
    """Mean about the middle row; infinite only if that overflows."""
    centre = float(x[x.size // 2])
    with np.errstate(over="ignore", invalid="ignore"):
        return centre + float((x - centre).mean())


def sd_of(x: Floats) -> float:
    """Standard deviation (divisor: the number of rows); infinite if squares overflow."""
    with np.errstate(over="ignore", invalid="ignore"):
        sd = float((x - x[x.size // 2]).std())
    return sd if math.isfinite(sd) else math.inf
