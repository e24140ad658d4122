"""Which fit is the model: the end of the descent, or one of the fits to the sampled rows.

A descent averages noisy steps on most of the rows, and its blocks may miss what is rare. The fit to the
sampled rows that are not accused has neither fault. Where the sample holds all rows it is more accurate,
otherwise the descent is, which has seen more of them. If accused rows are real, the fit to all rows is best.

Fits are compared by the mean of the paired differences of their losses on rows that are near the middle of
the features. There predictions differ by little, and slopes are bounded, so a bad target counts for no more
than another row. Bad rows far out, which the better fit does not follow, are not asked; rare labels, which
medians of small blocks ignore, count in full.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from distmom.numerics.arrays import Floats, Ints
from distmom.numerics.losses.pair_risks import RankingRisk
from distmom.numerics.losses.row_risks import LinearRisk, PredictorRisk
from distmom.numerics.losses.touching import solved
from distmom.solvers.coordinates import Coordinates
from distmom.solvers.fits.rankings import bending_pairs
from distmom.solvers.optimality import FEWEST, NEGLIGIBLE, standard_errors
from distmom.solvers.pilot import FAR_OUT
from distmom.solvers.screen import PilotRisk, RowScreen

FEWEST_NEAR = 32
"""With fewer rows near the middle nothing is compared."""

BLOCKS = 31
"""Blocks whose gradients tell whether a fit to the sample is at its minimum."""


@dataclass(frozen=True)
class SampleFit:
    """A fit to the sampled rows that are not accused.

    Attributes
    ----------
    x : ndarray of float64, shape (p,)
        Parameters, class after class.
    n_rows : int
        Rows of the fit.
    whole : bool
        Whether these are all rows that are learned from.
    """

    x: Floats
    n_rows: int
    whole: bool


def better(
    risk: PilotRisk, descended: Floats, fit: SampleFit, rows: Floats, targets: Floats, screen: RowScreen
) -> float:
    """Standard errors by which the descent's losses are below those of the fit to the sample.

    Rows of the sample that are near the middle and not accused are compared; 0 if they are too few. A fit
    has seen the rows by which it is judged: its mean loss on them is less than on others by p E[s^2] /
    (n E[b]), for p parameters, slopes s and curvatures b of the loss; for pairs by the trace of the variance
    of the gradient over the curvature (Takeuchi 1976). If the sample holds all
    rows, both fits have seen them.
    """
    near = near_middle(screen, rows, targets)
    x, y = rows[near], targets[near]
    if len(y) < FEWEST_NEAR:
        return 0.0
    seen = 0.0 if fit.whole else _optimism(risk, fit, x, y)
    gain = risk.row_losses(fit.x, x, y) - risk.row_losses(descended, x, y) + seen
    return standard_errors(gain) / risk.least_rows


def near_middle(screen: RowScreen, rows: Floats, targets: Floats) -> Ints:
    """The numbers of the rows that are not accused and lie within 1.5 median distances of the middle."""
    kept = np.flatnonzero(~screen(rows, targets))
    away = screen.distances(rows[kept])
    return kept[away <= FAR_OUT * np.median(away)] if len(kept) else kept


def settled(
    risk: PilotRisk, x: Floats, rows: Floats, targets: Floats, coordinates: Coordinates | None
) -> bool:
    """Whether the gradient on these rows is smaller than its noise: whether this is the fit to them.

    In whitened coordinates half its square is what a step would gain.
    """
    if len(targets) < FEWEST:
        return False
    with np.errstate(over="ignore", invalid="ignore"):
        every = risk.gradient(x, rows, targets)
        gradients = np.concatenate([every[None], _gradients(risk, x, rows, targets)])
        if coordinates is not None:
            gradients = coordinates.gradients(gradients)
        square = float(gradients[0] @ gradients[0])
        noise = float(gradients[1:].var(axis=0, ddof=1).sum()) / (len(gradients) - 1)
    return square <= max(noise, 2.0 * NEGLIGIBLE)


def has_bounded_slope(risk: PilotRisk) -> bool:
    """Whether one row's loss changes by no more than its prediction does."""
    return not (isinstance(risk, LinearRisk) and risk.loss == "squared")


def _gradients(risk: PilotRisk, x: Floats, rows: Floats, targets: Floats) -> Floats:
    """Of blocks."""
    blocks = [k for k in np.array_split(np.arange(len(targets)), BLOCKS) if k.size]
    return np.stack([risk.gradient(x, rows[k], targets[k]) for k in blocks])


def _optimism(risk: PilotRisk, fit: SampleFit, rows: Floats, targets: Floats) -> float:
    if isinstance(risk, RankingRisk):
        between, bends = bending_pairs(rows, targets, fit.x)
        curvature = (between * bends[:, None]).T @ between / len(bends)
        noise = np.cov(_gradients(risk, fit.x, rows, targets).T) / BLOCKS
        return float(np.trace(solved(curvature, np.atleast_2d(noise)))) * len(targets) / fit.n_rows
    ratio = 1.0  # of labels, if their probabilities are right
    if isinstance(risk, PredictorRisk):
        predicted = rows @ fit.x[:-1] + fit.x[-1]
        slopes, bends = risk.touching(predicted, targets)[0], risk.bends(predicted, targets)
        ratio = float((slopes * slopes).mean() / max(float(bends.mean()), 1e-12))
    return fit.x.size * ratio / fit.n_rows
