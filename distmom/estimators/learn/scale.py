"""Robust location and scale of features and targets, so that one step size suits all."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from distmom.numerics.arrays import Bools, Floats
from distmom.numerics.median import MAD, lower_median
from distmom.solvers.clumps import clump, unit_of

OUTLYING = 20.0
"""Robust standard deviations from the centre beyond which a value counts as outlying."""

BLOCKS = 9

WITHIN = 3.0
"""Deviations from the centre at which values are clipped for a standard deviation, of normal ones 0.997."""

LEAST_OF_MORE = 0.05
"""A median distance below this share of the upper quartile is that of a value which about half have."""


@dataclass(frozen=True)
class Scale:
    """What is subtracted from rows, and what they are divided by.

    The share is of rows of the sample with a value more than 20 robust standard deviations from the centre;
    the other that of the column with most of them.
    """

    centre: Floats
    spread: Floats
    target_centre: float = 0.0
    target_spread: float = 1.0
    outlier_share: float = 0.0
    largest_share: float = 0.0
    clump: tuple[float, float] = (0.0, 0.0)  # a value that many targets have, and their share

    def features(self, rows: Floats) -> Floats:
        """Scaled features; their differences may overflow, which makes only their block non-finite."""
        with np.errstate(over="ignore", invalid="ignore"):
            return np.asarray((rows - self.centre) / self.spread)

    def targets(self, targets: Floats) -> Floats:
        """Scaled targets."""
        if self.target_centre == 0.0 and self.target_spread == 1.0:
            return targets
        with np.errstate(over="ignore", invalid="ignore"):
            return np.asarray((targets - self.target_centre) / self.target_spread)

    @property
    def clumped_target(self) -> float | None:
        """The value that many targets have, scaled; None without one."""
        value, share = self.clump
        return float(self.targets(np.array([value]))[0]) if share else None


def robust_scale(
    features: Floats,
    targets: Floats | None,
    *,
    scaled: bool = True,
    centred: bool = True,
    penalised: bool = False,
) -> Scale:
    """Medians and median absolute deviations of a sample of rows.

    If more than half of the values of a column are equal, the median over blocks of their standard deviations
    replaces the deviation; if these are mostly zero, too, it is 1.

    If many targets have one value, their unit is the root mean square. Without `targets` they stay as they
    are. Outlying values are counted even if features are not `scaled`. Deviations of features that are not
    `centred` are taken from zero, which is then the centre.

    The median absolute deviation of values with two modes, or of few values, is larger than their standard
    deviation, so a penalty on coefficients in its units is stronger. Features of a model that is `penalised`
    are divided by the smaller one; values far out are clipped.
    """
    centre, spread, outlying = _columns(features, centred, penalised)
    if not scaled:
        centre, spread = np.zeros_like(centre), np.ones_like(spread)
    if targets is None:
        return Scale(centre, spread, outlier_share=_share(outlying), largest_share=_most(outlying))
    middle, width, outlying_targets = _columns(targets[:, None])
    value, clumped = clump(targets)
    if clumped:
        with np.errstate(over="ignore", invalid="ignore"):
            unit = unit_of(targets, float(middle[0]), value)
        width = np.array([unit if unit > 0.0 and math.isfinite(unit) else 1.0])
        outlying_targets = np.abs(targets[:, None] - middle) > OUTLYING * width
    outlying = np.concatenate([outlying, outlying_targets], axis=1)
    of_targets = float(middle[0]), float(width[0])
    return Scale(centre, spread, *of_targets, _share(outlying), _most(outlying), (value, clumped))


def _share(outlying: Bools) -> float:
    return float(outlying.any(axis=1).mean())


def _most(outlying: Bools) -> float:
    return float(outlying.mean(axis=0).max(initial=0.0))


def _columns(values: Floats, centred: bool = True, penalised: bool = False) -> tuple[Floats, Floats, Bools]:
    """Centre and scale of each column, and which values are outlying."""
    with np.errstate(over="ignore", invalid="ignore"):
        centre = np.median(np.clip(values, *_LIMITS), axis=0) if centred else np.zeros(values.shape[1])
        away = np.abs(values - centre)
        most = np.minimum(away, _LIMITS[1])
        half, more = np.quantile(most, (0.5, 0.75), axis=0)
        deviation = MAD * np.where(half < LEAST_OF_MORE * more, 0.0, half)  # about half are of one value
        # columns with mostly one value have outlying values by nature: they are not counted
        outlying = away > OUTLYING * np.where(deviation > 0.0, deviation, np.inf)
    spread = np.where(deviation > 0.0, deviation, _block_deviation(away))
    if penalised:
        most = np.where(deviation > 0.0, WITHIN * deviation, np.inf)  # rare levels are not clipped
        with np.errstate(over="ignore", invalid="ignore"):
            standard = np.clip(values - centre, -most, most).std(axis=0)
        spread = np.where(standard > 0.0, np.fmin(spread, standard), spread)
    return centre, np.where((spread > 0.0) & np.isfinite(spread), spread, 1.0), np.asarray(outlying)


_LIMITS = (-1e300, 1e300)


def _block_deviation(away: Floats) -> Floats:
    """Lower median over blocks of the root mean square distance from the centre."""
    parts = np.array_split(away, min(BLOCKS, away.shape[0]))
    with np.errstate(over="ignore", invalid="ignore"):
        return lower_median(np.stack([np.sqrt((part * part).mean(axis=0)) for part in parts]), axis=0)
