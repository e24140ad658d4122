"""Nearest positive semi-definite and correlation matrices: entrywise medians need not be either."""

from __future__ import annotations

import numpy as np

from distmom.numerics.arrays import Floats

MOST_STEPS = 1_000
TOLERANCE = 1e-12


def nearest_psd(matrix: Floats) -> Floats:
    """The nearest positive semi-definite matrix in Frobenius norm: negative eigenvalues become 0.

    Examples
    --------
    >>> import numpy as np
    >>> nearest_psd(np.diag([1.0, -1.0])).tolist()
    [[1.0, 0.0], [0.0, 0.0]]
    """
    matrix = 0.5 * (matrix + matrix.T)
    values, vectors = np.linalg.eigh(matrix)
    if values[0] >= 0.0:
        return np.asarray(matrix)
    found = (vectors * np.maximum(values, 0.0)) @ vectors.T
    return np.asarray(0.5 * (found + found.T))


def nearest_correlation(matrix: Floats) -> Floats:
    """The nearest correlation matrix in Frobenius norm.

    Parameters
    ----------
    matrix : ndarray, shape (c, c)
        Symmetric, finite, with ones on the diagonal.

    Notes
    -----
    Alternating projections with Dykstra's correction, until a step moves no entry by more than 1e-12.

    References
    ----------
    Higham (2002), Computing the nearest correlation matrix: a problem from finance, algorithm 3.3.
    """
    current, correction = 0.5 * (matrix + matrix.T), np.zeros_like(matrix)
    for _ in range(MOST_STEPS):
        before = current
        psd = nearest_psd(current - correction)
        correction = psd - (current - correction)
        current = psd.copy()
        np.fill_diagonal(current, 1.0)
        if np.abs(current - before).max(initial=0.0) <= TOLERANCE:
            break
    return current


def as_correlation(covariance: Floats) -> Floats:
    """Correlations from covariances; NaN if a variance is not positive."""
    spread = np.sqrt(np.where(np.diagonal(covariance) > 0.0, np.diagonal(covariance), np.nan))
    found = covariance / spread[:, None] / spread[None, :]
    np.fill_diagonal(found, np.where(np.isnan(spread), np.nan, 1.0))
    return np.asarray(found)
