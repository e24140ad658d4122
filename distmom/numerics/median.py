"""The lower median of block values, the one median this package takes."""

from __future__ import annotations

import numpy as np

from distmom.numerics.arrays import Floats


def lower_median(values: Floats, axis: int = -1) -> Floats:
    """Lower median: the value of rank ceil(K/2) among the K values that are not NaN.

    NaN marks a ruined block and is dropped; infinities sort to the ends. NumPy's median averages the two
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
        The median along `axis`; NaN where no value is left.

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
