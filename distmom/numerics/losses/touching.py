"""Minimum of a weighted risk of predictors, by majorisation with touching parabolas."""

from __future__ import annotations

import numpy as np

from distmom.numerics.arrays import Floats
from distmom.numerics.losses.row_risks import PredictorRisk

MOST_ITERATIONS, CLOSE = 30, 1e-6
RIDGE = 1e-12


def touched(
    risk: PredictorRisk, z: Floats, y: Floats, weights: Floats, basis: Floats, found: Floats
) -> Floats:
    """Minimum of the weighted risk, in the coordinates of z, by majorisation with touching parabolas.

    If Newton's step reduces the sum of squares of the gradient it is taken instead.
    """
    free = basis.copy()
    free[-1] = 0.0  # the intercept has no penalty
    penalty, total = risk.penalty * (free.T @ free), float(weights.sum())

    def gradient_at(v: Floats) -> Floats:
        slope = risk.touching(z @ v, y)[0]
        return np.asarray(z.T @ (weights * slope) / total + penalty @ v)

    def step(bends: Floats) -> Floats:
        return solved((z * (weights * bends)[:, None]).T @ z / total + penalty, gradient)

    gradient = gradient_at(found)
    for _ in range(MOST_ITERATIONS):
        predicted = z @ found
        away = step(risk.bends(predicted, y))
        there = gradient_at(found - away)
        if not there @ there < gradient @ gradient:
            away = step(risk.touching(predicted, y)[1])
            there = gradient_at(found - away)
        found, gradient = found - away, there
        if np.abs(away).max(initial=0.0) <= CLOSE * (1.0 + np.abs(found).max(initial=0.0)):
            break
    return found


def solved(matrix: Floats, right: Floats) -> Floats:
    """The solution; zero in directions without information."""
    diagonal = np.diag(matrix)
    ridge = RIDGE * max(float(diagonal.max(initial=0.0)), np.finfo(np.float64).tiny)
    return np.asarray(np.linalg.solve(matrix + ridge * np.eye(len(matrix)), right))
