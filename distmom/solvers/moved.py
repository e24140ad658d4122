"""Whether some rows move a fit by more than its error.

If they follow the same model, a fit with them and one without differ by less than the error of the latter
(Chow 1960, Econometrica; Hausman 1978, Econometrica). That allows for rows so far out that the fit to the
others hardly predicts them: single residuals would say little.
"""

from __future__ import annotations

import numpy as np
from scipy.special import chdtri

from distmom.numerics.arrays import Floats
from distmom.numerics.losses.row_risks import PredictorRisk

CHANCE = 1e-4
"""p-value of the difference, given the errors of the fit, below which the rows move it."""

ROWS_OF_A_PARAMETER = 5
"""With fewer rows the errors are unknown."""


def moved(risk: PredictorRisk, z: Floats, y: Floats, alone: Floats, joint: Floats) -> bool:
    """Whether the fit `joint` is further from `alone`, that of the rows z and y, than its error.

    Examples
    --------
    >>> from distmom.numerics.losses.row_risks import LinearRisk
    >>> g = np.random.default_rng(0)
    >>> z, risk = g.normal(size=(1_000, 2)), LinearRisk("huber")
    >>> y, w = z.sum(axis=1) + g.normal(size=1_000), np.array([1.02, 0.97])
    >>> moved(risk, z, y, w, w + 0.01), moved(risk, z, y, w, w + 0.3)
    (False, True)
    """
    n, p = z.shape
    if n < ROWS_OF_A_PARAMETER * p:
        return False
    predicted = z @ alone
    slopes = risk.touching(predicted, y)[0]
    pull = (z * risk.bends(predicted, y)[:, None]).T @ (z @ (joint - alone))
    noise = (z * (slopes * slopes)[:, None]).T @ z * (n / (n - p))
    away, directions = np.linalg.eigh(noise)
    known = away > p * np.finfo(np.float64).eps * away[-1]
    square = float(((directions[:, known].T @ pull) ** 2 / away[known]).sum())
    return bool(square > chdtri(int(known.sum()), CHANCE))
