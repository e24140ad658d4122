"""Whether the mean of the residuals is far from zero although the loss does not follow the mean."""

from __future__ import annotations

import math

import numpy as np

from distmom.inference.share.tails import more_than
from distmom.numerics.arrays import Floats
from distmom.numerics.losses.block_risk import BlockRisk
from distmom.numerics.losses.row_risks import LinearRisk
from distmom.numerics.median import MAD
from distmom.solvers.coordinates import Accused
from distmom.status import Status

FAR, ERRORS = 0.1, 4.0
"""Reported from this many standard deviations of the targets (0.01 of R^2) and standard errors on."""

FEWEST = 64
"""With fewer rows nothing is reported."""

OUTER, CHANCE = 5.0, 1e-4
"""Spreads of the residuals beyond which rows are counted on either side, and how improbable it is that they
lie on both by the same chance. Few wrong targets widen the standard error as much as they move the mean."""


def mean_residual(
    risk: BlockRisk,
    x: Floats,
    rows: Floats,
    targets: Floats,
    accused: Accused | None,
    *,
    clumped: bool = False,
) -> float:
    """Mean residual of the rows that are not accused, in standard deviations of the targets; 0 if near it.

    Where targets are `clumped` no residuals are usual ones.

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
        residuals, targets = residuals[kept], targets[kept]
        mean, error = float(residuals.mean()), float(residuals.std()) / math.sqrt(kept.sum())
        away = residuals - np.median(residuals)
        outer = np.abs(away) > (math.inf if clumped else OUTER * MAD * np.median(np.abs(away)))
        spread = float(targets[~outer].std())  # wrong targets do not widen it
    # without a scale, or with one that no float holds, there is nothing to compare it with
    if not (math.isfinite(mean) and 0.0 < spread < math.inf and abs(mean) > FAR * spread):
        return 0.0
    return mean / spread if abs(mean) > ERRORS * error or one_sided(away[outer]) else 0.0


def one_sided(away: Floats) -> bool:
    """Whether most of these numbers have one sign, and that is hardly chance.

    Examples
    --------
    >>> one_sided(np.array([1.0] * 20)), one_sided(np.array([1.0, -1.0] * 20))
    (True, False)
    """
    above = int((away > 0.0).sum())
    most = max(above, away.size - above)
    return most > 0 and 2.0 * more_than(most - 1, away.size, 0.5) < CHANCE


def residuals_skewed(mean: float) -> tuple[list[Status], list[str]]:
    """The note about it."""
    if not mean:
        return [], []
    note = (
        f"the residuals have a mean of {mean:.2f} standard deviations of the targets, which the Huber loss "
        "does not follow: their noise is skewed, or the targets of some rows are wrong; "
        'loss="squared" with early_stopping=False follows it'
    )
    return [Status.RESIDUALS_SKEWED], [note]
