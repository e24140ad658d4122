"""A linear score that ranks rows by their outcomes, learned from pairs."""

from __future__ import annotations

from typing import Any

import numpy as np

from distmom.checks import check_choice
from distmom.errors import DataError
from distmom.estimators.learn.batches import BatchLearner
from distmom.estimators.learn.learner import largest_curvature
from distmom.estimators.learn.options import check_positive
from distmom.estimators.learn.run import Learned, Problem, Sample
from distmom.numerics.arrays import Floats
from distmom.numerics.losses.pair_risks import RankingRisk
from distmom.numerics.losses.table import names_of
from distmom.numerics.ranks.order import order_counts


class PairwiseRanker(BatchLearner):
    """Linear score whose order is that of the outcomes, by robust descent on the risk of pairs.

    Parameters
    ----------
    loss : {"logistic", "hinge"}
        Of ``-(s(x) - s(x')) sign(y - y')``, for all pairs of rows of a block.
    alpha : float
        Half of this times the squared length of the coefficients of scaled features is added to the loss: it
        keeps the score finite where rows can be ranked without fault.
    n_blocks, block_size, contamination, aggregator, step_rule, step_size, max_iter, averaging, clip
        As for `MahalanobisMetric`.
    early_stopping, tol, scaling, random_state
        As for `MahalanobisMetric`.

    Attributes
    ----------
    coef_ : ndarray, shape (d,)
    n_iter_, status_, advice_, history_, n_skipped_blocks_, n_blocks_, block_size_, wild_share_, seed_, mode_
        As for `MahalanobisMetric`.

    Notes
    -----
    Pairs of equal outcomes contribute nothing but count. Blocks of equal outcomes are passed over and
    counted. Cost of a step: K B^2 + B d.

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

    def __init__(
        self,
        *,
        loss: str = "logistic",
        alpha: float = 1e-3,
        n_blocks: int = 11,
        block_size: int | None = None,
        contamination: float | None = None,
        aggregator: str = "median_block",
        step_rule: str = "decaying",
        step_size: float = 1.0,
        max_iter: int = 500,
        averaging: str = "mean",
        clip: float = 3.0,
        early_stopping: bool | str = "auto",
        tol: float = 1e-3,
        scaling: str = "robust",
        random_state: Any = None,
    ) -> None:
        self._keep(locals())

    def _settle(self, found: Learned) -> None:
        self.coef_ = found.x / found.scale.spread

    def predict(self, X: Any) -> Floats:
        """Scores: only their order has a meaning."""
        return np.asarray(self._checked(X) @ self.coef_)

    def score(self, X: Any, y: Any) -> float:
        """Share of the pairs of different outcomes that the scores put in their order, ties as one half."""
        outcomes = np.array(y, np.float64)
        n = outcomes.size
        pairs, _ = order_counts(outcomes, self.predict(X), rows=False)
        different = n * (n - 1) // 2 - pairs.x_tied
        if not different:
            return float("nan")
        return float(1.0 - (pairs.discordant + 0.5 * (pairs.y_tied - pairs.both_tied)) / different)

    def _problem(self, sample: Sample) -> Problem:
        check_choice("loss", self.loss, names_of("margin", slope=True))
        check_positive("alpha", self.alpha, zero=True)
        if np.unique(sample.targets).size < 2:
            raise DataError("y: all outcomes are equal, so there is no pair to rank")
        start = np.zeros(sample.features.shape[1])
        step = 4.0 / (largest_curvature(sample.blocks()[0]) + self.alpha)
        return Problem(RankingRisk(self.loss, self.alpha), start, step, blind=True)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags
