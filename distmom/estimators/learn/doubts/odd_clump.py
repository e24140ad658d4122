"""Whether a value that many targets have is one that other targets do not lead to.

Zeros among targets that are positive otherwise, or a limit that other targets come near to, are usual: they
are real, and the model is that of the mean. A value with other targets on both sides, or one far from all
others that is not zero, mostly stands for a missing one. Targets of a few values, such as answers and counts,
have no such clump.

Zeros with other targets on both sides may be changes that did not happen, or missing ones: if something else
than the features decides where they are, both have the same distribution. So they are asked about.
"""

from __future__ import annotations

import math

import numpy as np

from distmom.numerics.arrays import Bools, Floats
from distmom.numerics.losses.block_risk import BlockRisk
from distmom.numerics.losses.row_risks import LinearRisk
from distmom.numerics.median import MAD
from distmom.solvers.coordinates import Accused
from distmom.status import Status

FEWEST = 64
"""Nothing is told of fewer other targets."""

MOST_TIES = 0.1
"""Share of the others that have one value: of more they are answers or counts."""

SIDE, NEAR, NEAR_SHARE = 0.01, 0.25, 0.02
"""A value is between the others if this share of them lies on each side; at a limit of theirs this share, the
third, lies within this many of their spreads of it."""

EXPECTED, ERRORS = 0.6, 4.0
"""Probability from which on a row of the clump is predicted nearer to its value than another row: the
features lead to it, as to a usual answer. Also a smaller one if it is so many standard errors (of ranks)
above one half, which that of a value at random is once in 30,000 times: weak features lead there seldom."""


def odd_clump(
    risk: BlockRisk,
    x: Floats,
    rows: Floats,
    targets: Floats,
    value: float,
    accused: Accused | None = None,
    *,
    natural: bool = False,
) -> bool:
    """Whether the rows with this target, that are not accused, do not go with the others.

    Parameters
    ----------
    natural : bool
        Whether the value is zero before scaling, which may be all that others do not reach.

    Examples
    --------
    >>> g = np.random.default_rng(0)
    >>> rows, risk, w = g.normal(size=(1_000, 1)), LinearRisk("huber"), np.array([1.0, 0.0])
    >>> y = rows[:, 0] + g.normal(size=1_000)
    >>> odd_clump(risk, w, rows, np.where(np.arange(1_000) < 150, 2.0, y), 2.0)
    True
    >>> odd_clump(risk, w, rows, np.maximum(y, -1.0), -1.0)
    False
    """
    if not isinstance(risk, LinearRisk):
        return False
    known = np.isfinite(targets)
    if accused is not None:
        known &= ~accused(rows, targets)
    rows, targets = rows[known], targets[known]
    clump = targets == value
    others = targets[~clump]
    if others.size < FEWEST or not clump.any():
        return False
    if int(np.unique(others, return_counts=True)[1].max()) > MOST_TIES * others.size:
        return False
    sides = float((others < value).mean()), float((others > value).mean())
    if min(sides) >= SIDE:
        return not _expected(rows @ x[:-1] + x[-1], value, clump)
    away = np.abs(others - np.median(others))
    limit = np.abs(others - value) <= NEAR * MAD * np.median(away)
    return not natural and float(limit.mean()) < NEAR_SHARE


def _expected(predicted: Floats, value: float, clump: Bools) -> bool:
    """Whether predictions of the clump are nearer to its value than those of the others are."""
    away = np.abs(predicted - value)
    others = np.sort(away[~clump])
    further = others.size - np.searchsorted(others, away[clump], side="right")
    n, m = others.size, int(clump.sum())
    chance = 0.5 + ERRORS * math.sqrt((n + m + 1) / (12.0 * n * m))
    return float(further.mean()) >= min(EXPECTED, chance) * n


def told(value: float, share: float, odd: bool) -> tuple[list[Status], list[str]]:
    """What is told of a clump."""
    if not share:
        return [], []
    rows = f"{share:.1%} of the targets are {value:g}"
    left = "if the value stands for a missing one, leave these rows out"
    if odd and not value:
        ask = "are they changes that did not happen, or missing values?"
        note = f"{rows}, between others, and the features do not lead to them: {ask}"
        return [], [f"{note} They are in the model; {left}"]
    if odd:
        note = f"{rows}, which the other targets do not lead to; these rows are in the model; {left}"
        return [Status.SHARE_FAR_OUT], [note]
    return [], [f"{rows}, and are learned as real: the loss is nearly squared; {left}"]
