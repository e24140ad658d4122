"""Centres of clusters by robust gradient descent."""

from __future__ import annotations

from dataclasses import field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from distmom.checks import check_choice, check_count, check_positive
from distmom.errors import NoAnswerError
from distmom.estimators.learn.bases import ClusterMixin, TransformerMixin
from distmom.estimators.learn.data import is_lake
from distmom.estimators.learn.learner import Learner
from distmom.estimators.learn.parameters import with_shared_parameters
from distmom.estimators.learn.run import Problem, ScaledSample, Training
from distmom.estimators.learn.scale import Scale
from distmom.numerics.arrays import Floats
from distmom.numerics.losses.block_risk import BlockRisk
from distmom.numerics.losses.cell_risks import QuantisationRisk, SoftCellRisk, squared_to_centres
from distmom.numerics.median import lower_median
from distmom.numerics.random.philox import permutation, stream_key, uniform

ROUNDS = 5
"""Rounds of Lloyd's algorithm that refine a start on its few rows."""


@with_shared_parameters
class RobustKMeans(TransformerMixin, ClusterMixin, Learner):
    """Centres of clusters that wild rows cannot draw to themselves.

    Parameters
    ----------
    n_clusters : int
    loss : {"kmeans", "pairs"}
        Mean squared distance to the nearest centre; or the paper's clustering risk, the mean over pairs of
        their squared distance times the chance of being in the same cell, with soft cells.
    temperature : float
        For ``"pairs"``: squared distance, in units of a row's to its centre, over which membership fades.
    n_init : int
        Starts, each k-means++ on few rows; that of least median-of-means risk is taken.

    Attributes
    ----------
    cluster_centers_ : ndarray, shape (n_clusters, d)
    labels_ : ndarray of int32, shape (n,)
        Nearest centres of the rows; not for lakes.
    feature_centre_, feature_spread_ : ndarray, shape (d,)
        What is taken off features, and what they are divided by, before distances are measured.

    Notes
    -----
    Distances are those of scaled features; ``scaling="none"`` takes them as they are. A start on few rows is
    clean with a good chance, and blocks with wild rows are not the median block.

    Examples
    --------
    >>> import numpy as np
    >>> import distmom as dm
    >>> g = np.random.default_rng(0)
    >>> X = np.concatenate([g.normal(size=(200, 2)), g.normal(size=(200, 2)) + 9])
    >>> X[:4] = 1e6
    >>> found = dm.RobustKMeans(2, random_state=0).fit(X)
    >>> sorted(found.cluster_centers_.round(0)[:, 0].tolist())
    [-0.0, 9.0]
    """

    _needs_target = False
    _clusters = True

    n_clusters: int = field(default=8, kw_only=False)
    loss: str = "kmeans"
    temperature: float = 1.0
    n_init: int = 20
    max_iter: int = 300

    def fit(self, X: Any, y: Any = None, **lake: Any) -> RobustKMeans:
        """As for `MahalanobisMetric`; y is not looked at."""
        super().fit(X, None, **lake)
        if not is_lake(X, None):
            self.labels_ = self.predict(X)
        return self

    def partial_fit(self, X: Any, y: Any = None) -> RobustKMeans:
        """As for `RobustLinearRegression`; y is not looked at."""
        super().partial_fit(X)
        self.labels_ = self.predict(X)
        return self

    def _check_own(self) -> None:
        check_choice("loss", self.loss, ("kmeans", "pairs"))
        check_count("n_clusters", self.n_clusters)
        check_count("n_init", self.n_init)
        check_positive("temperature", self.temperature)

    def _settle(self, found: Training) -> None:
        self.feature_centre_, self.feature_spread_ = found.scale.centre, found.scale.spread
        centres = found.x.reshape(self.n_clusters, -1)
        self.cluster_centers_ = centres * found.scale.spread + found.scale.centre

    def predict(self, X: Any) -> NDArray[np.int32]:
        """Numbers of the nearest centres."""
        return np.asarray(self._squares(X).argmin(axis=1), np.int32)

    def transform(self, X: Any) -> Floats:
        """Distances, of scaled features, to the centres."""
        return np.asarray(np.sqrt(self._squares(X)))

    def score(self, X: Any, y: Any = None) -> float:
        """Minus the mean squared distance to the nearest centre."""
        return -float(self._squares(X).min(axis=1).mean())

    def _squares(self, X: Any) -> Floats:
        rows, scale = self._checked(X), Scale(self.feature_centre_, self.feature_spread_)
        return squared_to_centres(scale.features(rows), scale.features(self.cluster_centers_))

    @property
    def _least_size(self) -> int:
        return max(2, 2 * int(self.n_clusters))

    def _problem(self, sample: ScaledSample) -> Problem:
        if len(sample.features) < self.n_clusters:
            raise NoAnswerError(
                f"n_clusters: {self.n_clusters} clusters are more than the {len(sample.features)} rows; "
                "take fewer"
            )
        judge = QuantisationRisk(self.n_clusters)
        blocks, none = sample.blocks()
        starts = [self._start(sample, number) for number in range(self.n_init)]
        losses = np.array([lower_median(judge.losses(start.ravel(), blocks, none)) for start in starts])
        best = starts[int(np.argmin(np.where(np.isnan(losses), np.inf, losses)))]
        sizes = np.bincount(squared_to_centres(sample.features, best).argmin(axis=1))
        step = 0.5 / float((sizes / len(sample.features)).max())
        risk: BlockRisk = judge
        if self.loss == "pairs":
            width = float(np.nanmin(losses)) or 1.0
            risk = SoftCellRisk(self.n_clusters, self.temperature * width)
            step *= 0.5 * self.n_clusters
        return Problem(risk, best.ravel(), step)

    def _start(self, sample: ScaledSample, number: int) -> Floats:
        """k-means++ on few rows of the sample, refined on them."""
        key = stream_key(sample.seed, "kmeans/start")
        n = len(sample.features)
        few = min(n, max(10 * self.n_clusters, 50))
        rows = sample.features[permutation(key, number, n)[:few]]
        draws = uniform(key, number, self.n_clusters, node=1)
        centres = rows[:1]
        for draw in draws[1:]:
            far = squared_to_centres(rows, centres).min(axis=1)
            far = np.where(np.isfinite(far), far, 0.0)
            reached = np.cumsum(far)
            place = int(np.searchsorted(reached, draw * reached[-1], side="right"))
            centres = np.concatenate([centres, rows[min(place, few - 1)][None]])
        for _ in range(ROUNDS):
            nearest = squared_to_centres(rows, centres).argmin(axis=1)
            for c in range(self.n_clusters):
                if (nearest == c).any():
                    with np.errstate(over="ignore"):  # the start is then not taken
                        centres[c] = rows[nearest == c].mean(axis=0)
        return centres
