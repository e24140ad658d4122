"""What a result says of its weights: rows without one, effective rows, blocks that are left out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from distmom.numerics.blocks.block_state import BlockState
from distmom.reductions.state import NANS, NULLS, ZEROS, MeanState

if TYPE_CHECKING:
    from distmom.estimators.mean.plan import MeanPlan


def weight_counts(plan: MeanPlan, state: MeanState, c: int, g: int) -> dict[str, Any]:
    """The fields of a result that only weighted rows have."""
    if plan.options.weights is None:
        return {}
    counts = state.counts[-1, g]
    blocks = state.moments.at((c, g, slice(plan.blocks.layout.n_blocks or None)))
    n = float(blocks.total().effective)
    return {
        "weights": plan.options.weights,
        "n_unweighted": int(counts[NULLS] + counts[NANS]),
        "n_zero_weight": int(counts[ZEROS]),
        "n_effective": n,
    }


def weight_notes(plan: MeanPlan, rows: BlockState, g: int, fields: dict[str, Any]) -> tuple[str, ...]:
    """A notice where blocks that have rows are left out since none of them has a positive weight."""
    if plan.options.weights is None or plan.blocks.layout.n_blocks == 0:
        return ()
    count = rows.count[g]
    empty = int(np.count_nonzero(count == 0))
    if fields["n_rows"] < count.size or not empty or not fields["n_unweighted"] + fields["n_zero_weight"]:
        return ()
    number = f"{empty:,} of {count.size:,} " if fields["group"] is None else ""
    return (f"{number}fine blocks have no row of positive weight and are left out",)
