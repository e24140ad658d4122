"""Linear regression and logistic regression by robust gradient descent."""

from __future__ import annotations

from dataclasses import field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.multiclass import check_classification_targets

from distmom.checks import check_choice, check_fraction, check_positive
from distmom.errors import ConfigError, DataError, NoAnswerError
from distmom.estimators.learn.bases import ClassifierMixin, RegressorMixin
from distmom.estimators.learn.labels import labels_of
from distmom.estimators.learn.learner import Learner
from distmom.estimators.learn.parameters import BLOCK_SIZE, with_shared_parameters
from distmom.estimators.learn.run import Problem, ScaledSample, Training
from distmom.estimators.learn.start.penalty import check_penalty, penalty_of
from distmom.numerics.arrays import Floats
from distmom.numerics.linalg.curvature import largest_curvature
from distmom.numerics.losses.block_risk import BlockRisk
from distmom.numerics.losses.row_risks import LinearRisk, LogisticRisk, SoftmaxRisk, softmax
from distmom.numerics.losses.table import LOSSES, names_of
from distmom.solvers.clumps import BEND

MOST_CLASSES = 1_000

OF_SQUARES = 256
"""Rows of a block for squares of residuals: the mean without far blocks of 64 skewed ones is too low."""


@with_shared_parameters
class RobustLinearRegression(RegressorMixin, Learner):
    """Linear regression that tolerates outliers in features and targets.

    Each step follows the mean of the gradients of K blocks of rows, without those far from their median, in
    coordinates in which features are uncorrelated.

    Parameters
    ----------
    loss : {"huber", "squared", "pinball"}
        Of the residuals in units of the targets' scale: quadratic up to 1.345 (6 if a tenth of the targets
        have one value, such as zero), or up to two scales of the residuals if that is less, and linear
        beyond; half their square; or the loss of a quantile.
    quantile : float
        For ``"pinball"``.
    alpha : float
        L2 penalty: half of this times the squared norm of the coefficients of scaled features is added.

    Attributes
    ----------
    coef_ : ndarray, shape (d,)
    intercept_ : float

    Notes
    -----
    The model starts at a robust fit to a sample of rows, in which far rows and rows with large residuals have
    less weight. Steps are taken in coordinates in which the features of that sample are uncorrelated, so
    correlated features need no more steps than others. If there are at most 8,192 rows, the fit to those that
    are not accused is the model, unless the steps end at a better one. With more than 512 features only
    scales are equalised, and there is no such fit.

    A sampled row is accused if its residual is more than five scales and its distance more than 1.5 times the
    median distance, provided that most of the farthest rows have such residuals. Rows beyond a gap in the
    distances are accused if they move the fit by more than its error. Blocks with such rows are skipped.
    Targets and features are centred and scaled by their median and median absolute deviation. A step costs
    2 K B d. See :doc:`/statistics/learning`.

    ``aggregator="median_block", scaling="robust"`` is the descent of the paper. Its target is the minimiser
    of the median-of-means risk.

    References
    ----------
    Prasad, Suggala, Balakrishnan & Ravikumar (2020), Robust estimation via robust gradient estimation.
    Yin, Chen, Ramchandran & Bartlett (2018), Byzantine-robust distributed learning.
    Rousseeuw & Van Driessen (1999), A fast algorithm for the minimum covariance determinant estimator.
    Laforgue, Clémençon & Bertail (2019), On medians of (randomized) pairwise means.

    Examples
    --------
    >>> import numpy as np
    >>> import distmom as dm
    >>> g = np.random.default_rng(0)
    >>> X = g.normal(size=(2000, 3))
    >>> y = X @ [1.0, 2.0, 3.0]
    >>> y[:40] = 1e6
    >>> dm.RobustLinearRegression(random_state=0).fit(X, y).coef_.round(1).tolist()
    [1.0, 2.0, 3.0]
    """

    _scale_targets = True
    _linear = True

    loss: str = "huber"
    quantile: float = 0.5
    alpha: float = 0.0
    max_iter: int = 1000
    aggregator: str = "trimmed_mean"
    scaling: str = "whitened"

    def _settle(self, found: Training) -> None:
        scale = found.scale
        self.coef_ = found.x[:-1] * (scale.target_spread / scale.spread)
        middle = scale.target_centre + scale.target_spread * found.x[-1]
        self.intercept_ = float(middle - scale.centre @ self.coef_)

    def predict(self, X: Any) -> Floats:
        """Predicted targets."""
        return np.asarray(self._checked(X) @ self.coef_ + self.intercept_)

    def _check_own(self) -> None:
        check_choice("loss", self.loss, names_of("residual", slope=True))
        check_fraction("quantile", self.quantile, 1.0, "such as 0.9")
        check_positive("alpha", self.alpha, zero=True)

    def _problem(self, sample: ScaledSample) -> Problem:
        bend = LinearRisk.threshold if sample.clump is None else BEND
        risk = LinearRisk(self.loss, bend, self.quantile, self.alpha)
        start = np.zeros(sample.features.shape[1] + 1)
        step = 1.0 / largest_curvature(sample.blocks()[0], self.alpha)
        wanted = OF_SQUARES if self.loss == "squared" else BLOCK_SIZE
        return Problem(risk, start, step, blind=True, curvature=1.0, wanted=wanted)


@with_shared_parameters
class RobustLogisticRegression(ClassifierMixin, Learner):
    """Logistic regression with two or more classes that tolerates outliers.

    Parameters
    ----------
    alpha : float or "auto"
        L2 penalty: half of this times the squared norm of the coefficients of scaled features is added.
        ``"auto"`` is one over the number of sampled rows, at most 8,192, as if each coefficient were drawn
        with variance one. Features are divided by their median absolute deviation, or by their standard
        deviation (values beyond three of the former clipped) where that is less.

    Attributes
    ----------
    classes_ : ndarray
    coef_ : ndarray, shape (1, d) for two classes, else (classes, d)
    intercept_ : ndarray

    Notes
    -----
    Steps are those of `RobustLinearRegression`. A far row is accused if the other rows make its label all but
    impossible. Blocks hold ten rows of the rarest label
    on average: most smaller blocks would have none, and the model would never predict that label.

    In a lake, labels are a column of numbers, booleans or text. A pass before the first step finds the
    classes among all rows that pass the filter.

    Examples
    --------
    >>> import numpy as np
    >>> import distmom as dm
    >>> g = np.random.default_rng(0)
    >>> X = g.normal(size=(1000, 2))
    >>> y = (X[:, 0] > 0).astype(int)
    >>> X[:10] = 1e6
    >>> bool(dm.RobustLogisticRegression(random_state=0).fit(X, y).score(X, y) > 0.95)
    True
    """

    _most_labels = MOST_CLASSES
    _linear = True

    alpha: float | str = "auto"
    max_iter: int = 1000
    aggregator: str = "trimmed_mean"
    scaling: str = "whitened"
    _known_classes: NDArray[Any] | None = field(default=None, init=False)

    def _settle(self, found: Training) -> None:
        w = found.x.reshape(-1, len(found.scale.spread) + 1)
        self.coef_ = w[:, :-1] / found.scale.spread
        self.intercept_ = w[:, -1] - self.coef_ @ found.scale.centre

    def decision_function(self, X: Any) -> Floats:
        """Log odds of the second class, or of each class up to a common constant."""
        z = self._checked(X) @ self.coef_.T + self.intercept_
        return np.asarray(z[:, 0] if len(self.classes_) == 2 else z)

    def predict_proba(self, X: Any) -> Floats:
        """Probabilities of the classes."""
        z = self.decision_function(X)
        if z.ndim == 1:
            p = LOSSES["logistic"].slope_at(z)
            return np.stack([1.0 - p, p], axis=1)
        return softmax(z)

    def predict(self, X: Any) -> NDArray[Any]:
        """The most probable classes."""
        z = self.decision_function(X)
        return np.asarray(self.classes_[(z > 0.0).astype(np.intp) if z.ndim == 1 else z.argmax(axis=1)])

    def partial_fit(self, X: Any, y: Any = None, classes: Any = None) -> RobustLogisticRegression:
        """As for `RobustLinearRegression`; the first batch must name or hold all classes.

        Parameters
        ----------
        X, y
            Rows and labels.
        classes : array_like, optional
            All labels that may come; by default those of the first batch.
        """
        named = None if classes is None else np.unique(classes)
        self._known_classes = self.classes_ if self._begun is not None else named
        try:
            super().partial_fit(X, y)
        finally:
            self._known_classes = None
        return self

    def _codes(self, y: NDArray[Any]) -> Floats:
        check_classification_targets(y)
        if self._known_classes is None:
            self.classes_, codes = labels_of(y)
        else:
            self.classes_, codes = self._known_classes, codes_among(self._known_classes, y)
        self._check_classes()
        return codes

    def _know(self, labels: NDArray[Any]) -> None:
        if not len(labels):
            raise NoAnswerError("y: no row has a label; check its null count and where")
        self.classes_ = labels
        self._check_classes()

    def _check_classes(self) -> None:
        if len(self.classes_) < 2:
            [only] = self.classes_.tolist()
            raise DataError(f"y: there is one class only, {only!r}; give rows of two or more")
        if len(self.classes_) > MOST_CLASSES:
            raise ConfigError(
                f"y: {len(self.classes_):,} classes, at most {MOST_CLASSES:,}; is it a column of labels?"
            )

    def _check_own(self) -> None:
        check_penalty(self.alpha)

    def _problem(self, sample: ScaledSample) -> Problem:
        n, alpha = len(self.classes_), penalty_of(self.alpha, sample)
        risk: BlockRisk = LogisticRisk(alpha) if n == 2 else SoftmaxRisk(n, alpha)
        steepest = (n - 1) / n**2  # of the loss by the log odds, where the descent begins
        step = 1.0 / (steepest * largest_curvature(sample.blocks()[0]) + alpha)
        start = np.zeros(risk.n_parameters(sample.features.shape[1]))
        return Problem(risk, start, step, blind=True, curvature=steepest)


def codes_among(classes: NDArray[Any], y: NDArray[Any]) -> Floats:
    """Numbers of the labels among known classes, which are sorted."""
    codes = np.minimum(np.searchsorted(classes, y), len(classes) - 1)
    strange = np.flatnonzero(classes[codes] != y)
    if strange.size:
        label = y[strange[0]]
        raise DataError(f"y: label {str(label)!r} is not among the classes of the first batch; name them all")
    return codes.astype(np.float64)
