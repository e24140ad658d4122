"""Sums of lines of unequal length in one padded array."""

from __future__ import annotations

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from distmom.numerics.arrays import Ints

Number = TypeVar("Number", np.int64, np.float64)


def own_sums(values: NDArray[Number], width: Ints) -> NDArray[Number]:
    """Sum of the first `width` numbers of each line, bit-for-bit as for the line alone.

    NumPy adds pairwise, in an order that depends on the number of terms: zeros that pad a line to the length
    of the longest one would change its last bit.

    Examples
    --------
    >>> own_sums(np.array([[1.0, 2.0, 4.0], [8.0, 0.0, 0.0]]), np.array([3, 1]))
    array([7., 8.])
    """
    values = np.ascontiguousarray(values)
    if (width >= values.shape[1]).all():
        return np.asarray(values.sum(axis=1))
    out = np.zeros(len(values), values.dtype)
    for n in np.unique(width).tolist():
        mine = width == n
        out[mine] = np.ascontiguousarray(values[mine, :n]).sum(axis=1)
    return out
