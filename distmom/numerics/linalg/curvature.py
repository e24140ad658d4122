"""The largest curvature of mean squares of blocks of rows, which bounds the step size."""

from __future__ import annotations

import numpy as np

from distmom.numerics.arrays import Floats
from distmom.numerics.median import lower_median

MOST_BLOCKS = 101
"""Number of blocks that are examined."""


def largest_curvature(blocks: Floats, extra: float = 0.0) -> float:
    """Lower median over blocks of the largest eigenvalue of X^T X / B, with a column of ones, plus `extra`.

    A step of its reciprocal cannot overshoot on most blocks.
    """
    n, size, _ = blocks.shape
    whole = np.concatenate([blocks, np.ones((n, size, 1))], axis=2)
    good = np.isfinite(whole).all(axis=(1, 2))
    whole = whole[good][:MOST_BLOCKS]
    return largest_of(whole) + extra


def largest_of(blocks: Floats) -> float:
    """The same for finite blocks as they are; 1 if there are none."""
    if not len(blocks):
        return 1.0
    _, size, width = blocks.shape
    with np.errstate(over="ignore"):
        if size < width:
            gram = blocks @ blocks.transpose(0, 2, 1) / size
        else:
            gram = blocks.transpose(0, 2, 1) @ blocks / size
    finite = np.isfinite(gram).all(axis=(1, 2))
    if not finite.any():
        return 1.0
    return float(lower_median(np.linalg.eigvalsh(gram[finite])[:, -1]))
