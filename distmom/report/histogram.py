"""How the rows of a sample are distributed: counts in bins, on a scale that shows what is far out, too.

Where the range is much wider than the middle half of the rows, the scale is linear near a centre and
logarithmic farther out, on both sides.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from distmom.numerics.arrays import Floats

BINS, FEWEST = 64, 8
"""Most bins, and the fewest."""

WIDE = 30.0
"""A range of more than so many times the middle half of the rows is shown on a scale with logarithms."""

QUARTERS = 0.25, 0.5, 0.75

NEAR_ZERO = 4.0
"""Zero is the centre where the median is at most so many times the middle half away from it."""


@dataclass(frozen=True)
class Histogram:
    """Counts of a sample in bins of equal width on its scale.

    Attributes
    ----------
    low, high : float
        Ends of the first and the last bin.
    counts : tuple of int
    centre, unit : float
        The scale is asinh((x - centre) / unit), or linear where `unit` is infinite.
    """

    low: float
    high: float
    counts: tuple[int, ...]
    centre: float = 0.0
    unit: float = math.inf

    @property
    def linear(self) -> bool:
        """Whether equal distances are equal differences."""
        return math.isinf(self.unit)

    def place(self, value: float) -> float:
        """Where a value lies, as a share of the way from `low` to `high`."""
        x, low, high = (self._on_scale(one) for one in (value, self.low, self.high))
        return (x - low) / (high - low)

    def _on_scale(self, value: float) -> float:
        return value if self.linear else math.asinh(value / self.unit - self.centre / self.unit)


def histogram(y_sorted: Floats) -> Histogram | None:
    """Count the rows of a sample in bins.

    Parameters
    ----------
    y_sorted : ndarray of float64
        Sorted finite values; if all are equal, or the range exceeds that of float64 (or does so in
        widths of the middle half), there is no histogram.

    Examples
    --------
    >>> import numpy as np
    >>> found = histogram(np.arange(640.0))
    >>> found.linear, found.counts[:3], found.place(639.0)
    (True, (10, 10, 10), 1.0)
    >>> histogram(np.append(np.arange(640.0), 1e9)).linear
    False
    """
    y = y_sorted
    if not y.size or y[0] == y[-1] or not math.isfinite(float(y[-1]) - float(y[0])):
        return None
    new = y[1:] != y[:-1]
    n_bins = min(BINS, max(FEWEST, 1 + int(np.count_nonzero(new))))
    low, high = float(y[0]), float(y[-1])
    first, centre, third = (_quantile(y, share) for share in QUARTERS)
    if first == third:  # half of the rows have one value
        first, centre, third = (_quantile(y[np.append(True, new)], share) for share in QUARTERS)
    half = third - first
    if not 0.0 < half * WIDE < high - low:
        edges = np.linspace(low, high, n_bins + 1)
        scale: dict[str, float] = {}
    else:
        centre = 0.0 if abs(centre) <= NEAR_ZERO * half else _rounded(centre, half)
        unit = half / 2.0
        with np.errstate(over="ignore"):
            ends = np.arcsinh(np.array([low, high]) / unit - centre / unit)
        if not np.isfinite(ends).all():
            return None
        edges = np.sinh(np.linspace(ends[0], ends[1], n_bins + 1)) * unit + centre
        scale = {"centre": centre, "unit": unit}
    inner = np.searchsorted(y, edges[1:-1])
    counts = np.diff(inner, prepend=0, append=y.size)
    return Histogram(low, high, tuple(counts.tolist()), **scale)


def _quantile(y_sorted: Floats, share: float) -> float:
    """As `numpy.quantile` has it, without looking for the order."""
    place = (y_sorted.size - 1) * share
    at = math.floor(place)
    low, high = float(y_sorted[at]), float(y_sorted[min(at + 1, y_sorted.size - 1)])
    part = place - at
    return high - (high - low) * (1.0 - part) if part >= 0.5 else low + (high - low) * part


def _rounded(value: float, width: float) -> float:
    """A round number near a value, for the middle tick."""
    unit = 10.0 ** math.floor(math.log10(width))
    return round(value / unit) * unit
