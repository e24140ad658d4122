"""What a linear model learns from a sample before its first step: accused rows, and the size of blocks."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from distmom.estimators.learn.run import Problem, ScaledSample
from distmom.estimators.learn.scale import robust_scale
from distmom.estimators.learn.survey import ENOUGH, MOST_ACCUSED
from distmom.inference.share.gaps import FAR, NEAR, rows_apart
from distmom.numerics.arrays import Bools, Floats
from distmom.numerics.losses.row_risks import LinearRisk
from distmom.solvers.most_rows import share_of_others
from distmom.solvers.pilot import Pilot, finished, pilot
from distmom.solvers.screen import PilotRisk, RowScreen

WANTED, MOST_WANTED = 64, 1_024
"""Rows of a block where nothing is rare, and at most where something is."""

WANTED_OF_PAIRS = 32
"""A block has half as many pairs as the square of its rows."""

OF_A_LABEL, OF_A_LEVEL = 10, 4
"""Rows of the rarest label, and of the rarest level of a column, that a block should have. The middle of
blocks with c events is less than their mean by a share of 1 / (6 c)."""

MOST_DISTANCES = 8.0
"""A row more median distances out than this says nothing about which directions matter."""

SEVERAL = 8
"""A level needs this many sampled rows."""


@dataclass(frozen=True)
class SeenSample:
    """What was seen.

    Attributes
    ----------
    pilot : Pilot
    too_many : float
        Share of the rows that form another group, too large to be accused.
    share : float
        Share of the rows that blocks should hold few of.
    wanted : int
        Rows of a block that represents the data.
    """

    pilot: Pilot
    too_many: float
    share: float
    wanted: int

    @property
    def accused_share(self) -> float:
        """Of the rows of the sample."""
        return float(self.pilot.accused.mean())


def look(problem: Problem, sample: ScaledSample, outlier_share: float, *, labels: bool) -> SeenSample:
    """Look at the sample of a problem with a curvature."""
    found, too_many = _pilot(problem, sample, labels=labels)
    share = float(found.accused.mean())
    if problem.risk.pairwise:  # no fit by which a row is surprising
        share = max(share, outlier_share)
    wanted = wanted_size(sample, ~found.accused, labels=labels, pairs=problem.risk.pairwise)
    return SeenSample(found, too_many, share, wanted)


def look_at_distances(sample: ScaledSample) -> SeenSample:
    """Accused rows without a predictor: so far out that no label usually has such rows."""
    found = pilot(None, sample.features, sample.targets, _furthest)
    with np.errstate(over="ignore", invalid="ignore"):
        away = found.screen.distances(sample.features)
    away = np.where(np.isnan(away), np.inf, away)
    far = min(found.screen.most_distance, MOST_DISTANCES * float(np.median(away)))
    accused = away >= far
    levels = [column for column in sample.features.T if _is_level(column)]
    share = float(accused.mean())
    if share > MOST_ACCUSED or any(_mostly_accused(values, accused) for values in (sample.targets, *levels)):
        return SeenSample(replace(found, accused=np.zeros_like(accused)), 0.0, 0.0, 0)
    screen = replace(found.screen, most_distance=far)
    return SeenSample(replace(found, screen=screen, accused=accused), 0.0, share, 0)


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
        if _is_level(column):
            low = column == column.min(initial=math.inf)
            rare = min(int(low.sum()), int((~low).sum()))
            wanted += [OF_A_LEVEL * len(column) / rare] if rare >= SEVERAL else []
    return min(MOST_WANTED, math.ceil(max(wanted)))


def _pilot(problem: Problem, sample: ScaledSample, *, labels: bool) -> tuple[Pilot, float]:
    """The pilot, and the share of rows that are too many to be accused or that fit no model."""
    risk = problem.risk if isinstance(problem.risk, PilotRisk) else None
    features, targets = sample.features, sample.targets
    found = pilot(risk, features, targets, _furthest, sample.clump is not None)
    if math.isfinite(found.screen.most_distance):
        levels = [column for column in features.T if _is_level(column)]
        if any(_mostly_accused(values, found.accused) for values in ([targets] * labels + levels)):
            found = finished(found.risk, features, targets, replace(found.screen, most_distance=math.inf))
    if found.accused.mean() <= MOST_ACCUSED:
        if not isinstance(risk, LinearRisk) or found.fit is None:
            return found, 0.0
        kept = ~found.accused
        of = features[kept], targets[kept], found.basis, sample.clump
        return found, float(kept.mean()) * share_of_others(*of)
    before, found = found, finished(found.risk, features, targets, RowScreen(found.screen.basis))
    return found, float((before.accused & ~found.accused).mean())


def _is_level(column: Floats) -> bool:
    """Whether a column marks a level: it has at most two values."""
    return bool(((column == column.min(initial=math.inf)) | (column == column.max(initial=-math.inf))).all())


def _mostly_accused(values: Floats, accused: Bools) -> bool:
    """Whether most rows of a value are accused: then being far out is a property of the value."""
    _, codes, counts = np.unique(values, return_inverse=True, return_counts=True)
    return bool(((2 * np.bincount(codes, accused, counts.size) > counts) & (counts >= ENOUGH)).any())


def _furthest(values: Floats, near: bool) -> float:
    return float(rows_apart(np.sort(values), NEAR if near else FAR, modes=near).hi)


def comparable(sample: ScaledSample, features: Floats, scaled: bool) -> ScaledSample:
    """The sample with features on one scale, over which distances of rows sum."""
    return sample if scaled else replace(sample, features=robust_scale(features, None).features(features))
