"""How many units the rows of each group belong to."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from distmom.reductions.state import MeanState


class UnitCount(NamedTuple):
    """A number of units, and whether it is exact."""

    n_units: int
    n_units_exact: bool


def unit_counts(state: MeanState) -> list[UnitCount] | None:
    """Units with rows that passed the filter, for each group; None where units were not asked for.

    Exact while the sketch holds all pairs of unit and group. Else a group with many units is estimated from
    its share of the sketch, and one with few from its cells: of m cells, n units leave m exp(-n/m) empty
    (linear counting, Whang et al. 1990), which is within a tenth or so as long as a third of them are.
    """
    if state.units is None:
        return None
    found = state.units.counts(len(state.keys))
    if state.units.exact:
        return [UnitCount(round(n), True) for n in found.tolist()]
    cells = state.moments.count[0]
    n_cells = cells.shape[1]
    filled = (cells > 0).sum(axis=1).tolist()
    return [
        UnitCount(_about(n, some, n_cells), False) for n, some in zip(found.tolist(), filled, strict=True)
    ]


def units_of_groups(state: MeanState) -> NDArray[np.int64] | None:
    """The numbers alone, as the rule takes them."""
    found = unit_counts(state)
    return None if found is None else np.array([one.n_units for one in found], np.int64)


def _about(sampled: float, filled: int, n_cells: int) -> int:
    if 3 * filled <= 2 * n_cells:
        return max(filled, round(-n_cells * math.log1p(-filled / n_cells)))
    return max(filled, round(sampled))
