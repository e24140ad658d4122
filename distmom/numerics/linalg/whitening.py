"""Coordinates in which features have no correlation and one spread: one size of steps suits all."""

from __future__ import annotations

import numpy as np

from distmom.numerics.arrays import Floats

MOST_WHITENED = 512
"""Columns up to which correlations are removed, d^3 operations and d^2 numbers; beyond only spreads are."""

LEAST = 1e-12
"""Directions with less than this share of the largest variance count as constant: that is rounding."""

WRAP = 10.0
"""Scaled values further from the middle than this count as this far where bad rows are not known yet."""


def with_ones(rows: Floats) -> Floats:
    """The columns, and one of ones."""
    return np.concatenate([rows, np.ones((len(rows), 1))], axis=1)


def whitening(rows: Floats, penalty: Floats | None = None) -> Floats:
    """The symmetric T with T M T = I for the second moments M of finite rows, of shape (m, d).

    A `penalty` of each column is added to its second moment.

    Columns that are constant, equal or dependent leave directions in which nothing varies; there the length
    is that of the direction that varies most, the shortest: a step into them is a careful one. With more
    than `MOST_WHITENED` columns T is diagonal.

    Examples
    --------
    >>> import numpy as np
    >>> g = np.random.default_rng(0)
    >>> x = g.normal(size=(500, 1))
    >>> rows = np.concatenate([x, x + 0.01 * g.normal(size=(500, 1)), 0 * x], axis=1)
    >>> z = rows @ whitening(rows)
    >>> np.abs(z.T @ z / 500).round(6).tolist()
    [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 0.0]]
    """
    m, d = rows.shape
    if d > MOST_WHITENED:
        return np.diag(_lengths((rows * rows).mean(axis=0) + (0.0 if penalty is None else penalty)))
    moments = rows.T @ rows / max(1, m)
    if penalty is not None:
        moments += np.diag(penalty)
    values, vectors = np.linalg.eigh(moments)
    return np.asarray((vectors * _lengths(values)) @ vectors.T)


def wrapped(rows: Floats) -> Floats:
    """Scaled rows with outliers drawn in, each by itself (Raymaekers & Rousseeuw 2021, Technometrics)."""
    return np.clip(np.nan_to_num(rows, nan=0.0), -WRAP, WRAP)


def _lengths(variances: Floats) -> Floats:
    """One over the standard deviation of each direction."""
    most = float(variances.max(initial=0.0))
    if most <= 0.0:
        return np.ones_like(variances)
    return np.asarray(1.0 / np.sqrt(np.where(variances > LEAST * most, variances, most)))
