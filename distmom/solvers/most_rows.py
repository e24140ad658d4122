"""Share of the rows that fit no linear model that fits most rows.

If many rows are bad in the same way, a fit to all rows follows them, and none looks bad under it. So another
fit is made to the half of the rows nearest the middle of the features, and refitted repeatedly to the half
that fits it best (least trimmed squares: Rousseeuw 1984, JASA; its concentration steps: Rousseeuw & Van
Driessen 2006). Under that fit the residuals of clean rows thin out, whatever their distribution; those of
another group are far out, with few between, or form a second mode of their logarithms.
"""

from __future__ import annotations

import numpy as np

from distmom.numerics.arrays import Bools, Floats
from distmom.numerics.linalg.whitening import with_ones
from distmom.numerics.losses.touching import solved
from distmom.numerics.median import MAD
from distmom.solvers.pilot import OPERATIONS

FAR, NEAR = 10.0, 3.0
"""Scales of the residuals from which a row belongs to another group, and up to which it fits."""

LEAST_SHARE, BETWEEN = 0.1, 0.75
"""A group has at least this share of the rows; for each of its rows at most this many lie in between."""

TOLD_APART = 2.0
"""Rows of one target are another group if their features and those of the others are this many standard
deviations of both apart: rows at a limit of a scale are at most 1.6 apart (1.8 if features are uniform)."""

SAME = 0.25
"""If a larger share of the half has one target, as zeros of rare events, it fits too well to judge by."""

WIDTH, STEPS_OF_A_WINDOW = 2.0, 8
"""Residuals are counted in windows whose ends have this ratio, with this many starts per window width."""

SECOND, DEEP, NOISE = 7.0, 0.8, 3.0
"""A second mode is at least this many times the scale away; between it and the first a window has at most
this share of the rows of the smaller one, clearly so by this many standard errors of its count."""

EXACT = 1e-9
"""Residuals below this share of the largest target are rounding: most rows fit exactly."""

ROWS_OF_A_FEATURE, STEPS = 8, 12
"""Rows per feature below which a half may fit by chance; number of concentration steps."""


def share_of_others(rows: Floats, targets: Floats, basis: Floats, clump: float | None = None) -> float:
    """Share of the rows in a group other than most; 0 if none is detected.

    `rows` are scaled; in the coordinates of the `basis` they and the column of ones are nearly orthonormal.
    Many targets have the value `clump`.

    Examples
    --------
    >>> g = np.random.default_rng(0)
    >>> x = g.normal(size=(1_000, 2))
    >>> y, basis = x @ [1.0, 2.0] + g.normal(size=1_000), np.eye(3)
    >>> x[:300], y[:300] = 9.0, -90.0
    >>> share_of_others(x, y, basis), share_of_others(x[300:], y[300:], basis)
    (0.3, 0.0)
    """
    p = rows.shape[1] + 1
    few = slice(max(ROWS_OF_A_FEATURE * p, OPERATIONS // p**2))
    x, y = rows[few], targets[few]
    if len(y) < ROWS_OF_A_FEATURE * p:
        return 0.0
    z, half = with_ones(x) @ basis, len(y) // 2 + 1
    if clump is not None and ((y == clump).all() or not _apart(z, y == clump)):
        return 0.0  # a clump is a mode of its own
    with np.errstate(over="ignore", invalid="ignore"):
        away = np.square(x).sum(axis=1)
        for _ in range(STEPS):
            best = np.argpartition(away, half - 1)[:half]
            away = np.abs(y - z @ solved(z[best].T @ z[best], z[best].T @ y[best]))
        scale = max(MAD * float(np.median(away)), EXACT * float(np.abs(y).max()))
    if scale == 0.0:
        return 0.0
    away /= scale
    fitting = y[away <= NEAR]
    if np.unique(fitting, return_counts=True)[1].max(initial=0) > SAME * len(fitting):
        return 0.0
    share = float((away > FAR).mean())
    between = float((away > NEAR).mean()) - share
    return share if share >= LEAST_SHARE and between <= BETWEEN * share else second_mode(away)


def _apart(z: Floats, group: Bools) -> bool:
    """Whether features separate the rows of a group from all others: then they are of another kind."""
    of = group.astype(np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        score = z @ solved(z.T @ z, z.T @ of)
        inside, outside = score[group], score[~group]
        return bool(inside.mean() - outside.mean() > TOLD_APART * (inside.std() + outside.std()))


def second_mode(away: Floats) -> float:
    """Share of the rows in a second mode of the logarithms of scaled residuals; 0 without one.

    One distribution, however heavy or skewed its tails, has one mode there; wrong targets have their own,
    even if they are near as often as far.

    Examples
    --------
    >>> g = np.random.default_rng(0)
    >>> second_mode(np.abs(g.standard_t(1.5, 8_000)))
    0.0
    >>> away = np.abs(g.normal(size=8_000))
    >>> away[:1_600] *= 20.0
    >>> 0.1 < second_mode(away) < 0.2
    True
    """
    logs = np.sort(np.log(away[(away > 0.0) & np.isfinite(away)]))
    if not logs.size or logs[-1] < np.log(SECOND):
        return 0.0
    width = np.log(WIDTH)
    middle = np.arange(-width, logs[-1] + width, width / STEPS_OF_A_WINDOW)
    rows = np.searchsorted(logs, middle + width / 2) - np.searchsorted(logs, middle - width / 2)
    far = np.where(middle >= np.log(SECOND), rows, 0)
    modes = np.minimum(np.maximum.accumulate(rows), np.maximum.accumulate(far[::-1])[::-1])
    beyond = (logs.size - np.searchsorted(logs, middle)) / away.size
    parts = (middle >= width) & (beyond >= LEAST_SHARE)
    parts &= rows + NOISE * np.sqrt(rows + 1.0) <= DEEP * modes
    return float(beyond[parts].max(initial=0.0))
