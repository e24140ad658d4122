"""Parameters of the kernels that tiles have compiled: the type names the function that is inlined.

Kept apart from the functions (in ``tiles_compiled.py``), so that describing a kernel does not load Numba.
Numba keeps compiled tiles by the types of their arguments, so named tuples of module level come from its
cache; a function that closes over another compiled function never does.
"""

from __future__ import annotations

from collections import namedtuple
from typing import Any, NamedTuple

from distmom.numerics.losses.table import names_of


class AbsoluteDifference(NamedTuple):
    """|a - b| of rows of one column."""

    unused: float = 0.0


class Euclidean(NamedTuple):
    """Euclidean distance of rows of any number of columns."""

    unused: float = 0.0


class SquaredExponential(NamedTuple):
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


def _ranking(name: str) -> type[Any]:
    """Type of a loss of the order that scores give to outcomes; rows are (outcome, score)."""
    made = namedtuple(f"Ranking{name.title()}", ("magnitude", "tied"), module=__name__)  # type: ignore[misc]
    globals()[made.__name__] = made  # caches look it up by its name
    return made


RANKINGS = {name: _ranking(name) for name in names_of("margin")}
"""For each loss of a margin."""

LABELLED = (WithinCells, MetricHinge)
"""Those whose first column is a label."""
