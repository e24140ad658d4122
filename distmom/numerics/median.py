"""Medians: the lower one, which this package takes over blocks, the ordinary one, and scales based on it."""

from __future__ import annotations

import numpy as np

from distmom.numerics.arrays import Floats

MAD = 1.4826
"""Standard deviation of normal values in median absolute deviations."""


def lower_median(values: Floats, axis: int = -1) -> Floats:
    """Lower median: the value of rank ceil(K/2) among the K values that are not NaN.

    NaN marks a non-finite block and is dropped; infinities sort to the ends. NumPy's median averages the two
    middle values when K is even, which is another estimator, hence this function.

    Parameters
    ----------
    values : ndarray of float64
        Block values, K along `axis`.
    axis : int
        The axis of the blocks.

    Returns
    -------
    ndarray of float64
        The median along `axis`; NaN if no value is left.

    Notes
    -----
    The definition of Laforgue, Clémençon & Bertail (2019), section 2.1. Cost: one sort.

    Examples
    --------
    >>> import numpy as np
    >>> float(lower_median(np.array([4.0, 1.0, 2.0, 3.0])))
    2.0
    >>> float(lower_median(np.array([np.nan, 5.0, np.inf])))
    5.0
    """
    ordered = np.sort(values, axis=axis)  # NaN sorts last
    left = np.sum(~np.isnan(values), axis=axis, keepdims=True)
    if ordered.shape[axis] == 0:
        return np.full(left.squeeze(axis).shape, np.nan)
    rank = np.maximum((left + 1) // 2 - 1, 0)
    return np.take_along_axis(ordered, rank, axis).squeeze(axis)


def median_or_nan(values: Floats) -> Floats:
    """Ordinary median (mean of the two middle values) along the last axis; NaN dropped.

    `numpy.nanmedian` handles one line at a time, and warns if a line has no value.
    """
    ordered = np.sort(values, axis=-1)
    left = np.sum(~np.isnan(values), axis=-1, keepdims=True)
    if ordered.shape[-1] == 0:
        return np.full(values.shape[:-1], np.nan)
    line = np.arange(ordered.shape[0])[:, None]
    low = ordered[line, np.maximum((left - 1) // 2, 0)]
    high = ordered[line, np.minimum(left // 2, ordered.shape[-1] - 1)]
    with np.errstate(invalid="ignore", under="ignore"):
        middle = np.where(low == high, low, 0.5 * low + 0.5 * high)
    return np.asarray(np.where(left > 0, middle, np.nan))[..., 0]


def spread_about(values: Floats, centre: Floats | float) -> Floats:
    """`MAD` times the median distance from a centre, along the first axis."""
    return np.asarray(MAD * np.median(np.abs(values - centre), axis=0))
