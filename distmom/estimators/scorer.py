"""A scorer for scikit-learn that a few outliers among the test rows cannot decide."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from distmom.checks import check_choice
from distmom.cluster.executors.backends import Threads
from distmom.designs.blocks import Blocks, as_design
from distmom.errors import ConfigError, DoubtfulResultWarning, NoAnswerError
from distmom.estimators.mean.mean import mean
from distmom.estimators.options import MeanOptions
from distmom.estimators.session import quietly, warns
from distmom.numerics.losses.table import LOSSES, log_of_given, names_of
from distmom.passes.scan import scan
from distmom.status import Status

RowLoss = Callable[[Any, Any], Any]

DOUBTFUL = (Status.BREAKDOWN_POINT_EXCEEDED, Status.SHARE_SCREENED_OUT)
"""A score with one of these warns: it may be wrong, or leaves out rows for which the model is so."""


@dataclass(frozen=True)
class RobustScorer:
    """What `robust_scorer` returns: call it with a fitted model and test rows.

    Two scorers with the same fields give the same score. It can be pickled if its loss can.
    """

    loss: str | RowLoss
    blocks: Blocks
    contamination: int | float | None
    response: str
    rng: int

    def __call__(self, estimator: Any, X: Any, y: Any) -> float:
        """Minus the robust mean loss of the rows; -inf where half or more of the blocks are non-finite."""
        losses = self.row_losses(estimator, X, y)
        try:
            # NaN losses must count against the model: they make their blocks non-finite instead of being left
            # out
            with quietly():
                found: Any = mean(
                    scan(losses, nan="keep"),
                    blocks=self.blocks,
                    contamination=self.contamination,
                    interval="none",
                    rng=self.rng,
                    executor=Threads(1),
                )
        except NoAnswerError:
            return float("-inf")
        doubts = [flag for flag in found.flags if flag in DOUBTFUL]
        if doubts and warns():
            words = f"robust_scorer: {'; '.join(doubts)}: inspect the losses with distmom.mean (`row_losses`)"
            warnings.warn(words, DoubtfulResultWarning, stacklevel=2)
        return float(-found.estimate) if np.isfinite(found.estimate) else float("-inf")

    def row_losses(self, estimator: Any, X: Any, y: Any) -> NDArray[np.float64]:
        """Loss of each row."""
        truth = np.asarray(y)
        if self.loss == "log":
            losses = _log_losses(estimator, X, truth)
        else:
            predicted = np.asarray(getattr(estimator, self.response)(X))
            loss = LOSSES[self.loss] if isinstance(self.loss, str) else self.loss
            losses = np.asarray(loss(truth, predicted), np.float64)
        if losses.shape != (truth.shape[0],):
            raise ConfigError(
                f"loss: must return one number per row, shape ({truth.shape[0]},), not {losses.shape}; "
                "average over outputs inside it"
            )
        return losses


def robust_scorer(
    loss: str | RowLoss,
    *,
    blocks: Blocks = "auto",
    contamination: int | float | None = None,
    response: str = "predict",
    rng: int = 0,
) -> RobustScorer:
    """A scorer for scikit-learn: minus the median of means of the losses of the test rows.

    For ``scoring=`` of `cross_val_score`, `GridSearchCV` and the like. The mean loss of a fold with a few
    corrupted rows is the loss of those rows; the median over blocks of rows is not. It estimates the mean
    loss of a row under independent rows and losses of finite variance.

    Parameters
    ----------
    loss : str or callable
        ``squared``, ``absolute``, ``huber`` (threshold 1), ``pinball`` (median), ``zero_one``, ``log`` (needs
        `predict_proba`), or ``loss(y_true, y_predicted)`` giving one number a row.
    blocks : int, {"auto", "paper"}, or block design
        As for `distmom.mean`. A fold of fewer than 40 rows has too few for the automatic rule, which then
        takes their sample mean: give a number.
    contamination : int or float, optional
        Number or share of outliers in a fold: takes the number of blocks that is best for it.
    response : str
        Method of the model whose output the loss takes.
    rng : int
        Decides the blocks: the same for all models, so that they are compared on the same ones.

    Returns
    -------
    RobustScorer
        ``scorer(estimator, X, y)``: greater is better.

    Raises
    ------
    ConfigError
        Unknown loss or option. A loss without a finite robust mean (NaN predictions, say) scores -inf.

    Notes
    -----
    A few milliseconds a fold. It warns (`DoubtfulResultWarning`) where the losses are ``breakdown point
    exceeded``, or a share of them was screened out.

    Examples
    --------
    >>> import numpy as np
    >>> import distmom as dm
    >>> class Constant:
    ...     def predict(self, X):
    ...         return np.zeros(len(X))
    >>> y = np.random.default_rng(0).normal(size=500)
    >>> y[:2] = 1e6
    >>> bool(-1.3 < dm.robust_scorer("squared")(Constant(), y[:, None], y) < -0.7)
    True
    """
    if isinstance(loss, str):
        check_choice("loss", loss, names_of("residual", "labels"))
    elif not callable(loss):
        raise ConfigError(f"loss: must be a name or a function of truths and predictions, not {loss!r}")
    if not isinstance(rng, int) or isinstance(rng, bool):
        raise ConfigError(
            f"rng: must be a whole number, so that all models are scored on the same blocks, not {rng!r}"
        )
    design = as_design(blocks)
    MeanOptions(design, contamination)
    return RobustScorer(loss, design, contamination, response, rng)


def _log_losses(estimator: Any, X: Any, truth: NDArray[Any]) -> NDArray[np.float64]:
    """Log losses from the probabilities of the classes; a class never seen in training has probability 0."""
    probabilities = np.asarray(estimator.predict_proba(X), np.float64)
    classes = np.asarray(estimator.classes_)
    place = {label: i for i, label in enumerate(classes.tolist())}
    columns = np.array([place.get(label, -1) for label in truth.tolist()])
    given = probabilities[np.arange(truth.shape[0]), columns]
    return log_of_given(np.where(columns >= 0, given, 0.0))
