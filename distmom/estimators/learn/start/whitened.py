"""What a sample of rows tells a linear model: coordinates, start, blocks, steps, and who is accused."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from distmom.estimators.learn.parameters import LearnOptions, Shape
from distmom.estimators.learn.run import Problem, ScaledSample
from distmom.estimators.learn.survey import ENOUGH, MOST_ACCUSED
from distmom.inference.share.gaps import rows_apart
from distmom.numerics.arrays import Bools, Floats
from distmom.numerics.linalg.curvature import MOST_BLOCKS, largest_of
from distmom.numerics.linalg.whitening import whitening, with_ones, wrapped
from distmom.numerics.losses.row_risks import LinearRisk, PredictorRisk
from distmom.solvers.coordinates import Coordinates
from distmom.solvers.most_rows import share_of_others
from distmom.solvers.pilot import Pilot, finished, pilot
from distmom.solvers.screen import RowScreen

WANTED, MOST_WANTED = 64, 1_024
"""Rows of a block where nothing is rare, and at most where something is."""

WANTED_OF_PAIRS = 32
"""A block has half as many pairs as the square of its rows."""

OF_A_LABEL, OF_A_LEVEL = 10, 4
"""Rows of the rarest label, and of the rarest level of a column, that a block should have. The middle of
blocks with c events is less than their mean by a share of 1 / (6 c)."""

DRAWN_IN = 5.0
"""Where no fit tells how much a loss bends, rows count as if no further out than so many median distances."""

SEVERAL = 8
"""Fewer rows of a sample are no level."""


@dataclass(frozen=True)
class Whitened:
    """What a descent on whitened features begins with."""

    coordinates: Coordinates
    screen: RowScreen
    start: Floats  # in these coordinates
    step: float
    shape: Shape
    share: float  # accused rows of the sample
    too_many: float = 0.0  # share of rows that are another group, too many to be accused

    def of_training(self) -> dict[str, Any]:
        """What a training keeps of it."""
        place = self.coordinates
        told = {"accused_share": self.share, "too_many": self.too_many}
        return {"coordinates": place, "judge": place, "accused": self.screen, **told}


def whitened(
    problem: Problem,
    sample: ScaledSample,
    options: LearnOptions,
    n_rows: int,
    least_size: int,
    outlier_share: float,
    *,
    labels: bool,
) -> Whitened:
    """Look at the sample of a problem that has a curvature."""
    found, too_many = _pilot(problem, sample, labels=labels)
    share = float(found.accused.mean())
    if problem.risk.pairwise:  # no fit by which a row is surprising
        share = max(share, outlier_share)
    wanted = wanted_size(sample, ~found.accused, labels=labels, pairs=problem.risk.pairwise)
    shape = options.shape(n_rows, least_size, share, wanted)
    kept = sample.features[~found.accused]
    coordinates, rows = _coordinates(problem, kept, _bends(problem, found, sample))
    assert problem.curvature is not None
    start = problem.start
    if found.fit is not None:
        start = np.asarray(np.linalg.solve(coordinates.basis, found.fit), np.float64)
    width = shape.n_blocks * shape.block_size
    n = max(1, len(rows) // width)
    seen = (rows[: n * width] @ coordinates.basis).reshape(n, -1, len(coordinates.basis))
    step = 1.0 / (problem.curvature * max(1.0, largest_of(seen[:MOST_BLOCKS])))
    screen = found.screen
    return Whitened(coordinates, screen, start, step, shape, float(found.accused.mean()), too_many)


def judging(problem: Problem, features: Floats) -> Coordinates | None:
    """Coordinates in which gradients of a descent in others are judged."""
    return None if problem.curvature is None else _coordinates(problem, wrapped(features))[0]


def wanted_size(sample: ScaledSample, kept: Bools, *, labels: bool, pairs: bool) -> int:
    """Rows of a block that represents the data: some of the rarest label, and of each level of a column."""
    if pairs:
        return WANTED_OF_PAIRS
    features, targets = sample.features[kept], sample.targets[kept]
    wanted = [float(WANTED)]
    if labels and len(targets):
        counts = np.unique(targets, return_counts=True)[1]
        wanted += [OF_A_LABEL * len(targets) / int(count) for count in counts if count >= SEVERAL]
    for column in features.T:
        low = column == column.min(initial=math.inf)
        if (low | (column == column.max(initial=-math.inf))).all():  # a level or not
            rare = min(int(low.sum()), int((~low).sum()))
            wanted += [OF_A_LEVEL * len(column) / rare] if rare >= SEVERAL else []
    return min(MOST_WANTED, math.ceil(max(wanted)))


def _pilot(problem: Problem, sample: ScaledSample, *, labels: bool) -> tuple[Pilot, float]:
    """The pilot, and the share of rows that it would accuse were they not too many, or that fit no model."""
    risk = problem.risk if isinstance(problem.risk, PredictorRisk) else None
    features, targets = sample.features, sample.targets
    found = pilot(risk, features, targets, _furthest)
    if labels and math.isfinite(found.screen.most_distance):
        _, codes, counts = np.unique(targets, return_inverse=True, return_counts=True)
        far = np.bincount(codes, found.accused, counts.size)
        if ((2 * far > counts) & (counts >= ENOUGH)).any():  # what tells a label from the others
            found = finished(risk, features, targets, replace(found.screen, most_distance=math.inf))
    if found.accused.mean() <= MOST_ACCUSED:
        if not isinstance(risk, LinearRisk) or found.fit is None:
            return found, 0.0
        kept = ~found.accused
        return found, float(kept.mean()) * share_of_others(features[kept], targets[kept], found.basis)
    before, found = found, finished(risk, features, targets, RowScreen(found.screen.basis))
    return found, float((before.accused & ~found.accused).mean())


def _bends(problem: Problem, found: Pilot, sample: ScaledSample) -> Floats:
    """How much the loss of each kept row bends at the fit; without one, less the further out it is."""
    kept, targets = sample.features[~found.accused], sample.targets[~found.accused]
    if found.fit is not None and isinstance(problem.risk, PredictorRisk):
        return problem.risk.bends(kept @ found.fit[:-1] + found.fit[-1], targets)
    away = found.screen.distances(kept)
    usual = float(np.median(away)) if len(away) else 1.0
    return (problem.curvature or 1.0) * np.minimum(1.0, DRAWN_IN * usual / np.maximum(away, 1e-300)) ** 2


def _furthest(values: Floats) -> float:
    return float(rows_apart(np.sort(values)).hi)


def _coordinates(
    problem: Problem, features: Floats, bends: Floats | None = None
) -> tuple[Coordinates, Floats]:
    """Coordinates in which the curvature is the same in all directions, and the rows that they are of.

    Where the loss `bends` less than it may, a row counts for less.
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
