"""The fit of several classes that `distmom.solvers.pilot` makes to a sample of rows."""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize

from distmom.numerics.arrays import Floats
from distmom.numerics.losses.row_risks import SoftmaxRisk

MOST_PRODUCTS = 1 << 25
"""Rows times features times classes above which there is no fit: an iteration takes a tenth of a second."""

MOST_ITERATIONS = 200


def fit_of_classes(
    risk: SoftmaxRisk, z: Floats, targets: Floats, weights: Floats, basis: Floats
) -> Floats | None:
    """Minimum of the weighted risk in the coordinates of z, a column for each class; None if it is too dear.

    Examples
    --------
    >>> g = np.random.default_rng(0)
    >>> x = g.normal(size=600)
    >>> z, y = np.stack([x, np.ones(600)], axis=1), (x > 0.0) * 1.0 + (x > 1.0)
    >>> v = fit_of_classes(SoftmaxRisk(3, 1e-3), z, y, np.ones(600), np.eye(2))
    >>> bool(((z @ v).argmax(axis=1) == y).mean() > 0.95)
    True
    """
    (n, p), k = z.shape, risk.n_classes
    total = float(weights.sum())
    if not total > 0.0 or n * p * k > MOST_PRODUCTS:
        return None
    share = weights / total
    place = np.arange(n), targets.astype(np.int64)
    free = basis.copy()
    free[-1] = 0.0  # intercepts have no penalty

    def of(v: Floats) -> tuple[float, Floats]:
        v = v.reshape(k, p)
        odds = z @ v.T
        odds -= odds.max(axis=1, keepdims=True)
        own = odds[place]
        np.exp(odds, out=odds)
        sums = odds.sum(axis=1)
        slopes = odds * (share / sums)[:, None]
        slopes[place] -= share
        w = v @ free.T
        loss = share @ (np.log(sums) - own) + 0.5 * risk.penalty * (w * w).sum()
        return float(loss), (slopes.T @ z + risk.penalty * (w @ free)).ravel()

    with np.errstate(over="ignore", invalid="ignore"):
        found = minimize(
            of, np.zeros(k * p), jac=True, method="L-BFGS-B", options={"maxiter": MOST_ITERATIONS}
        ).x
    return np.asarray(found.reshape(k, p).T, np.float64) if np.isfinite(found).all() else None
