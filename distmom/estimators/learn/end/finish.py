"""The end of a training: how it ended, which fit is the model, and what is doubtful about it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from distmom.estimators.learn.doubts.doubts import doubts_of
from distmom.estimators.learn.end.fits import better, near_middle, settled
from distmom.estimators.learn.survey import loss_flags
from distmom.numerics.arrays import Floats
from distmom.solvers.descent import judged
from distmom.solvers.optimality import ERRORS
from distmom.solvers.screen import PilotRisk, RowScreen
from distmom.solvers.status import FITTED, WORSE_STEPS

if TYPE_CHECKING:
    from distmom.estimators.learn.rows import FileRanges
    from distmom.estimators.learn.run import Training
    from distmom.solvers.held_out import HeldOut


def finish(
    training: Training,
    files: FileRanges | None,
    judges: tuple[Floats, Floats] | None,
    looks: HeldOut | None = None,
) -> None:
    """Set the status, the model and its doubts, in place; the `judges` are rows that say how good it is.

    `looks` are blocks that have not judged the status yet.
    """
    if looks is not None:
        training.status = judged(training.status, looks, training.found)
    if training.sample is not None:
        _take_best(training, *training.sample)
        of = training.risk, training.x, training.sample, training.accused, training.scale
        training.doubts = doubts_of(*of, files, training.numbers)
        training.sample = training.numbers = None
    if judges is not None:
        training.loss_flags = loss_flags(training.risk, training.x, *judges, training.seed)


def _take_best(training: Training, rows: Floats, targets: Floats) -> None:
    """Take the fit to the sample if it holds all rows and the descent is no better, or if that is worse."""
    fit, screen, risk = training.fit, training.accused, training.risk
    training.fit = None
    if fit is None or not isinstance(screen, RowScreen) or not isinstance(risk, PilotRisk):
        return
    # far out the rows of a ranking may have less weight in the fit, which is then no minimum for them
    kept = near_middle(screen, rows, targets) if risk.pairwise else ~screen(rows, targets)
    if not settled(risk, fit.x, rows[kept], targets[kept], training.coordinates):
        return
    errors = better(risk, training.x, fit, rows, targets, screen)
    if errors > ERRORS if fit.whole else errors >= -ERRORS:
        return
    training.x, training.status = fit.x, FITTED if fit.whole else WORSE_STEPS
    of = training.coordinates
    training.found = fit.x if of is None else of.place(fit.x)
    training.state.x = training.found.copy()  # further batches continue from here
