"""A Mahalanobis metric learned from labels, or from pairs that are known to be near or far."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from distmom.checks import check_choice
from distmom.errors import ConfigError, DataError
from distmom.estimators.learn.bases import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from distmom.estimators.learn.labels import check_sample_of_labels, labels_of
from distmom.estimators.learn.learner import Learner
from distmom.estimators.learn.parameters import with_shared_parameters
from distmom.estimators.learn.ranker import share_in_order
from distmom.estimators.learn.rows import ArrayRows
from distmom.estimators.learn.run import Problem, ScaledSample, Training
from distmom.numerics.arrays import Floats
from distmom.numerics.linalg.nearest import nearest_psd
from distmom.numerics.losses.block_risk import BlockRisk
from distmom.numerics.losses.pair_risks import MetricRisk, PairLabelRisk
from distmom.numerics.losses.table import names_of
from distmom.solvers.projections import psd_cone

THRESHOLD = 2.0
"""Squared distance between near and far, as in the paper; only a unit, since the metric may be scaled."""


@with_shared_parameters
class MahalanobisMetric(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Learner):
    """Mahalanobis metric under which rows of equal labels are near, by robust gradient descent.

    Each step takes K blocks of B rows, computes the mean loss over all pairs of rows of each block, and
    follows the gradient of the block with the lower-median loss. As long as fewer than half of the blocks
    have outliers, outliers of any kind and size do not spoil the metric. That is so if ``block_size`` times
    their share is at most 0.35.

    Parameters
    ----------
    loss : {"hinge", "logistic"}
        ``max(0, 1 + s (d^2 - 2))`` or ``log(1 + exp(s (d^2 - 2)))``, s = 1 for rows of equal labels, else -1.
    balanced : bool
        Whether pairs of equal labels together weigh as much as the others, which are more if there are many
        classes. Otherwise every pair weighs the same, as in the paper.
    init : "identity" or array_like, shape (d, d)
        Where to start, up to a factor: in scaled features the identity over the median squared distance. Zero
        is refused, as the loss of a block there does not depend on its rows.

    Attributes
    ----------
    components_ : ndarray, shape (d, d)
        L: the metric is the Euclidean one of ``X @ L.T``.
    n_skipped_pairs_ : int
        After `fit_pairs`: pairs of equal rows, which carry no information.

    Notes
    -----
    The target is the matrix of least median-of-means risk. It is not quite the matrix of least risk, since
    the block of a step is chosen by its loss. Blocks of one step share no row, and each is a simple random
    sample. Blocks without two equal and two different labels are skipped and counted in
    ``n_skipped_blocks_``. So are blocks with a row more than eight median distances from the centre, unless
    most rows of its label are that far out.

    A step costs K B^2, one product of B x d matrices for each block, and an eigendecomposition, d^3.

    References
    ----------
    Laforgue, Clémençon & Bertail (2019), On medians of (randomized) pairwise means, section 4 and appendix.

    Examples
    --------
    >>> import numpy as np
    >>> import distmom as dm
    >>> g = np.random.default_rng(0)
    >>> y = np.repeat([0, 1, 2], 100)
    >>> X = g.normal(size=(300, 3)) + 4 * y[:, None] * [1, 0, 0]
    >>> X[::50] = 1e6
    >>> found = dm.MahalanobisMetric(random_state=0).fit(X, y)
    >>> M = found.get_mahalanobis_matrix()
    >>> bool(M[0, 0] > 2 * M[1, 1])
    True
    """

    _most_labels = 1_000_000
    _least_size = 6
    _screened = True

    loss: str = "hinge"
    balanced: bool = False
    init: Any = "identity"

    def fit_pairs(self, pairs: Any, y: Any, X: Any = None) -> MahalanobisMetric:
        """Learn from pairs that are known to be near (y = 1) or far (y = -1).

        Parameters
        ----------
        pairs : array_like, shape (m, 2, d), or (m, 2) of row numbers
        y : array_like, shape (m,)
            1 or -1.
        X : array_like, shape (n, d), optional
            The rows that these numbers refer to.
        """
        first, second = self._pair_rows(pairs, X, reset=True)
        labels = np.asarray(y)
        if labels.shape != (len(first),) or not np.isin(labels, (-1, 1)).all():
            raise ConfigError(f"y: must be 1 or -1 for each of the {len(first)} pairs")
        away = first - second
        said = (away != 0.0).any(axis=1)
        labels = labels[said].astype(np.float64)
        if not ((labels > 0.0).any() and (labels < 0.0).any()):
            raise DataError("y: pairs of different rows must be near (1) and far (-1), both kinds")
        self._pairs_given = True
        try:
            self._run_surveyed(ArrayRows(away[said], labels), None)
        finally:
            del self._pairs_given
            self._begun = None
        self.n_skipped_pairs_ = int(said.size - said.sum())
        return self

    def partial_fit(self, X: Any, y: Any = None) -> MahalanobisMetric:
        """As for `RobustLinearRegression`; not after `fit_pairs`, whose loss is not that of labels."""
        if hasattr(self, "n_skipped_pairs_"):
            raise ConfigError(
                "partial_fit: the metric was learned from pairs; fit it anew, to rows and labels"
            )
        return super().partial_fit(X, y)

    def transform(self, X: Any) -> Floats:
        """Rows whose Euclidean distances are those of the metric: ``X @ components_.T``.

        An array, or the frame that ``set_output(transform="pandas")`` or ``"polars"`` asks for, with columns
        ``mahalanobismetric0``, ….
        """
        return self._mapped(X)

    def _mapped(self, X: Any) -> Floats:
        return np.asarray(self._checked(X) @ self.components_.T)

    @property
    def _n_features_out(self) -> int:
        return int(self.components_.shape[0])

    def get_mahalanobis_matrix(self) -> Floats:
        """M: the squared distance of x and x' is ``(x - x')^T M (x - x')``."""
        check_is_fitted(self)
        return np.asarray(self.components_.T @ self.components_)

    def pair_distance(self, pairs: Any, X: Any = None) -> Floats:
        """Distances of pairs, given as for `fit_pairs`."""
        check_is_fitted(self)
        first, second = self._pair_rows(pairs, X)
        if first.shape[1] != self.n_features_in_:
            raise ConfigError(
                f"pairs: of rows with {first.shape[1]} features, but the metric is of {self.n_features_in_}"
            )
        return np.asarray(np.sqrt((((first - second) @ self.components_.T) ** 2).sum(axis=1)))

    def pair_score(self, pairs: Any, X: Any = None) -> Floats:
        """Minus the distances: greater means nearer."""
        return -self.pair_distance(pairs, X)

    def score(self, X: Any, y: Any) -> float:
        """Share of pairs (equal labels, different labels) in which the former is nearer: an AUC.

        Computed on at most 2,000 rows, evenly spaced among those given.
        """
        from distmom.numerics.losses.block_risk import pairs_of

        rows, labels = self._mapped(X), np.asarray(y)
        few = np.linspace(0, len(rows) - 1, min(len(rows), 2_000)).astype(np.intp)
        rows, labels = rows[few], labels_of(labels[few])[1]
        i, j = pairs_of(len(few))
        size = (rows * rows).sum(axis=1)
        squares = (size[:, None] + size[None, :] - 2.0 * (rows @ rows.T))[i, j]
        return share_in_order((labels[i] != labels[j]).astype(np.float64), squares)

    def _codes(self, y: NDArray[Any]) -> Floats:
        codes = labels_of(y)[1]
        check_sample_of_labels(codes, "y")
        return codes

    def _check_own(self) -> None:
        check_choice("loss", self.loss, names_of("margin", slope=True))
        if isinstance(self.init, str):
            check_choice("init", self.init, ("identity",))

    def _problem(self, sample: ScaledSample) -> Problem:
        rows = sample.features
        risk: BlockRisk
        if self._pairs_given:
            risk = PairLabelRisk(self.loss, THRESHOLD)
            squares = (rows * rows).sum(axis=1)
        else:
            check_sample_of_labels(sample.targets, "y")
            risk = MetricRisk(self.loss, THRESHOLD, self.balanced)
            half = len(rows) // 2
            with np.errstate(over="ignore", invalid="ignore"):
                squares = ((rows[:half] - rows[half : 2 * half]) ** 2).sum(axis=1)
        squares = squares[squares > 0.0]
        unit = float(np.median(squares)) if squares.size else 1.0
        unit = unit if np.isfinite(unit) else 1.0
        start = self._start(rows.shape[1]) / unit
        return Problem(risk, start.ravel(), 3.0 * rows.shape[1] / unit**2, psd_cone)

    def _start(self, n_features: int) -> Floats:
        if isinstance(self.init, str):
            return np.eye(n_features)
        matrix = np.array(self.init, np.float64)
        if matrix.shape != (n_features, n_features) or not np.isfinite(matrix).all():
            raise ConfigError(f"init: must be a finite matrix of shape {(n_features, n_features)}")
        matrix = nearest_psd(matrix)
        if not matrix.any():
            raise ConfigError(
                "init: a matrix of zeros makes all distances 0 and all losses equal; use 'identity'"
            )
        return matrix

    def _settle(self, found: Training) -> None:
        if not self._pairs_given and hasattr(self, "n_skipped_pairs_"):
            del self.n_skipped_pairs_
        scaled = found.x.reshape(len(found.scale.spread), -1)
        self.components_ = factor(scaled) / found.scale.spread

    def _pair_rows(self, pairs: Any, X: Any, *, reset: bool = False) -> tuple[Floats, Floats]:
        """First and second rows of pairs; with `reset`, their features become those of the metric."""
        if X is not None:
            rows = validate_data(self, X, dtype=np.float64, reset=reset)
            numbers = np.asarray(pairs)
            if numbers.ndim != 2 or numbers.shape[1] != 2 or numbers.dtype.kind not in "iu":
                raise ConfigError(f"pairs: row numbers must have shape (m, 2), not {numbers.shape}")
            if numbers.size and not -len(rows) <= numbers.min() <= numbers.max() < len(rows):
                raise ConfigError(f"pairs: row numbers must lie within the {len(rows)} rows of X")
            return rows[numbers[:, 0]], rows[numbers[:, 1]]
        both = check_array(pairs, dtype=np.float64, allow_nd=True, ensure_2d=False)
        if both.ndim != 3 or both.shape[1] != 2:
            raise ConfigError(
                f"pairs: must have shape (m, 2, d), not {both.shape}; with row numbers give X as well"
            )
        if reset:
            validate_data(self, both[:, 0], reset=True)
        return both[:, 0], both[:, 1]


def factor(matrix: Floats) -> Floats:
    """L with L^T L the nearest positive semi-definite matrix.

    Examples
    --------
    >>> import numpy as np
    >>> L = factor(np.diag([4.0, -1e-12]))
    >>> (L.T @ L).tolist()
    [[4.0, 0.0], [0.0, 0.0]]
    """
    values, vectors = np.linalg.eigh(0.5 * (matrix + matrix.T))
    return np.asarray(np.sqrt(np.maximum(values, 0.0))[:, None] * vectors.T)
