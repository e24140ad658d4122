"""Scales of a row sample that tolerate a share of bad rows."""

from __future__ import annotations

import math

import numpy as np

from distmom.inference.share.windows import Windows
from distmom.numerics.arrays import Floats
from distmom.numerics.median import lower_median

BLOCKS = 63
"""Blocks of the sample: the scale is the root of the lower median of their variances."""

WINDOW = 8
"""Rows that the window leaves out; the scale is at least that of the window."""


def block_scale(rows: Floats) -> float:
    """Scale of rows as fine blocks see it: root of the lower median of the variances of 63 blocks.

    Parameters
    ----------
    rows : ndarray of float64
        Sampled finite rows in the order of their keys: any order that does not depend on the values.

    Returns
    -------
    float
        With fewer than 126 rows, their standard deviation; NaN without rows.

    Notes
    -----
    Bad rows in fewer than half of the blocks do not affect it; if 1% of the rows carry the variance, it is
    too small (`sample_scale`).

    Examples
    --------
    >>> import numpy as np
    >>> round(block_scale(np.random.default_rng(0).normal(20.0, 2.0, 65_536)), 2)
    2.0
    """
    size = rows.size // BLOCKS
    with np.errstate(over="ignore", invalid="ignore"):
        if size < 2:
            return float(rows.std()) if rows.size else math.nan
        variances = rows[: BLOCKS * size].reshape(BLOCKS, size).var(axis=1, ddof=1)
    variances = np.where(np.isnan(variances), np.inf, variances)
    return math.sqrt(float(lower_median(variances)))


def sample_scale(rows: Floats, y_sorted: Floats) -> float:
    """The larger of `block_scale` and the scale of the window that leaves out 8 rows: for unscreened rows.

    Parameters
    ----------
    rows : ndarray of float64
        Sampled rows in the order of their keys.
    y_sorted : ndarray of float64
        The same rows, sorted.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.where(np.arange(6300) % 100 == 0, 10.0, 0.0)  # 1% of the rows carry all
    >>> round(sample_scale(x, np.sort(x)), 2)
    1.0
    """
    if not rows.size:
        return math.nan
    most = min(WINDOW, (rows.size - 1) // 2)
    return max(block_scale(rows), Windows(y_sorted, most).best(most).sd)
