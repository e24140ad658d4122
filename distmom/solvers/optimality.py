"""Whether a point is where the risk is least: its gradient in units of the gradient's own noise.

A loss that no longer falls says little: along a direction of small curvature it falls little in each step
while much is left to gain. At the minimum the mean of the gradients of K blocks is noise: in each coordinate
its square over its estimated variance is distributed as the square of Student's t with K - 1 degrees of
freedom.
"""

from __future__ import annotations

import math

import numpy as np

from distmom.numerics.arrays import Floats
from distmom.solvers.aggregators import within_reach

FEWEST = 5
"""Least number of blocks with which the noise can be estimated."""

NEGLIGIBLE = 1e-6
"""A step along a gradient of unit curvature gains half its square: of less than this nothing is left to gain,
however small the noise is. Targets that the features determine have none. It must be so of each block: those
without a rare event have next to none if the model never predicts it."""

SPREADS, SHARED = 5.0, 1.5
"""The mean square may be `SHARED`, as the point has noise of its own, plus this many standard deviations."""


ERRORS = 4.0
"""Standard errors by which a fit must be better to replace the one that is expected to be."""


def noise_ratio(gradients: Floats) -> float:
    """Mean over coordinates of the squared ratio of the mean gradient to its standard error.

    Uses the blocks that `within_reach` keeps: about 1 at the minimum, 0 if all gradients are negligible; NaN
    for fewer than `FEWEST` blocks. In whitened coordinates the terms are nearly independent.

    Examples
    --------
    >>> import numpy as np
    >>> g = np.random.default_rng(0).normal(size=(31, 10))
    >>> round(noise_ratio(g), 2), noise_ratio(g + 0.5) > 5.0
    (1.33, True)
    """
    kept = gradients[np.isfinite(gradients).all(axis=1)]
    if len(kept) < FEWEST:
        return math.nan
    if 0.5 * float((kept * kept).sum(axis=1).max()) <= NEGLIGIBLE:
        return 0.0
    kept = kept[within_reach(kept)]
    mean, variance = kept.mean(axis=0), kept.var(axis=0, ddof=1) / len(kept)
    known = variance > 0.0
    if not known.any():
        return 0.0 if not mean.any() else math.inf
    return float((mean[known] ** 2 / variance[known]).mean())


def most_ratio(n_coordinates: int) -> float:
    """The largest `noise_ratio` expected at the minimum: the variance of a squared t is near 2.5."""
    return SHARED + SPREADS * math.sqrt(2.5 / n_coordinates)


def standard_errors(values: Floats) -> float:
    """The mean in units of its standard error; 0 if all values are equal or not all are finite.

    Examples
    --------
    >>> round(standard_errors(np.array([1.0, 2.0, 3.0])), 2), standard_errors(np.zeros(9))
    (3.46, 0.0)
    """
    error = float(values.std(ddof=1)) / math.sqrt(values.size)
    return float(values.mean()) / error if 0.0 < error < math.inf else 0.0
