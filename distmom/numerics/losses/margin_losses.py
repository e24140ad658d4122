"""Losses of a margin z that should be low: hinge and logistic, with their slopes."""

from __future__ import annotations

import numpy as np

from distmom.numerics.arrays import Floats
from distmom.numerics.kernels.exponential import exp_of_negative, softplus

MARGIN_LOSSES = ("hinge", "logistic")


def margin_loss(name: str, z: Floats) -> Floats:
    """``max(0, 1 + z)`` or ``log(1 + exp(z))``; NaN stays NaN."""
    if name == "hinge":
        return np.asarray(np.maximum(1.0 + z, 0.0))
    return np.where(np.isnan(z), np.nan, softplus(z))


def margin_slope(name: str, z: Floats) -> Floats:
    """Its derivative; for the hinge 0 at the corner."""
    if name == "hinge":
        return (1.0 + z > 0.0).astype(np.float64)
    u = exp_of_negative(-np.abs(z))
    return np.where(z > 0.0, 1.0, u) / (1.0 + u)
