"""What results say of the rows, weights and units of each group, however these form blocks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from distmom.errors import DataError, NoAnswerError
from distmom.lake.keys.keyvalues import decode_key
from distmom.numerics.arrays import Ints
from distmom.reductions.state import INFS, NANS, NULLS, ZEROS, MeanState

if TYPE_CHECKING:
    from distmom.cluster.work import SkippedFile
    from distmom.estimators.mean.plan import MeanPlan
    from distmom.report import MeanResult, UStatisticResult, VectorResult


def check_state(state: Any, skipped: Sequence[SkippedFile], *, filtered: bool) -> None:
    """DataError or NoAnswerError if nothing was read."""
    if state is not None:
        return
    if skipped:
        raise DataError(f"no file could be read: {skipped[0].reason} ({len(skipped)} files skipped)")
    raise NoAnswerError("no rows left after the filter; check where" if filtered else "the data has no rows")


def groups_of(plan: MeanPlan, state: MeanState, by: tuple[str, ...]) -> list[dict[str, Any] | None]:
    """Values of the `by` columns of each group; None where there are no groups.

    Raises
    ------
    NoAnswerError
        If there are no rows.
    """
    rows = state if state.n_rows.any() else None
    check_state(rows, (), filtered=plan.reader.options.where is not None)
    return [dict(zip(by, decode_key(key), strict=True)) if by else None for key in state.keys]


def fields_of_groups(plan: MeanPlan, state: MeanState, c: int, column: str) -> list[dict[str, Any]]:
    """`shared_fields` of every group, with its units if there are such."""
    groups = groups_of(plan, state, plan.reader.options.by)
    shared = [shared_fields(plan, state, c, column, g, group) for g, group in enumerate(groups)]
    for fields, count in zip(shared, unit_counts(state) or (), strict=False):
        fields.update(count._asdict())
    return shared


def shared_fields(
    plan: MeanPlan, state: MeanState, c: int, column: str, g: int, group: dict[str, Any] | None
) -> dict[str, Any]:
    """The fields of a result that do not depend on the scheme."""
    nulls, nans, infs = (int(state.counts[c, g, kind]) for kind in (NULLS, NANS, INFS))
    n_rows = int(state.n_rows[g])
    weightless = _weight_counts(plan, state, c, g)
    return {
        "column": column,
        "group": group,
        "confidence_level": plan.options.confidence_level,
        "n_rows": n_rows,
        "n_used": n_rows
        - nulls
        - (nans if plan.options.nan == "omit" else 0)
        - weightless.get("n_unweighted", 0)
        - weightless.get("n_zero_weight", 0),
        "n_null": nulls,
        "n_nan": nans,
        "n_inf": infs,
        "scheme": plan.options.design.scheme,
        "design": plan.options.design,
        "contamination": plan.options.contamination or plan.options.window,
        **weightless,
    }


def _weight_counts(plan: MeanPlan, state: MeanState, c: int, g: int) -> dict[str, Any]:
    """The fields of a result that only weighted rows have."""
    if plan.options.weights is None:
        return {}
    counts = state.counts[-1, g]
    return {
        "weights": plan.options.weights,
        "n_unweighted": int(counts[NULLS] + counts[NANS]),
        "n_zero_weight": int(counts[ZEROS]),
        "n_effective": n_effective(plan, state, c, g),
    }


def n_effective(plan: MeanPlan, state: MeanState, c: int, g: int) -> float:
    """Effective rows of a group."""
    return float(state.moments.at((c, g, slice(plan.blocks.layout.n_blocks or None))).total().effective)


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
    found = state.units.counts(len(state.keys)).tolist()
    if state.units.exact:
        return [UnitCount(round(n), True) for n in found]
    cells = state.moments.count[0]
    filled = (cells > 0).sum(axis=1).tolist()
    return [UnitCount(_about(n, some, cells.shape[1]), False) for n, some in zip(found, filled, strict=True)]


def units_of_groups(state: MeanState) -> Ints | None:
    """The numbers alone, as the rule takes them."""
    found = unit_counts(state)
    return None if found is None else np.array([one.n_units for one in found], np.int64)


def _about(sampled: float, filled: int, n_cells: int) -> int:
    if 3 * filled <= 2 * n_cells:
        return max(filled, round(-n_cells * math.log1p(-filled / n_cells)))
    return max(filled, round(sampled))


def named_in(name: str, result: MeanResult | VectorResult | UStatisticResult) -> str:
    """What a result is of, with its group."""
    return name + (f", group {result.group}" if result.group else "")


def why_ruined(name: str, result: MeanResult | VectorResult | UStatisticResult, remedy: str) -> str:
    """Why a result has no finite answer though there are rows."""
    return (
        f"{name}: no finite answer: {result.n_ruined_blocks} of {result.n_blocks} blocks are ruined "
        f"({result.n_inf} infinite and {result.n_nan} NaN values in {result.n_rows} rows); {remedy}"
    )
