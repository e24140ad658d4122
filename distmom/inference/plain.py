"""Sample means of groups from the means of their blocks, rounded once."""

from __future__ import annotations

import math

import numpy as np

from distmom.numerics.arrays import Floats
from distmom.numerics.blocks.block_state import BlockState

GROUPS_AT_ONCE = 1 << 13
"""Up to here, blocks are handled as Python numbers."""


def sample_means(blocks: BlockState, rounded: Floats) -> Floats:
    """Mean of all rows of each group, from the blocks' means with one rounding at the end.

    Whole numbers then have the mean of exact arithmetic, however the rows are divided into blocks: the
    rounding errors of the block means average out far below the last bit. If the sum overflows, or is not
    finite, the result is the `rounded` one.
    """
    parts = [slice(i, i + GROUPS_AT_ONCE) for i in range(0, len(rounded), GROUPS_AT_ONCE)]
    found = [mean for part in parts for mean in _sample_means(blocks.at(part), rounded[part])]
    return np.array(found, np.float64)


def _sample_means(blocks: BlockState, rounded: Floats) -> list[float]:
    filled = blocks.count > 0
    with np.errstate(over="ignore", invalid="ignore"):
        sums = np.where(filled, blocks.mass * blocks.mean, 0.0).tolist()
    if blocks.mass is blocks.count:
        masses = blocks.count.sum(axis=1).tolist()
    else:
        masses = [math.fsum(group) for group in np.where(filled, blocks.mass, 0.0).tolist()]
    return [_sample_mean(*group) for group in zip(sums, masses, rounded.tolist(), strict=True)]


def _sample_mean(sums: list[float], mass: float, rounded: float) -> float:
    if mass == 0 or not math.isfinite(rounded):
        return rounded
    try:
        exact = math.fsum(sums) / mass
    except OverflowError:
        return rounded
    return exact if math.isfinite(exact) else rounded
