"""Rows far out in grouped means: the cuts of the column, held in each group that loses few rows by them.

A code for "missing" is the same in all groups, so a sample of the column shows it, whatever their number. A
rare group in another currency lies beyond the cuts as a whole, and stays.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from distmom.estimators.mean.counts import n_effective
from distmom.estimators.mean.far_rows import Look, errors_allowed, stands
from distmom.estimators.mean.partition import answer_columns, partition_fields, row_and_cell_blocks
from distmom.inference.share.gaps import MOST, NEAR, rows_apart
from distmom.inference.status import in_order
from distmom.reductions.state import MeanState, aligned
from distmom.report.far_rows import FarRows
from distmom.status import Status

if TYPE_CHECKING:
    from distmom.estimators.mean.plan import MeanPlan


MOST_GLANCED = 65_536
"""Of the sampled rows of all groups so many are looked at."""


def settle_groups(
    plan: MeanPlan,
    look: Look,
    column: int,
    shared: Sequence[dict[str, Any]],
    first: Sequence[dict[str, Any]],
    first_state: MeanState,
    second: MeanState,
) -> list[dict[str, Any]]:
    """For each group the fields of its result that change because of rows far out.

    Parameters
    ----------
    plan : MeanPlan
    look : Look
        The sampled rows of the column, of all groups.
    column : int
    shared, first : sequence of dict
        Fields of the results of all rows: those that do not depend on the blocks, and the others.
    first_state, second : MeanState
        Of all rows, and of those within the cuts.
    """
    second = aligned(second, first_state.keys)
    one = slice(column, column + 1)
    moments = second.moments.at((column, slice(None), slice(plan.blocks.layout.n_blocks)))
    kept = (moments.count.sum(axis=1) // plan.blocks.layout.repeats).tolist()
    within = [fields | {"n_used": n} for fields, n in zip(shared, kept, strict=True)]
    again = partition_fields(plan, second, one, within, answer_columns(plan, second, one))
    rows, _, _ = row_and_cell_blocks(plan, second.moments.at(column))
    found: list[dict[str, Any]] = []
    for g, (own, fields, other) in enumerate(zip(first, shared, again, strict=True)):
        lost = fields["n_used"] - kept[g]
        if not 0 < lost <= MOST * fields["n_used"] or not math.isfinite(own["estimate"]):
            found.append({})
            continue
        variances = rows.at(g).row_variance
        spread = float(np.nanmedian(variances)) if np.isfinite(variances).any() else math.nan
        moved = _moved(own, other, math.sqrt(spread / kept[g]))
        told: dict[str, Any] = {"far_rows": _told(look, lost, fields, own, moved=moved)}
        if moved:
            flags = in_order((Status.SHARE_SET_ASIDE, *other["flags"]))
            told |= other | {"flags": flags, "n_used": kept[g], "plain_estimate": own["plain_estimate"]}
            if plan.options.weights is not None:
                told["n_effective"] = n_effective(plan, second, column, g)
        found.append(told)
    return found


def far_in_groups(state: MeanState) -> bool:
    """Whether the groups' own few sampled rows, taken together, hint at rows far from all others."""
    for sample in state.samples:
        values = sample.values[np.isfinite(sample.keys) & np.isfinite(sample.values)][:MOST_GLANCED]
        if rows_apart(np.sort(values), NEAR).n:
            return True
    return False


def _moved(own: dict[str, Any], other: dict[str, Any], error: float) -> bool:
    """Whether the rows far out move the answer; blocks that have seen and bear them are believed more."""
    agree = abs(own["estimate"] - other["estimate"]) <= errors_allowed(own["flags"]) * error
    return not stands(own["flags"], agree=agree)


def _told(look: Look, lost: int, fields: dict[str, Any], own: dict[str, Any], *, moved: bool) -> FarRows:
    """What stands apart: rows of the group, values of the column."""
    share = lost / fields["n_used"]
    return FarRows(
        action="set aside" if moved else "borne",
        n_rows=lost,
        share=share,
        share_interval=(share, share),
        estimate_with=own["estimate"],
        **look.facts(look.apart),
    )
