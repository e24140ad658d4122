"""Centres of clusters by robust gradient descent."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from distmom.checks import check_choice, check_count, check_positive
from distmom.errors import NoAnswerError
from distmom.estimators.learn.bases import ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin
from distmom.estimators.learn.data import is_lake
from distmom.estimators.learn.doubts.far_clusters import far_clusters
from distmom.estimators.learn.learner import Learner
from distmom.estimators.learn.parameters import with_shared_parameters
from distmom.estimators.learn.run import Problem, ScaledSample, Training
from distmom.estimators.learn.scale import Scale
from distmom.estimators.learn.survey import Real, Sample
from distmom.estimators.surveyed import Survey
from distmom.inference.status import in_order
from distmom.numerics.arrays import Floats
from distmom.numerics.losses.cell_risks import CellRisk, QuantisationRisk, SoftCellRisk, squared_to_centres
from distmom.solvers.lloyd import centres_of
from distmom.solvers.status import SMALL_CLUSTER, DescentStatus
from distmom.status import Status

SEEN, LEAST_SEEN = 5, 3
"""Rows of the smallest cluster that a block should have, and the fewest it may have: 95% have one."""

SEE_RARE = ("trimmed_mean", "plain")
"""Aggregators by which also the few blocks with a row of a cluster move its centre."""

MOST_ROWS, MOST_ROWS_OF_PAIRS = 1_024, 64

FEW = 0.01
"""Share of rows far from all centres that is reported."""

STEP = 0.25
"""Half the way from a centre to the mean of the rows of its cell."""


@with_shared_parameters
class RobustKMeans(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, Learner):
    """Cluster centres that outlying rows cannot attract.

    Parameters
    ----------
    n_clusters : int
    loss : {"kmeans", "pairs"}
        Mean squared distance to the nearest centre; or the paper's clustering risk: the mean over pairs of
        rows of their squared distance times the probability that both are in one cell, with soft cells.
    temperature : float
        For ``"pairs"``: squared distance over which membership fades, in units of a row's squared distance to
        its centre.
    n_init : int
        Starts: each is k-means++ and Lloyd's iterations on a sample of at most 8,192 rows; the best is kept.

    Attributes
    ----------
    cluster_centers_ : ndarray, shape (n_clusters, d)
    labels_ : ndarray of int32, shape (n,)
        Nearest centre of each row; not for lakes.
    status_ : str
        As for other learners; the gradient decides the end. ``"cluster too small"`` if sampled rows lie
        together without a centre, or, with an aggregator that ignores what is rare, if a block has on average
        fewer than three rows of the smallest cluster.
    feature_centre_, feature_scale_ : ndarray, shape (d,)
        What is subtracted from features, and what they are divided by, before distances are measured.

    Notes
    -----
    Distances are those of scaled features; ``scaling="none"`` leaves features as they are. The cost of a row
    is its squared distance to the nearest centre, capped at 36 times the squared distance within which 85% of
    the sampled rows lie. So scattered outliers attract no centre, while small clusters do. Rows of a small
    cluster that is much wider than the others attract none either. If more than 1% of the rows attract no
    centre, ``flags_`` has ``share far out``. Rows that the mean of a column would screen out are left out
    here, too, unless they lie as close together as the rows of a cluster.

    Since no row costs more than the cap, the mean of the blocks without far ones is the direction. The
    gradient is judged on held-out blocks, or else on those of the sample, in which the descent stops as well.
    Blocks hold five rows of the smallest cluster of the start, if there are enough rows (at most 1,024; 64
    for ``"pairs"``).

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
    _bounded = True  # by the cap of what a row may cost
    _smallest = 1.0
    """Share of the sampled rows in the smallest cell of the start."""
    _left_out = 0.0
    """Share of the sampled rows in a cluster without a centre."""
    _beyond = 0.0
    """Share of the sampled rows too far from all centres to attract one."""

    n_clusters: int = field(default=8, kw_only=False)
    loss: str = "kmeans"
    temperature: float = 1.0
    n_init: int = 10
    aggregator: str = "trimmed_mean"
    max_iter: int = 300

    def fit(self, X: Any, y: Any = None, **lake: Any) -> RobustKMeans:
        """As for `MahalanobisMetric`; y is ignored."""
        super().fit(X, None, **lake)
        if not is_lake(X, None):
            self.labels_ = self.predict(X)
        return self

    def partial_fit(self, X: Any, y: Any = None) -> RobustKMeans:
        """As for `RobustLinearRegression`; y is ignored."""
        super().partial_fit(X)
        self.labels_ = self.predict(X)
        return self

    def _real(self, columns: Sequence[str], sample: Sample, seed: int) -> Real:
        k = int(self.n_clusters)
        return lambda cuts: far_clusters(columns, cuts, sample()[0], k, seed)

    def _check_own(self) -> None:
        check_choice("loss", self.loss, ("kmeans", "pairs"))
        check_count("n_clusters", self.n_clusters)
        check_count("n_init", self.n_init)
        check_positive("temperature", self.temperature)

    def _settle(self, found: Training) -> None:
        self.feature_centre_, self.feature_scale_ = found.scale.centre, found.scale.spread
        assert isinstance(found.risk, CellRisk)
        centres = found.risk.centres(found.x)
        self.cluster_centers_ = centres * found.scale.spread + found.scale.centre

    def _end(self, found: Training) -> DescentStatus:
        size = found.shape.block_size
        if self._left_out:
            advice = (
                f"{self._left_out:.2%} of the rows form a cluster far from all centres; take more clusters, "
                "or check whether these rows are bad"
            )
            return replace(SMALL_CLUSTER, advice=advice)
        if self._smallest * size < LEAST_SEEN and self.aggregator not in SEE_RARE:
            advice = (
                f"the smallest cluster has {self._smallest:.2%} of the rows, {self._smallest * size:.1f} of "
                f"a block of {size}; {SMALL_CLUSTER.advice}"
            )
            return replace(SMALL_CLUSTER, advice=advice)
        return found.status

    def _tell(self, seen: Survey | None, found: Training) -> None:
        super()._tell(seen, found)
        if self._beyond > FEW:
            self.flags_ = list(map(str, in_order({*map(Status, self.flags_), Status.SHARE_FAR_OUT})))
            self.notes_.append(
                f"{self._beyond:.1%} of the rows lie far from all centres and do not move them; check "
                "whether they are bad, or belong to much wider clusters"
            )

    def predict(self, X: Any) -> NDArray[np.int32]:
        """Numbers of the nearest centres."""
        return np.asarray(self._squares(X).argmin(axis=1), np.int32)

    def transform(self, X: Any) -> Floats:
        """Distances, of scaled features, to the centres; also as a frame, see `MahalanobisMetric`."""
        return np.asarray(np.sqrt(self._squares(X)))

    @property
    def _n_features_out(self) -> int:
        return len(self.cluster_centers_)

    def score(self, X: Any, y: Any = None) -> float:
        """Minus the mean squared distance to the nearest centre."""
        return -float(self._squares(X).min(axis=1).mean())

    def _squares(self, X: Any) -> Floats:
        rows, scale = self._checked(X), Scale(self.feature_centre_, self.feature_scale_)
        return squared_to_centres(scale.features(rows), scale.features(self.cluster_centers_))

    @property
    def _least_size(self) -> int:
        return max(2, 2 * int(self.n_clusters))

    def _problem(self, sample: ScaledSample) -> Problem:
        if len(sample.features) < self.n_clusters:
            raise NoAnswerError(
                f"n_clusters: {self.n_clusters} clusters exceed the {len(sample.features)} rows; take fewer"
            )
        start = centres_of(sample.features, self.n_clusters, self.n_init, sample.seed)
        self._smallest, self._left_out = float(start.shares.min()), start.left_out
        self._beyond = 1.0 - float(start.shares.sum())
        size = math.ceil(SEEN / max(self._smallest, SEEN / MOST_ROWS))
        if self.loss == "pairs":
            width = float(
                np.minimum(squared_to_centres(sample.features, start.points).min(axis=1), start.cap).mean()
            )
            risk = SoftCellRisk(self.n_clusters, self.temperature * (width or 1.0))
            step = 0.25 * self.n_clusters / float(start.shares.max())
            return Problem(risk, start.points.ravel(), step, wanted=min(size, MOST_ROWS_OF_PAIRS))
        units = np.sqrt(np.maximum(start.shares, SEEN / MOST_ROWS))
        judge = QuantisationRisk(self.n_clusters, start.cap, tuple(units.tolist()))
        return Problem(judge, judge.parameters(start.points), STEP, even=True, wanted=size)
