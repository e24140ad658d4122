"""The start of a descent in whitened coordinates: coordinates, first model, step size, accused rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from distmom.estimators.learn.end.fits import SampleFit, has_bounded_slope
from distmom.estimators.learn.run import Problem, ScaledSample
from distmom.estimators.learn.start.look import SeenSample
from distmom.numerics.arrays import Floats
from distmom.numerics.linalg.curvature import MOST_BLOCKS, largest_of
from distmom.numerics.linalg.whitening import whitening, with_ones, wrapped
from distmom.numerics.losses.block_risk import BlockRisk
from distmom.numerics.losses.pair_risks import RankingRisk
from distmom.numerics.losses.row_risks import PredictorRisk
from distmom.solvers.coordinates import Coordinates
from distmom.solvers.fits.rankings import bending_pairs
from distmom.solvers.pilot import Pilot
from distmom.solvers.screen import RowScreen

DRAWN_IN = 5.0
"""Without a fit that gives the curvature, rows count as if no farther out than this many median distances."""


@dataclass(frozen=True)
class Whitened:
    """The start of a descent on whitened features."""

    risk: BlockRisk
    coordinates: Coordinates
    screen: RowScreen
    start: Floats  # in these coordinates
    step: float
    share: float  # accused rows of the sample
    fit: SampleFit | None  # to the others

    def of_training(self) -> dict[str, Any]:
        """What a training keeps of it."""
        place = self.coordinates
        known = {"coordinates": place, "judge": place, "accused": self.screen, "accused_share": self.share}
        return known | {"fit": self.fit, "even": True}


def whitened(problem: Problem, sample: ScaledSample, seen: SeenSample, *, whole: bool) -> Whitened:
    """Coordinates, start and step for the blocks of a sample that was looked at, and that may be `whole`."""
    found, shape = seen.pilot, sample.shape
    if found.risk is not None:
        problem = replace(problem, risk=found.risk)
    coordinates, rows = _coordinates(problem, *_bending(problem, found, sample))
    assert problem.curvature is not None
    start, fit = problem.start, None
    if found.fit is not None:
        each = found.fit[:-1] if problem.risk.pairwise else found.fit  # differences have no intercept
        x = np.asarray(each.T.ravel(), np.float64)
        start = coordinates.place(x)
        if found.risk is not None and has_bounded_slope(found.risk):
            fit = SampleFit(x, found.n_fitted, whole and found.n_fitted == int((~found.accused).sum()))
    width = shape.n_blocks * shape.block_size
    n = max(1, len(rows) // width)
    blocks = (rows[: n * width] @ coordinates.basis).reshape(n, -1, len(coordinates.basis))
    step = 1.0 / (problem.curvature * max(1.0, largest_of(blocks[:MOST_BLOCKS])))
    return Whitened(problem.risk, coordinates, found.screen, start, step, seen.accused_share, fit)


def judging(problem: Problem, features: Floats) -> Coordinates | None:
    """Coordinates in which gradients of a descent in other coordinates are judged."""
    if problem.even:
        return Coordinates(np.eye(features.shape[1]))
    return None if problem.curvature is None else _coordinates(problem, wrapped(features))[0]


def _bending(problem: Problem, found: Pilot, sample: ScaledSample) -> tuple[Floats, Floats]:
    """Kept rows, or differences of pairs, and the curvature of the loss of each at the fit.

    Without a fit it is less the farther out a row is.
    """
    kept, targets = sample.features[~found.accused], sample.targets[~found.accused]
    if found.fit is not None and isinstance(problem.risk, PredictorRisk):
        return kept, problem.risk.bends(kept @ found.fit[:-1] + found.fit[-1], targets)
    if found.fit is not None and isinstance(problem.risk, RankingRisk):
        return bending_pairs(kept, targets, found.fit[:-1])
    away = found.screen.distances(kept)
    usual = float(np.median(away)) if len(away) else 1.0
    return kept, (problem.curvature or 1.0) * np.minimum(
        1.0, DRAWN_IN * usual / np.maximum(away, 1e-300)
    ) ** 2


def _coordinates(
    problem: Problem, features: Floats, bends: Floats | None = None
) -> tuple[Coordinates, Floats]:
    """Coordinates in which the curvature is the same in all directions, and their rows.

    If the loss `bends` less than it may, a row counts less.
    """
    p = len(problem.start)
    centred = p == features.shape[1]  # no intercept: only differences count
    rows = features - features.mean(axis=0) if centred else with_ones(features)
    if bends is not None:
        rows = rows * np.sqrt(np.minimum(1.0, bends / (problem.curvature or 1.0)))[:, None]
    strength = float(getattr(problem.risk, "penalty", 0.0)) / (problem.curvature or 1.0)
    penalty = np.full(rows.shape[1], strength)
    if not centred:
        penalty[-1] = 0.0
    return Coordinates(whitening(rows, penalty)), rows
