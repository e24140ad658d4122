"""Whether the mean of the residuals is far from zero although the loss does not follow the mean."""

from __future__ import annotations

import math

import numpy as np

from distmom.numerics.arrays import Floats
from distmom.numerics.losses.block_risk import BlockRisk
from distmom.numerics.losses.row_risks import LinearRisk
from distmom.solvers.coordinates import Accused
from distmom.status import Status

FAR, ERRORS = 0.1, 4.0
"""Reported from this many standard deviations of the targets (0.01 of R^2) and standard errors on."""

FEWEST = 64
"""With fewer rows nothing is reported."""


def mean_residual(
    risk: BlockRisk, x: Floats, rows: Floats, targets: Floats, accused: Accused | None
) -> float:
    """Mean residual of the rows that are not accused, in standard deviations of the targets; 0 if near it.

    Examples
    --------
    >>> g = np.random.default_rng(0)
    >>> x, noise = g.normal(size=(2_000, 1)), g.normal(size=2_000)
    >>> fit, risk = np.array([1.0, 0.0]), LinearRisk("huber")
    >>> mean_residual(risk, fit, x, x[:, 0] + noise, None)
    0.0
    >>> mean_residual(risk, fit, x, x[:, 0] + noise + 9.0 * (noise > 1.5), None) > 0.1
    True
    """
    if not isinstance(risk, LinearRisk) or risk.loss != "huber":
        return 0.0
    rows, targets = rows.reshape(targets.size, -1), targets.ravel()
    with np.errstate(all="ignore"):
        residuals = targets - rows @ x[:-1] - x[-1]
        kept = np.isfinite(residuals)
        if accused is not None:
            kept &= ~accused(rows, targets)
        if kept.sum() < FEWEST:
            return 0.0
        mean, spread = float(residuals[kept].mean()), float(targets[kept].std())
        error = float(residuals[kept].std()) / math.sqrt(kept.sum())
    # without a scale, or with one that no float holds, there is nothing to compare it with
    told = math.isfinite(mean) and 0.0 < spread < math.inf
    return mean / spread if told and abs(mean) > max(FAR * spread, ERRORS * error) else 0.0


def residuals_skewed(mean: float) -> tuple[list[Status], list[str]]:
    """The note about it."""
    if not mean:
        return [], []
    note = (
        f"the residuals have a mean of {mean:.2f} standard deviations of the targets, which the Huber loss "
        "does not follow: their noise is skewed, or the targets of some rows are wrong; "
        'loss="squared" follows it'
    )
    return [Status.RESIDUALS_SKEWED], [note]
