"""How much of mean and variance few extreme rows account for: the mean without them, whatever they are."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from distmom.inference.share.windows import Windows, mean_of, sd_of
from distmom.numerics.arrays import Floats

SHARES = (0.0001, 0.001, 0.01, 0.05)
"""Shares of extremes for which the mean without them is shown."""


@dataclass(frozen=True)
class WithoutExtremes:
    """The mean without a share of the rows, and how much of the variance and mean they account for.

    Attributes
    ----------
    share : float
        Rows left out, as a share; the window of least variance decides which.
    mean : float
        Mean of the rest.
    ends : tuple of float
        Its least and greatest row.
    of_variance, of_mean : float
        Share of the sample's variance, and of its mean, removed; NaN if the whole has none or overflows.
    """

    share: float
    mean: float
    ends: tuple[float, float]
    of_variance: float
    of_mean: float


def without_extremes(y_sorted: Floats, shares: tuple[float, ...] = SHARES) -> tuple[WithoutExtremes, ...]:
    """Show how much of mean and variance few extreme rows account for.

    Parameters
    ----------
    y_sorted : ndarray of float64
        Sorted finite rows; without any, the result is empty.
    shares : tuple of float
        Shares of rows to leave out, below one half each; rounded up to whole rows.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.append(np.arange(990.0), np.full(10, 1e6))
    >>> one = without_extremes(x, (0.01,))[0]
    >>> one.mean, one.ends, round(one.of_mean, 2)
    (494.5, (0.0, 989.0), 0.95)
    """
    y, m = y_sorted, y_sorted.size
    if not m:
        return ()
    numbers = [min(math.ceil(share * m - 1e-9), (m - 1) // 2) for share in shares]
    windows = Windows(y, max(numbers, default=0))
    mean, sd = mean_of(y), sd_of(y)
    found = []
    for share, t in zip(shares, numbers, strict=True):
        best = windows.best(t)
        kept = y[best.low : m - best.high]
        # the variance and the sum of the whole that the kept rows contribute, about the mean of the whole
        with np.errstate(over="ignore", invalid="ignore"):
            around = float(np.square(kept - mean).sum()) / m
        of_variance = 1.0 - around / sd**2 if 0.0 < sd < 1e154 else math.nan
        rest = mean_of(kept)
        of_mean = 1.0 - rest * (kept.size / m) / mean if mean and math.isfinite(mean) else math.nan
        found.append(WithoutExtremes(share, rest, (float(kept[0]), float(kept[-1])), of_variance, of_mean))
    return tuple(found)
