"""A robust fit to a sample of rows, from which a descent starts and by which bad rows are found.

Distances of rows use the moments of the three quarters of rows that are nearest (Rousseeuw & Van Driessen
1999, Technometrics), starting from wrapped values. The fit gives rows less weight the further out they are
(Mallows; Künsch, Stefanski & Carroll 1989, JASA); residuals are then judged by their own scale with a weight
that falls to zero (Yohai 1987, Ann. Statist.).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import betainc

from distmom.numerics.arrays import Bools, Floats
from distmom.numerics.linalg.whitening import MOST_WHITENED, whitening, with_ones, wrapped
from distmom.numerics.losses.pair_risks import RankingRisk
from distmom.numerics.losses.row_risks import LinearRisk, PredictorRisk, SoftmaxRisk
from distmom.numerics.losses.touching import solved, touched
from distmom.numerics.median import MAD
from distmom.solvers.fits.rankings import fit_of_rankings
from distmom.solvers.fits.several_classes import fit_of_classes
from distmom.solvers.moved import moved
from distmom.solvers.screen import HUGE, PilotRisk, RowScreen, distances

NEAREST, CONCENTRATIONS = 0.75, 4
"""Share of the rows whose moments define distances, and the number of rounds that select these rows."""

FAR_OUT = 1.5
"""Median distances from which a row has less weight, and from which it is flagged if it is surprising."""

SURPRISING = 5.0
"""Scales of the residuals; for labels the root of twice the loss, for which 1 is usual."""

MOSTLY, OF_LABELS, CHANCE = 0.6, 0.25, 1e-4
"""Rows far out are flagged if this share of the furthest is surprising (for labels, which agree half of the
time anyway, the second number), and chance makes that less probable than the third. If the noise grows with
the features many of them are surprising, but hardly most."""

MOST_ITERATIONS = 30
HUBER, BISQUARE = 1.345, 4.685
LEAST_SPREAD = 1e-6
"""Least scale of residuals, in scales of the targets: smaller ones are rounding."""

OPERATIONS = 1 << 28
"""Approximate operations of one iteration: with many features the fit uses fewer rows."""

Furthest = Callable[[Floats, bool], float]
"""The least of some numbers that stand apart far above all others; infinity if none do. If the second
argument is true they may be nearer, at distances that prove nothing by themselves."""


@dataclass(frozen=True)
class Pilot:
    """Results from a sample: coordinates, a fit if the risk is one of predictors, and the flagged rows.

    The risk is that of the descent: its loss bends where the residuals of these rows end.
    """

    basis: Floats
    fit: Floats | None
    screen: RowScreen
    accused: Bools  # flags of the rows of the sample
    risk: PilotRisk | None = None
    n_fitted: int = 0  # rows of the fit


def pilot(
    risk: PilotRisk | None, rows: Floats, targets: Floats, furthest: Furthest, clumped: bool = False
) -> Pilot:
    """Fit and screen scaled rows; without a risk, only by their distance.

    Targets are `clumped` if many share one value.
    """
    sane = (np.abs(rows) < HUGE).all(axis=1) & (np.abs(targets) < HUGE)
    x, y = rows[sane], targets[sane]
    if not len(x):
        basis = np.eye(rows.shape[1] + 1)
        return Pilot(basis, None, RowScreen(basis), ~sane)
    few = slice(max(4 * x.shape[1], OPERATIONS // (x.shape[1] + 1) ** 2))
    basis = _concentrated(x[few])
    z = with_ones(x) @ basis
    away = distances(z)
    screen = RowScreen(basis, most_distance=furthest(away, False))
    # the outcome of one row tells nothing of its score, so that none is surprising
    if risk is not None and not isinstance(risk, RankingRisk) and x.shape[1] < MOST_WHITENED:
        fit = _fit(risk, z[few], y[few], away[few], basis, clumped)
        if fit is not None:
            surprise = risk.surprise(z @ fit, y)
            spread, most, mostly = 1.0, math.inf, OF_LABELS
            if isinstance(risk, LinearRisk):
                spread, mostly = 1.0 if clumped else _spread(surprise), MOSTLY
                most = max(furthest(surprise, False), SURPRISING * spread)
                risk = risk if clumped else risk.narrowed(spread)
            usual = float(np.median(away))
            screen = replace(screen, risk=risk, fit=basis @ fit, most_surprise=most)
            apart = away[few] >= furthest(away, True)
            if apart.any() and _moved(risk, z[few], y[few], apart, basis):
                screen = replace(screen, most_distance=float(away[few][apart].min()))
            if _together(away, FAR_OUT * usual, surprise > SURPRISING * spread, mostly):
                screen = replace(screen, distance=FAR_OUT * usual, surprise=SURPRISING * spread)
    return finished(risk, rows, targets, screen)


def finished(risk: PilotRisk | None, rows: Floats, targets: Floats, screen: RowScreen) -> Pilot:
    """Coordinates and a fit for the rows that a screen keeps."""
    accused = screen(rows, targets)
    x, y = rows[~accused], targets[~accused]
    basis = whitening(with_ones(x)) if len(x) else screen.basis
    fit = None
    if risk is not None and len(x) and x.shape[1] < MOST_WHITENED:
        few = slice(max(4 * x.shape[1], OPERATIONS // (x.shape[1] + 1) ** 2))
        of = with_ones(x[few]) @ basis, y[few], np.ones(len(x[few])), basis
        found: Floats | None
        if isinstance(risk, SoftmaxRisk):
            found = fit_of_classes(risk, *of)
        elif isinstance(risk, RankingRisk):
            weights = weights_of(screen.distances(x[few]))
            found = fit_of_rankings(risk, *of[:2], weights, basis)
        else:
            begin = np.zeros(len(basis))
            if screen.fit is not None:
                begin = np.asarray(np.linalg.solve(basis, screen.fit), np.float64)
            found = touched(risk, *of, begin)
            at = [risk.losses(basis @ v, x[None, few], y[None, few]) for v in (begin, found)]
            found = begin if at[0] < at[1] else found  # a kink leads away from a fit without residuals
        fit = None if found is None else basis @ found
        fit = fit if fit is None or np.isfinite(fit).all() else None
    n_fitted = 0 if fit is None else len(x[few])
    return Pilot(basis, fit, screen, accused, risk, n_fitted)


def _together(away: Floats, far: float, surprising: Bools, mostly: float) -> bool:
    """Whether the rows furthest out, as many as are both far out and surprising, are mostly surprising.

    Surprising rows from the tails of the noise can be anywhere, and a few may be far out by chance.
    """
    k = int(((away > far) & surprising).sum())
    if not k:
        return False
    hits = int(surprising[np.argpartition(away, away.size - k)[away.size - k :]].sum())
    by_chance = betainc(hits, k - hits + 1, surprising.mean())  # this many or more
    return bool(hits >= mostly * k and by_chance < CHANCE)


def _moved(risk: PredictorRisk | SoftmaxRisk, z: Floats, y: Floats, group: Bools, basis: Floats) -> bool:
    """Whether a fit to all rows differs from one to those outside a group; not asked of several classes."""
    if isinstance(risk, SoftmaxRisk):
        return False

    def fitted(z: Floats, y: Floats, begin: Floats) -> Floats:
        return touched(risk, z, y, np.ones(len(y)), basis, begin)

    others = z[~group], y[~group]
    alone = fitted(*others, np.zeros(z.shape[1]))
    return moved(risk, *others, alone, fitted(z, y, alone))


def _concentrated(rows: Floats) -> Floats:
    """Coordinates from the rows that are closest together."""
    basis, every = whitening(with_ones(wrapped(rows))), with_ones(rows)
    for _ in range(CONCENTRATIONS):
        away = distances(every @ basis)
        basis = whitening(every[away <= np.quantile(away, NEAREST)])
    return basis


def _fit(
    risk: PredictorRisk | SoftmaxRisk, z: Floats, y: Floats, away: Floats, basis: Floats, clumped: bool
) -> Floats | None:
    """Parameters in the coordinates of z; None if most targets have one value: far ones are usual then."""
    weights = weights_of(away)
    if isinstance(risk, SoftmaxRisk):
        return fit_of_classes(risk, z, y, weights, basis)
    begin = np.zeros(z.shape[1])
    if not isinstance(risk, LinearRisk) or clumped:
        return touched(risk, z, y, weights, basis, begin)
    if not np.median(np.abs(y - np.median(y))) > 0.0:
        return None
    return _reweighted(z, y, weights)


def weights_of(away: Floats) -> Floats:
    """Weights of rows at these distances from the middle: less for those far out, whatever their targets."""
    return np.minimum(1.0, FAR_OUT * float(np.median(away)) / np.maximum(away, 1e-300)) ** 2


def _reweighted(z: Floats, y: Floats, weights: Floats) -> Floats:
    """Least squares with weights that fall with the residual, in units of its own scale."""
    found = np.zeros(z.shape[1])

    def fitted(weights: Floats) -> Floats:
        return solved((z * weights[:, None]).T @ z, z.T @ (weights * y))

    for _ in range(MOST_ITERATIONS):
        away = np.abs(y - z @ found)
        bend = np.minimum(1.0, HUBER * _spread(away) / np.maximum(away, 1e-300))
        before, found = found, fitted(weights * bend)
        if np.abs(found - before).max() <= 1e-3 * _spread(away):
            break
    for _ in range(MOST_ITERATIONS):
        away = np.abs(y - z @ found) / (BISQUARE * _spread(np.abs(y - z @ found)))
        before, found = found, fitted(np.maximum(1.0 - away * away, 0.0) ** 2)
        if np.abs(found - before).max() <= 1e-3 * _spread(np.abs(y - z @ found)):
            break
    return found


def _spread(away: Floats) -> float:
    return max(MAD * float(np.median(away)), LEAST_SPREAD)
