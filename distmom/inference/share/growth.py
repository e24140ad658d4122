"""How robust means of a heavy tail grow with the number of rows, and how much of a difference this explains.

Robust means leave out the farthest rows, a few whatever the number of rows. In n rows these are farther out
than in m < n, so under a heavy tail on one side the mean of n rows is larger, and both are right for their
numbers of rows. Under a Pareto tail of index a > 1 each further factor of 16 adds 16^(1/a - 1) times what the
last one added: no more than that. So the growth within a sample, from sixteenths to the whole, bounds that
from the sample to all rows. Bad rows that are too few to be seen in the sample cause no growth in it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from distmom.numerics.arrays import Floats

PARTS = 16
"""The sample is divided into this many parts."""


def growth(whole: Any, parts: Sequence[Any], m: int, n: int) -> Floats:
    """The largest change of a robust mean from m rows to n of the same distribution.

    Parameters
    ----------
    whole : float or ndarray
        The mean of the m rows.
    parts : sequence of float or ndarray
        The means of `PARTS` equal parts of them.
    m, n : int
        Numbers of rows.

    Returns
    -------
    ndarray
        The change in each coordinate, with the sign of the change from the parts to the whole.

    Examples
    --------
    >>> growth(5.5, [5.0, 4.0, 6.0, 5.0], 65_536, 16 * 65_536).tolist()
    [0.5]
    """
    steps = math.log(max(n, m) / m) / math.log(PARTS)
    step = np.atleast_1d(whole) - np.mean([np.atleast_1d(part) for part in parts], axis=0)
    return np.asarray(steps * step)


def explained(first: Any, again: Any, grown: Floats) -> Floats:
    """How much of the difference between the means of all rows and of the sample growth may explain.

    Examples
    --------
    >>> explained(7.0, 5.5, np.array([1.0])).tolist(), explained(4.0, 5.5, np.array([1.0])).tolist()
    ([1.0], [0.0])
    """
    side = np.sign(np.atleast_1d(first) - np.atleast_1d(again))
    with np.errstate(invalid="ignore"):
        return np.asarray(np.fmax(side * grown, 0.0))
