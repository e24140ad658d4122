"""The distribution of a sample: counts in bins, with separate bins for outlying rows.

If the range is much wider than the middle half of the rows, rows near the median have bins of equal width,
and rows farther out, below and above, have bins whose distance from the median grows by a factor.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from distmom.numerics.arrays import Floats

BINS, FEWEST, TAIL_BINS = 60, 8, 10
"""Most bins of the middle, the fewest, and those of each outlying part."""

WIDE, REACH = 30.0, 4.0
"""A range of more than this multiple of the middle half of the rows has outlying parts; these begin at this
multiple of the middle half from the median."""

QUARTERS = 0.25, 0.5, 0.75


@dataclass(frozen=True)
class Tail:
    """Rows outside the middle, on one side.

    Attributes
    ----------
    near, far : float
        Ends of its first and its last bin: `far` is the most distant value.
    centre : float
        The bins have equal width in the logarithm of the distance from here.
    counts : tuple of int
        Counts from `near` to `far`.
    """

    near: float
    far: float
    centre: float
    counts: tuple[int, ...]

    def place(self, value: float) -> float:
        """Position of a value, as a share of the way from `near` to `far`."""
        first, last, at = (abs(end - self.centre) for end in (self.near, self.far, value))
        return math.log(at / first) / math.log(last / first) if last > first else 1.0


@dataclass(frozen=True)
class Histogram:
    """Counts of a sample in bins.

    Attributes
    ----------
    low, high : float
        Ends of the middle.
    counts : tuple of int
        Counts in its bins of equal width.
    below, above : Tail or None
        What is outside the middle.
    """

    low: float
    high: float
    counts: tuple[int, ...]
    below: Tail | None = None
    above: Tail | None = None

    @property
    def n(self) -> int:
        """Rows of the sample."""
        return sum(map(sum, (part.counts for part in (self, self.below, self.above) if part is not None)))

    def place(self, value: float) -> float:
        """Position of a value in the middle, as a share of the way from `low` to `high`."""
        return (value - self.low) / (self.high - self.low)


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
    >>> found = histogram(np.arange(600.0))
    >>> found.counts[:3], found.place(599.0), found.above
    ((10, 10, 10), 1.0, None)
    >>> far = histogram(np.append(np.arange(600.0), 1e9))
    >>> far.high, far.above.near, far.above.far, far.above.counts[-1]
    (599.0, 599.0, 1000000000.0, 1)
    """
    y = y_sorted
    if not y.size or y[0] == y[-1] or not math.isfinite(float(y[-1]) - float(y[0])):
        return None
    new = y[1:] != y[:-1]
    first, centre, third = (_quantile(y, share) for share in QUARTERS)
    if first == third:  # half of the rows have the same value
        first, centre, third = (_quantile(y[np.append(True, new)], share) for share in QUARTERS)
    half = third - first
    start, stop = 0, y.size
    if 0.0 < half * WIDE < float(y[-1]) - float(y[0]):
        ends = np.array([centre - REACH * half, centre + REACH * half])
        start, stop = (int(np.searchsorted(y, ends[0], "left")), int(np.searchsorted(y, ends[1], "right")))
    middle = y[start:stop]
    if middle.size < 2 or middle[0] == middle[-1]:
        return None
    low, high = float(middle[0]), float(middle[-1])
    n_bins = min(BINS, max(FEWEST, 1 + int(np.count_nonzero(middle[1:] != middle[:-1]))))
    counts = _counts(middle, np.linspace(low, high, n_bins + 1))
    with np.errstate(over="ignore"):
        below = _tail(-y[:start][::-1], -low, -centre)
        above = _tail(y[stop:], high, centre)
    if below is not None:
        below = Tail(-below.near, -below.far, -below.centre, below.counts)
    return Histogram(low, high, counts, below, above)


def _tail(y_sorted: Floats, near: float, centre: float) -> Tail | None:
    """Counts of the rows above the middle, which has rows above its centre."""
    if not y_sorted.size:
        return None
    far = float(y_sorted[-1])
    ratio = (far - centre) / (near - centre) if near > centre else math.inf
    if not math.isfinite(ratio):  # no part of the middle is on this side: begin at the first row
        near = float(y_sorted[0])
        ratio = (far - centre) / (near - centre)
    if not 1.0 < ratio < math.inf:
        return Tail(near, far, centre, (y_sorted.size,))
    edges = centre + (near - centre) * ratio ** np.linspace(0.0, 1.0, TAIL_BINS + 1)
    return Tail(near, far, centre, _counts(y_sorted, edges))


def _counts(y_sorted: Floats, edges: Floats) -> tuple[int, ...]:
    """Rows in each bin; the outer ends include everything."""
    inner = np.searchsorted(y_sorted, edges[1:-1])
    return tuple(np.diff(inner, prepend=0, append=y_sorted.size).tolist())


def _quantile(y_sorted: Floats, share: float) -> float:
    """Like `numpy.quantile`, for sorted values."""
    place = (y_sorted.size - 1) * share
    at = math.floor(place)
    low, high = float(y_sorted[at]), float(y_sorted[min(at + 1, y_sorted.size - 1)])
    part = place - at
    return high - (high - low) * (1.0 - part) if part >= 0.5 else low + (high - low) * part
