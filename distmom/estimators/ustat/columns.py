"""One column of a pass over several: its plan and its state, as a pass over it alone would have them."""

from __future__ import annotations

from dataclasses import replace

from distmom.estimators.mean.plan import MeanPlan
from distmom.reductions.state import MeanState


def column_of(plan: MeanPlan, state: MeanState, c: int) -> tuple[MeanPlan, MeanState]:
    """The plan and the state of column c of a pass whose columns count rows each for itself."""
    columns = plan.reduction.columns
    if len(columns) == 1:
        return plan, state
    mine = replace(plan, reduction=replace(plan.reduction, columns=(columns[c],)))
    lines = [c] if len(state.counts) == len(columns) else [c, -1]  # the last one is about the weights
    one = slice(c, c + 1)
    return mine, replace(
        state, counts=state.counts[lines], moments=state.moments.at(one), samples=state.samples[one]
    )
