"""Coordinates with uncorrelated features of equal scale, so that one step size suits all directions."""

from __future__ import annotations

import numpy as np

from distmom.numerics.arrays import Floats

MOST_WHITENED = 512
"""Most columns whose correlations are removed (d^3 operations, d^2 numbers); with more, only scales are."""

LEAST = 1e-12
"""Directions with a smaller share of the largest variance count as constant: the rest is rounding."""

WRAP = 10.0
"""Scaled values are capped at this distance from the middle while bad rows are still unknown."""


def with_ones(rows: Floats) -> Floats:
    """The columns, and a column of ones."""
    return np.concatenate([rows, np.ones((len(rows), 1))], axis=1)


def whitening(rows: Floats, penalty: Floats | None = None) -> Floats:
    """The symmetric T with T M T = I for the second moments M of finite rows, of shape (m, d).

    A `penalty` of each column is added to its second moment.

    Columns that are constant, equal or dependent leave directions without variance. The length there is that
    of the direction with the largest variance, the shortest, so a step along them is cautious. With more
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
    """Scaled rows with outliers pulled in, value by value (Raymaekers & Rousseeuw 2021, Technometrics)."""
    return np.clip(np.nan_to_num(rows, nan=0.0), -WRAP, WRAP)


def _lengths(variances: Floats) -> Floats:
    """One over the standard deviation of each direction."""
    most = float(variances.max(initial=0.0))
    if most <= 0.0:
        return np.ones_like(variances)
    return np.asarray(1.0 / np.sqrt(np.where(variances > LEAST * most, variances, most)))
