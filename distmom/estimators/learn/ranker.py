"""A linear score that ranks rows by their outcomes, learned from pairs."""

from __future__ import annotations

from typing import Any

import numpy as np

from distmom.checks import check_choice
from distmom.errors import DataError
from distmom.estimators.learn.learner import Learner
from distmom.estimators.learn.parameters import with_shared_parameters
from distmom.estimators.learn.run import Problem, ScaledSample, Training
from distmom.estimators.learn.start.penalty import check_penalty, penalty_of
from distmom.numerics.arrays import Floats
from distmom.numerics.linalg.curvature import largest_curvature
from distmom.numerics.losses.pair_risks import RankingRisk
from distmom.numerics.losses.table import names_of
from distmom.numerics.ranks.order import order_counts


@with_shared_parameters
class PairwiseRanker(Learner):
    """Linear score that orders rows by outcome, by robust descent on the risk of pairs.

    Parameters
    ----------
    loss : {"logistic", "hinge"}
        Loss of ``-(s(x) - s(x')) sign(y - y')``, over all pairs of rows of a block.
    alpha : float or "auto"
        L2 penalty: half of this times the squared norm of the coefficients of scaled features is added. It
        keeps the score finite if rows can be ranked without error. ``"auto"`` is one over n times the root of
        n, for n sampled rows, at most 8,192: between that of n independent rows and that of all their pairs.

    Attributes
    ----------
    coef_ : ndarray, shape (d,)

    Notes
    -----
    Steps are those of `RobustLinearRegression`. The first model, by the logistic loss, is a logistic
    regression on the differences of up to 65,536 pairs of sampled rows. No row is accused for its outcome,
    but rows have less weight the further out they are if the others are then ordered better by four standard
    errors. If there are at most 8,192 rows it is the model, unless the steps end at a better one.

    Pairs of equal outcomes contribute nothing but are counted. Blocks in which all outcomes are equal are
    skipped and counted. A step costs K B^2 + B d.

    Examples
    --------
    >>> import numpy as np
    >>> import distmom as dm
    >>> g = np.random.default_rng(0)
    >>> X = g.normal(size=(500, 3))
    >>> y = np.exp(X @ [1.0, -1.0, 0.0])
    >>> X[:10] *= -1e6
    >>> bool(dm.PairwiseRanker(random_state=0).fit(X, y).score(X[10:], y[10:]) > 0.97)
    True
    """

    _linear = True
    _of_pairs = True

    loss: str = "logistic"
    alpha: float | str = "auto"
    aggregator: str = "trimmed_mean"
    scaling: str = "whitened"

    def _settle(self, found: Training) -> None:
        self.coef_ = found.x / found.scale.spread

    def predict(self, X: Any) -> Floats:
        """Scores; only their order has a meaning."""
        return np.asarray(self._checked(X) @ self.coef_)

    def score(self, X: Any, y: Any) -> float:
        """Share of the pairs of different outcomes that the scores order correctly; ties count half."""
        return share_in_order(np.array(y, np.float64), self.predict(X))

    def _check_own(self) -> None:
        check_choice("loss", self.loss, names_of("margin", slope=True))
        check_penalty(self.alpha)

    def _problem(self, sample: ScaledSample) -> Problem:
        if np.unique(sample.targets).size < 2:
            raise DataError("y: all outcomes are equal, so there is no pair to rank")
        start = np.zeros(sample.features.shape[1])
        alpha = penalty_of(self.alpha, sample, pairs=True)
        step = 4.0 / (largest_curvature(sample.blocks()[0]) + alpha)
        return Problem(RankingRisk(self.loss, alpha), start, step, blind=True, curvature=0.25)


def share_in_order(outcomes: Floats, scores: Floats) -> float:
    """Share of the pairs of different outcomes that the scores order correctly; ties count half."""
    n = outcomes.size
    pairs, _ = order_counts(outcomes, scores, rows=False)
    different = n * (n - 1) // 2 - pairs.x_tied
    if not different:
        return float("nan")
    return float(1.0 - (pairs.discordant + 0.5 * (pairs.y_tied - pairs.both_tied)) / different)
