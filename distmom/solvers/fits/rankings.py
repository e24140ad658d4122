"""The fit of a ranking that `distmom.solvers.pilot` makes to a sample of rows.

Each pair of different outcomes is a row of the differences of features, whose label says which outcome is
larger: logistic regression without an intercept.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from distmom.numerics.arrays import Floats
from distmom.numerics.losses.block_risk import pairs_in_turn
from distmom.numerics.losses.pair_risks import RankingRisk
from distmom.numerics.losses.row_risks import LogisticRisk
from distmom.numerics.losses.touching import touched
from distmom.solvers.optimality import ERRORS, standard_errors

MOST_PAIRS, MOST_VALUES = 1 << 16, 1 << 21
"""Pairs of a fit, and their differences of features: each row is in the same number of pairs."""


def fit_of_rankings(
    risk: RankingRisk, z: Floats, targets: Floats, weights: Floats, basis: Floats
) -> Floats | None:
    """The fit to all rows, or one with these weights if its losses are lower where the weights are 1.

    No outcome is surprising by itself, so rows far out are not judged one by one: their weights are low. If
    they are good, they make the first fit more accurate; if they are not, it is worse for the others, by more
    than 4 standard errors (twice those of a mean for pairs: Hoeffding 1948, Ann. Math. Statist.).
    """
    found = fit_of_pairs(risk, z, targets, weights, basis)
    near = weights == 1.0
    if found is None or near.all():
        return found
    every = fit_of_pairs(risk, z, targets, np.ones(len(targets)), basis, found)
    if every is None:
        return found
    of = replace(risk, penalty=0.0)
    losses = [of.row_losses(v, z[near], targets[near]) for v in (every, found)]
    return found if standard_errors(losses[0] - losses[1]) > of.least_rows * ERRORS else every


def fit_of_pairs(
    risk: RankingRisk,
    z: Floats,
    targets: Floats,
    weights: Floats,
    basis: Floats,
    begin: Floats | None = None,
) -> Floats | None:
    """Minimum of the weighted risk in the coordinates of z, whose last parameter, an intercept, is 0.

    None if all outcomes are equal, or if the loss is not smooth.

    Examples
    --------
    >>> g = np.random.default_rng(0)
    >>> x = g.normal(size=(300, 2))
    >>> z = np.concatenate([x, np.ones((300, 1))], axis=1)
    >>> y = x @ [2.0, -1.0] + g.logistic(size=300)
    >>> v = fit_of_pairs(RankingRisk(), z, y, np.ones(300), np.eye(3))
    >>> bool(np.corrcoef(z @ v, y)[0, 1] > 0.8)
    True
    """
    i, j = _pairs(z)
    of = weights[i] * weights[j]
    total = float(of.sum())
    different = np.flatnonzero(targets[i] != targets[j])
    i, j, of = i[different], j[different], of[different]
    if risk.loss != "logistic" or not of.any():
        return None
    # pairs of equal outcomes have no loss, but count
    of_labels = LogisticRisk(risk.penalty * total / float(of.sum()))
    larger = (targets[i] > targets[j]).astype(np.float64)
    return touched(
        of_labels, z[i] - z[j], larger, of, basis, np.zeros(z.shape[1]) if begin is None else begin
    )


def bending_pairs(rows: Floats, targets: Floats, coefficients: Floats) -> tuple[Floats, Floats]:
    """Differences of pairs, and the curvature of the loss of each."""
    i, j = _pairs(rows)
    between = rows[i] - rows[j]
    bends = LogisticRisk().bends(between @ coefficients, np.zeros(len(i)))
    return between, np.where(targets[i] != targets[j], bends, 0.0)


def _pairs(rows: Floats) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    return pairs_in_turn(len(rows), min(MOST_PAIRS, MOST_VALUES // rows.shape[1]))
