"""Parameters of the kernels that tiles have compiled: the type names the function that is inlined.

Kept apart from the functions (in ``tiles_compiled.py``), so that describing a kernel does not load Numba.
Numba keeps compiled tiles by the types of their arguments, so named tuples of module level come from its
cache; a function that closes over another compiled function never does.
"""

from __future__ import annotations

from typing import NamedTuple


class AbsoluteDifference(NamedTuple):
    """|a - b| of rows of one column."""

    unused: float = 0.0


class RankingHinge(NamedTuple):
    """Hinge loss of the order that scores give to outcomes; rows are (outcome, score)."""

    magnitude: float
    tied: float


class RankingLogistic(NamedTuple):
    """Logistic loss of the same."""

    magnitude: float
    tied: float


class Euclidean(NamedTuple):
    """Euclidean distance of rows of any number of columns."""

    unused: float = 0.0


class Gaussian(NamedTuple):
    """exp(-rate * squared distance)."""

    rate: float


class Laplacian(NamedTuple):
    """exp(-rate * sum of absolute differences)."""

    rate: float


class WithinCells(NamedTuple):
    """Distance (or its square) of rows with the same label, else 0; the label is the first column."""

    squared: float


class MetricHinge(NamedTuple):
    """max(0, 1 + s (squared distance - threshold)), s = 1 for equal labels, else -1."""

    threshold: float


LABELLED = (WithinCells, MetricHinge)
"""Those whose first column is a label."""
