"""Rows excluded from learning: far out and surprising at once, or far from all others."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from distmom.numerics.arrays import Bools, Floats
from distmom.numerics.linalg.whitening import with_ones
from distmom.numerics.losses.pair_risks import RankingRisk
from distmom.numerics.losses.row_risks import PredictorRisk, SoftmaxRisk

HUGE = 1e100
"""Scaled values above this would overflow: their rows are flagged."""

PilotRisk = PredictorRisk | SoftmaxRisk | RankingRisk
"""Risks of linear predictors: one for each row, one for each class, or one whose differences count."""


@dataclass(frozen=True)
class RowScreen:
    """Flags rows by their distance from the middle and by their surprise under a robust fit.

    Attributes
    ----------
    basis : ndarray of float64, shape (d + 1, d + 1)
        Distance is the length of (x, 1) in its coordinates, those of the rows that were not flagged.
    risk, fit : optional
        Loss and parameters that measure surprise; with several classes a column of parameters for each.
    distance, surprise : float
        Rows with more of both are flagged,
    most_distance, most_surprise : float
        and those with this much of one.
    """

    basis: Floats
    risk: PredictorRisk | SoftmaxRisk | None = None
    fit: Floats | None = None
    distance: float = math.inf
    surprise: float = math.inf
    most_distance: float = math.inf
    most_surprise: float = math.inf

    def __call__(self, rows: Floats, targets: Floats) -> Bools:
        """Which rows of shape (..., d) are flagged."""
        flat, values = rows.reshape(targets.size, -1), targets.ravel()
        accused = ~(np.abs(flat) < HUGE).all(axis=1) | ~(np.abs(values) < HUGE)
        if self.fit is not None:
            with np.errstate(all="ignore"):
                assert self.risk is not None
                surprise = self.risk.surprise(flat @ self.fit[:-1] + self.fit[-1], values)
            accused |= surprise >= self.most_surprise
            near = np.flatnonzero(~accused & (surprise > self.surprise))
            accused[near] = self.distances(flat[near]) > self.distance
        if math.isfinite(self.most_distance):
            left = np.flatnonzero(~accused)
            accused[left] = self.distances(flat[left]) >= self.most_distance
        return accused.reshape(targets.shape)

    def distances(self, rows: Floats) -> Floats:
        """Distances of rows from the middle."""
        return distances(with_ones(rows) @ self.basis)


def distances(rows: Floats) -> Floats:
    """Lengths of rows."""
    return np.asarray(np.sqrt((rows * rows).sum(axis=1)))
