"""A second group of the rows, decades away: with this many rows, it is unclear which group is wrong.

Rows in another unit (one airline's, one country's) and modes of real sizes look the same, and above 15% of
the rows tails cannot decide between them. So such a group is reported, and never left out.
"""

from __future__ import annotations

import numpy as np

from distmom.inference.share.gaps import Apart
from distmom.inference.share.runs import Runs
from distmom.numerics.arrays import Floats

LEAST = 0.1
"""Each group has at least this share of all rows: smaller ones are left to `rows_apart`."""

APART = 30.0
"""The median distance of one group is at least this many times that of the other."""

WIDTH = 3.0
"""Rows are counted in windows whose ends have this ratio: whole numbers leave none of them empty."""

STEPS = 8
"""Windows start at this many places between two adjacent ones."""

DEEP = 1 / 3
"""Between the groups some window has at most this share of the rows of the fullest window of either."""

NOISE = 3.0
"""Standard errors of a window's count that are allowed for: few rows leave windows empty by chance."""

FEW_VALUES = 20
"""Fewer distinct values have gaps anyway: then the gap itself must be as wide as the groups are apart."""

NEARLY_HALF = 0.4
"""A run of this many rows contains the quartile on its side of the median."""

FEWEST = 200
"""Smaller samples are not searched."""


def second_group(y_sorted: Floats) -> Apart:
    """Find a group of rows decades farther than the others from zero, or from the median.

    Parameters
    ----------
    y_sorted : ndarray of float64
        Sorted finite values; below 200 rows nothing is found.

    Returns
    -------
    Apart
        The group, with `times`; empty if there is none.

    Notes
    -----
    The distances that are not zero are counted in windows of equal width on the log scale. A distribution
    with one mode there, however heavy its tails, has no window with few rows between two with many. Units are
    changed by factors, so of the distances from zero either group may be the larger; about the median only
    the farther, smaller one is a group: close to it there are always few rows.

    Examples
    --------
    >>> import numpy as np
    >>> g = np.random.default_rng(0)
    >>> minutes = 20.0 * g.standard_normal(10_000)
    >>> second_group(np.sort(minutes)).n
    0
    >>> minutes[:1_700] *= 60_000.0
    >>> found = second_group(np.sort(minutes))
    >>> found.n, round(found.times, -3)
    (1700, 60000.0)
    """
    y = y_sorted
    if y.size < FEWEST or y[0] == y[-1]:
        return Apart()
    for centre in (0.0, _middle(y)):
        if not _may_part(y, centre):
            continue
        with np.errstate(over="ignore", invalid="ignore"):
            u = np.sort(np.abs(y - centre))
            u = u[int(np.searchsorted(u, 0.0, side="right")) :]
            found = _cut(u, y.size, y.size if centre == 0.0 else y.size // 2)
        if found is None:
            continue
        distance, times = found
        n_low = int(np.searchsorted(y, centre - distance, side="right"))
        n_high = y.size - int(np.searchsorted(y, centre + distance))
        lo = centre - distance if n_low else -np.inf
        hi = centre + distance if n_high else np.inf
        values = Runs.of(np.concatenate([y[:n_low], y[y.size - n_high :]])).repeated()
        return Apart(lo, hi, n_low, n_high, values, times=times, from_zero=centre == 0.0)
    return Apart()


def _middle(y: Floats) -> float:
    """The median; if a value beside it has nearly half of the rows, such as zero visits, that value.

    The distances of these rows from a median beside it would be a group of their own.

    Examples
    --------
    >>> _middle(np.array([0.0, 0.0, 0.0, 0.0, 0.1, 0.2, 3.0, 4.0])), _middle(np.arange(8.0))
    (0.0, 4.0)
    """
    for value in (y[y.size // 4], y[3 * y.size // 4]):
        first, last = (int(np.searchsorted(y, value, side)) for side in ("left", "right"))
        if last - first >= NEARLY_HALF * y.size:
            return float(value)
    return float(y[y.size // 2])


def _may_part(y: Floats, centre: float) -> bool:
    """Whether the distances extend as far as `_cut` requires; y ascending, so that nothing is sorted."""
    low, high = (int(np.searchsorted(y, centre, side)) for side in ("left", "right"))
    below, above = y[:low][::-1], y[high:]
    least, size = max(int(LEAST * y.size), 1), below.size + above.size
    if size < 2 * least:
        return False
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        near, far = (_of_rank(below, above, centre, k) for k in (least - 1, size - least))
        return bool(far / near >= APART)


def _of_rank(below: Floats, above: Floats, centre: float, k: int) -> np.float64:
    """The distance with k smaller ones, for rows below and above the centre in order of their distance."""
    first, last = max(0, k + 1 - above.size), min(below.size, k + 1)
    while first < last:  # this many of the k + 1 nearest are below
        n = (first + last) // 2
        if np.abs(below[n] - centre) < np.abs(above[k - n] - centre):
            first = n + 1
        else:
            last = n
    ends = [np.abs(part[n - 1] - centre) for part, n in ((below, first), (above, k + 1 - first)) if n]
    return np.float64(max(ends))


def _cut(u: Floats, n: int, most: int) -> tuple[float, float] | None:
    """The distance that separates two groups, and the ratio of their distances; u ascending."""
    least = max(int(LEAST * n), 1)
    if u.size < 2 * least or not np.isfinite(u[-1]) or not u[-least] / u[least - 1] >= APART:
        return None
    width = np.log(WIDTH)
    middle = np.exp(np.arange(np.log(u[0]), np.log(u[-1]) + width, width / STEPS))
    half = WIDTH**0.5
    count = np.searchsorted(u, middle * half, "right") - np.searchsorted(u, middle / half)
    fullest = np.minimum(np.maximum.accumulate(count), np.maximum.accumulate(count[::-1])[::-1])
    nearer = np.searchsorted(u, middle)
    farther = u.size - nearer
    can = (nearer >= least) & (farther >= least) & (farther <= most)
    can &= count + NOISE * np.sqrt(count + 1.0) <= DEEP * fullest
    if not can.any():
        return None
    at = int(np.argmin(np.where(can, count / np.maximum(fullest, 1), np.inf)))
    k = int(nearer[at])
    times = float(u[k + (u.size - k) // 2] / u[k // 2])
    listed = min(_values(u[:k]), _values(u[k:])) < FEW_VALUES
    far = times >= APART and (not listed or u[k] >= APART * u[k - 1])
    return (float(middle[at]), times) if far else None


def _values(u: Floats) -> int:
    """Number of different values."""
    return int(np.count_nonzero(np.diff(u))) + 1
