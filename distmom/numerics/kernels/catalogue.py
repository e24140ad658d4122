"""The catalogue of kernels, with their parameters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from numpy.typing import ArrayLike

from distmom.errors import ConfigError
from distmom.numerics.kernels.association import Concordance, Kendall, KendallB
from distmom.numerics.kernels.distance import Distance, Gini
from distmom.numerics.kernels.kernel import Kernel
from distmom.numerics.kernels.moment import Correlation, Covariance, SquaredDistance, ThirdMoment, Variance
from distmom.numerics.kernels.risk import Clustering, MetricLoss, Ranking
from distmom.numerics.kernels.similarity import Gaussian, Laplace
from distmom.numerics.kernels.two_samples import Auc, Discrepancy, MeanDifference


def variance() -> Kernel:
    """(x - y)^2 / 2 of one column: the variance.

    Notes
    -----
    The U-form divides by n - 1, the V-form by n. From central moments: O(n). Takes weights.

    Examples
    --------
    >>> import numpy as np
    >>> variance().complete(np.array([1e9, 1e9 + 1, 1e9 + 2])).mean
    np.float64(1.0)
    """
    return Variance()


def covariance() -> Kernel:
    """(x - y)(x - y)^T / 2 of several columns: their covariance matrix.

    Notes
    -----
    From co-moments: O(n c^2). Takes weights. The values are c x c matrices.
    """
    return Covariance()


def correlation() -> Kernel:
    """Pearson's correlation of two columns: their covariance over the root of the product of the variances.

    Notes
    -----
    A ratio of U-statistics, biased by O(1/n) in a block of n rows. O(n). Takes weights.
    """
    return Correlation()


def squared_distance() -> Kernel:
    """Squared Euclidean distance of two rows of any number of columns.

    Notes
    -----
    Twice the trace of the covariance matrix. From co-moments: O(n c^2). Takes weights.
    """
    return SquaredDistance()


def distance() -> Kernel:
    """Euclidean distance of two rows of any number of columns.

    Notes
    -----
    One column: by sorting, O(n log n), with weights. More: all pairs tile by tile, O(n^2 c) time, O(n)
    memory.
    """
    return Distance()


def gini() -> Kernel:
    """``|x - y|`` of one column: Gini's mean difference.

    Notes
    -----
    By sorting: O(n log n). Takes weights. The Gini index is half of it, over the mean.

    Examples
    --------
    >>> import numpy as np
    >>> gini().complete(np.array([0.0, 1.0, 3.0])).mean
    2.0
    """
    return Gini()


def third_moment() -> Kernel:
    """(2x - y - z)(2y - x - z)(2z - x - y) / 6 of one column: the third central moment. Degree 3.

    Notes
    -----
    The U-form is Fisher's k-statistic, the V-form divides by n. From power sums: O(n). Takes weights.
    """
    return ThirdMoment()


def kendall() -> Kernel:
    """Sign of (x - x')(y - y') of two columns: Kendall's tau-a. Pairs tied in a column count 0.

    Notes
    -----
    By sorting, in exact integers: O(n log n). Takes weights.

    References
    ----------
    Kendall (1938), A new measure of rank correlation. Knight (1966), A computer method for calculating
    Kendall's tau with ungrouped data.
    """
    return Kendall()


def kendall_b() -> Kernel:
    """Kendall's tau-b of two columns: tau-a over the root of the product of the shares of untied pairs.

    Notes
    -----
    Not a U-statistic but a function of three: biased by O(1/n) in a block of n rows; NaN if a column is
    constant. O(n log n). Takes weights.
    """
    return KendallB()


def concordance() -> Kernel:
    """Concordance index of two columns (outcome, score): pairs in the right order over comparable pairs.

    Notes
    -----
    Pairs with equal outcomes are not comparable, equal scores count 1/2. A ratio of two U-statistics; NaN
    if all outcomes are equal. Censored outcomes are not supported. O(n log n). Takes weights.
    """
    return Concordance()


def auc() -> Kernel:
    """Area under the ROC curve of two samples of scores: P(X < Y) + P(X = Y) / 2.

    Notes
    -----
    The negatives come first, the positives second. By sorting, in exact integers: O(n log n).
    Takes weights. Times both sizes it is the statistic of Wilcoxon, Mann and Whitney.

    Examples
    --------
    >>> import numpy as np
    >>> auc().complete(np.array([0.5]), np.array([0.9, 0.5])).mean
    0.75
    """
    return Auc()


def mean_difference() -> Kernel:
    """Difference of the means of two samples: that of the second less that of the first.

    Notes
    -----
    From moments: O(n). Takes weights.
    """
    return MeanDifference()


def energy() -> Kernel:
    """Energy distance of two samples: ``2 E|X - Y| - E|X - X'| - E|Y - Y'|``, Euclidean for several columns.

    Notes
    -----
    Zero only for equal distributions with a mean. A generalized U-statistic of degrees (2, 2), unbiased: it
    may be negative; the V-form is not. Degenerate under equality: its size is then of order 1/n. One column:
    O(n log n).

    References
    ----------
    Székely & Rizzo (2013), Energy statistics: a class of statistics based on distances.
    """
    return Discrepancy("energy", Distance(), -1.0)


def mmd(bandwidth: float, similarity: Literal["rbf", "laplace"] = "rbf") -> Kernel:
    """Squared maximum mean discrepancy of two samples: E k(X, X') + E k(Y, Y') - 2 E k(X, Y).

    Parameters
    ----------
    bandwidth : float
        Scale of the distance at which similarity decays, in the unit of the columns. Positive.
    similarity : {"rbf", "laplace"}
        ``exp(-d^2 / (2 bandwidth^2))`` of the Euclidean distance, or ``exp(-d / bandwidth)`` of the sum of
        absolute differences.

    Raises
    ------
    ConfigError
        If `bandwidth` is not positive, or `similarity` has another name.

    Notes
    -----
    A generalized U-statistic of degrees (2, 2), unbiased: it may be negative; the V-form is not. Degenerate
    under equality. "laplace" of one column by sorting, O(n log n); else all pairs, tile by tile: O(n^2 c)
    time, O(n) memory.

    References
    ----------
    Gretton, Borgwardt, Rasch, Schölkopf & Smola (2012), A kernel two-sample test, lemma 6.
    """
    kinds: dict[str, Callable[[float], Kernel]] = {"rbf": Gaussian, "laplace": Laplace}
    if similarity not in kinds:
        raise ConfigError(f"similarity must be rbf or laplace, got {similarity!r}; choose one of them")
    return Discrepancy("mmd", kinds[similarity](bandwidth), 1.0)


def rbf(bandwidth: float) -> Kernel:
    """Similarity ``exp(-d^2 / (2 bandwidth^2))`` of two rows, d their Euclidean distance.

    Raises
    ------
    ConfigError
        If `bandwidth` is not positive.
    """
    return Gaussian(bandwidth)


def laplace(bandwidth: float) -> Kernel:
    """Similarity ``exp(-d / bandwidth)`` of two rows, d the sum of absolute differences of their columns.

    Raises
    ------
    ConfigError
        If `bandwidth` is not positive.
    """
    return Laplace(bandwidth)


def ranking(
    loss: Literal["hinge", "logistic", "zero-one"] = "zero-one",
    margin: Literal["sign", "magnitude"] = "sign",
    ties: Literal["drop", "half"] = "drop",
) -> Kernel:
    """Risk of ranking rows of two columns (outcome, score) by their scores, over all pairs.

    Parameters
    ----------
    loss : {"zero-one", "hinge", "logistic"}
        Loss of ``z = -(s - s') g``: 1 for z > 0 and 1/2 for equal scores, ``max(0, 1 + z)``, or ``log(1 +
        exp(z))``.
    margin : {"sign", "magnitude"}
        g is the sign of y - y', or y - y' itself; no difference for "zero-one".
    ties : {"drop", "half"}
        Pairs of equal outcomes contribute 0, or half of the loss at z = 0 (which is 1, 1 and log 2).

    Raises
    ------
    ConfigError
        If an option has another name.

    Notes
    -----
    The sum is divided by the number of all pairs, including tied ones. "zero-one" by sorting, O(n log n); the
    others take all pairs, tile by tile.

    References
    ----------
    Clémençon, Lugosi & Vayatis (2008), Ranking and empirical minimization of U-statistics.
    """
    return Ranking(loss, margin, ties)


def clustering(distance: Literal["squared", "euclidean"] = "squared") -> Kernel:
    """Risk of a partition: distance of rows (label, coordinates) of one cell, 0 for rows of different cells.

    Parameters
    ----------
    distance : {"squared", "euclidean"}

    Raises
    ------
    ConfigError
        If `distance` has another name.

    Notes
    -----
    It falls with every split of a cell: only compare partitions with equal numbers of cells. Squared
    distances: O(n); Euclidean ones: O(n log n) for one coordinate, else all pairs tile by tile.

    References
    ----------
    Clémençon (2014), A statistical view of clustering performance through the theory of U-processes.
    """
    return Clustering(distance)


def mahalanobis(matrix: ArrayLike, threshold: float = 2.0) -> Kernel:
    """Hinge loss of a Mahalanobis metric on rows (label, features): ``max(0, 1 + s (d^2 - threshold))``.

    Parameters
    ----------
    matrix : array_like, shape (c, c)
        M of ``d^2 = (x - x')^T M (x - x')``: symmetric, positive semi-definite.
    threshold : float
        Squared distance between near and far. s is 1 for equal labels, which should be near, else -1.

    Raises
    ------
    ConfigError
        If `matrix` is not square, symmetric, finite and positive semi-definite.

    Notes
    -----
    All pairs tile by tile: O(n^2 c) time, O(n c) memory.
    """
    return MetricLoss(matrix, threshold)  # type: ignore[arg-type]


KERNELS: dict[str, Callable[..., Kernel]] = {
    "variance": variance,
    "std-squared": variance,
    **{
        function.__name__.replace("_", "-"): function
        for function in (
            *(covariance, correlation, squared_distance, distance, gini, third_moment, kendall, kendall_b),
            *(concordance, auc, mean_difference, energy, mmd, rbf, laplace, ranking, clustering, mahalanobis),
        )
    },
}
"""Kernels by name; hyphens and underscores are the same."""
