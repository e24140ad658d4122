"""What results report on the rows, weights and units of each group, whatever the block design."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from distmom.errors import DataError, NoAnswerError
from distmom.lake.keys.keyvalues import decode_key
from distmom.numerics.arrays import Ints
from distmom.reductions.state import INFS, NANS, NULLS, ZEROS, Key, MeanState
from distmom.words import counted

if TYPE_CHECKING:
    from distmom.cluster.work import SkippedFile
    from distmom.estimators.mean.plan import MeanPlan
    from distmom.report import MeanResult, UStatisticResult, VectorResult


def check_state(state: Any, skipped: Sequence[SkippedFile], *, filtered: bool) -> None:
    """Raise DataError or NoAnswerError if nothing was read."""
    if state is not None:
        return
    if skipped:
        raise DataError(
            f"no file could be read: {skipped[0].reason} ({counted(len(skipped), 'file')} skipped)"
        )
    raise NoAnswerError("no rows left after the filter; check where" if filtered else "the data has no rows")


def groups_of(plan: MeanPlan, state: MeanState, by: tuple[str, ...]) -> list[dict[str, Any] | None]:
    """Values of the `by` columns of each group; None without groups.

    Raises
    ------
    NoAnswerError
        If there are no rows.
    """
    rows = state if state.n_rows.any() else None
    check_state(rows, (), filtered=plan.reader.options.where is not None)
    return [group_of(key, by) for key in state.keys]


class PerGroup(Protocol):
    """Fields of the result of each group: a list, or an object that makes them on demand."""

    def __len__(self) -> int: ...
    def __getitem__(self, g: int, /) -> dict[str, Any]: ...
    def __iter__(self) -> Iterator[dict[str, Any]]: ...


@dataclass(frozen=True)
class SharedFields:
    """`shared_fields` of every group, made on demand; only their inputs are kept, not the sums."""

    plan: MeanPlan
    counts: MeanState
    c: int
    column: str
    more: dict[str, Any]

    @property
    def keys(self) -> tuple[Key, ...]:
        """Keys of the groups."""
        return self.counts.keys

    def group(self, g: int) -> dict[str, Any] | None:
        """Values of the `by` columns."""
        return group_of(self.keys[g], self.plan.reader.options.by)

    def left_out(self) -> tuple[int, dict[str, int]]:
        """Rows of all groups, and rows that did not count, by the names used in results."""
        names = {"null": NULLS, "NaN": NANS, "infinite": INFS}
        mine = self.counts.counts[self.c].sum(axis=0)
        return int(self.counts.n_rows.sum()), {name: int(mine[kind]) for name, kind in names.items()}

    def __len__(self) -> int:
        return len(self.keys)

    def __getitem__(self, g: int) -> dict[str, Any]:
        return shared_fields(self.plan, self.counts, self.c, self.column, g, self.group(g)) | self.more

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return (self[g] for g in range(len(self)))


def n_used_of(shared: PerGroup) -> Ints:
    """Used rows of all groups."""
    if not isinstance(shared, SharedFields):
        return np.array([fields["n_used"] for fields in shared], np.int64)
    counts = shared.counts
    missing = counts.counts[shared.c][:, [NULLS, NANS] if shared.plan.options.nan == "omit" else [NULLS]]
    return np.asarray(counts.n_rows - missing.sum(axis=1))


def group_of(key: Key, by: tuple[str, ...]) -> dict[str, Any] | None:
    """Values of the `by` columns of a group; None without groups."""
    return dict(zip(by, decode_key(key), strict=True)) if by else None


def fields_of_groups(
    plan: MeanPlan, state: MeanState, c: int, column: str, more: dict[str, Any] | None = None
) -> PerGroup:
    """`shared_fields` of every group, with its units if any, and `more` fields shared by all groups."""
    more, units = more or {}, unit_counts(state)
    groups = groups_of(plan, state, ())  # there are rows
    if units is None and plan.options.weights is None:
        nothing = type(state.moments).empty(0, 0, 0)
        counts = replace(state, moments=nothing, samples=(), units=None, pools=(), stretches=())
        return SharedFields(plan, counts, c, column, more)
    by = plan.reader.options.by
    told = [{} for _ in groups] if units is None else [count._asdict() for count in units]
    return [
        shared_fields(plan, state, c, column, g, group_of(key, by)) | own | more
        for g, (key, own) in enumerate(zip(state.keys, told, strict=True))
    ]


def shared_fields(
    plan: MeanPlan, state: MeanState, c: int, column: str, g: int, group: dict[str, Any] | None
) -> dict[str, Any]:
    """The fields of a result that do not depend on the block design."""
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
    """The fields of a result that exist only with weights."""
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
    """Effective number of rows of a group."""
    return float(state.moments.at((c, g, slice(plan.blocks.layout.n_blocks or None))).total().effective)


class UnitCount(NamedTuple):
    """A number of units, and whether it is exact."""

    n_units: int
    n_units_exact: bool


def unit_counts(state: MeanState) -> list[UnitCount] | None:
    """Units with rows that passed the filter, for each group; None if units were not requested.

    Exact while the sketch contains all pairs of unit and group. Otherwise a group with many units is
    estimated from its share of the sketch, and a group with few from its cells: of m cells, n units leave m
    exp(-n/m) empty (linear counting, Whang et al. 1990). This is accurate to about a tenth as long as a third
    of the cells are empty.
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
    """The numbers alone, in the form used by the rule."""
    found = unit_counts(state)
    return None if found is None else np.array([one.n_units for one in found], np.int64)


def _about(sampled: float, filled: int, n_cells: int) -> int:
    if 3 * filled <= 2 * n_cells:
        return max(filled, round(-n_cells * math.log1p(-filled / n_cells)))
    return max(filled, round(sampled))


def named_in(name: str, result: MeanResult | VectorResult | UStatisticResult) -> str:
    """What a result describes, with its group."""
    return name + (f", group {result.group}" if result.group else "")


def why_not_finite(name: str, result: MeanResult | VectorResult | UStatisticResult, remedy: str) -> str:
    """Why a result has no finite answer although there are rows."""
    return (
        f"{name}: no finite answer: {result.n_non_finite_blocks} of {result.n_blocks} blocks are non-finite "
        f"({result.n_inf} infinite and {result.n_nan} NaN values in {result.n_rows} rows); {remedy}"
    )
