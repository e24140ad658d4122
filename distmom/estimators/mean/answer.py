"""From the state of a run to results: of each column, or of vectors of all columns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from distmom.errors import NoAnswerError
from distmom.estimators.facts import told
from distmom.estimators.mean.counts import fields_of_groups, named_in, why_ruined
from distmom.estimators.mean.far_rows import Look, looks_of, settle
from distmom.estimators.mean.partition import answer_columns, partition_fields
from distmom.estimators.mean.sampled import sampled_fields
from distmom.reductions.state import MeanState
from distmom.report import MeanResult, Results, VectorResult
from distmom.report.times import as_times

if TYPE_CHECKING:
    from distmom.estimators.mean.plan import MeanPlan


def answer_of(
    plan: MeanPlan,
    state: MeanState,
    data: dict[str, Any],
    run: dict[str, Any],
    *,
    listed: bool = False,
    looks: tuple[Look, ...] | None = None,
    second: MeanState | None = None,
) -> MeanResult | VectorResult | Results:
    """One result for each column and group, in that order; of vectors for each group.

    A single one where only one was asked for. Columns that were `listed` are several, however many there are.
    `looks` are what stands apart in each column, if that is known already, `second` what a second pass found
    in the rows that do not.

    Raises
    ------
    NoAnswerError
        If there are no rows, or not one of the results has a finite answer.
    """
    names, joint = plan.reduction.columns, plan.options.joint
    read = plan.reader.options
    whole = ", ".join(read.columns if plan.options.weights is None else read.columns[:-1])
    results: list[Any] = []
    looks = looks_of(state) if looks is None else looks
    for c, column in enumerate([whole] if joint else names):
        columns = slice(0, len(names)) if joint else slice(c, c + 1)
        shared = fields_of_groups(plan, state, c, column)
        if joint:
            shared = [fields | {"columns": names, "method": joint} for fields in shared]
        if plan.options.design.sampled:
            every = sampled_fields(plan, state, columns, shared)
        else:
            every = partition_fields(plan, state, columns, shared, answer_columns(plan, state, columns))
        kind = VectorResult if joint else MeanResult
        for own, fields in zip(every, shared, strict=True):
            more = settle(plan, looks[columns], columns, fields, own, second) if looks else {}
            results.append(kind(**{**fields, **own, **more}))
    if not any(np.isfinite(r.estimate).all() for r in results):
        raise NoAnswerError(_why_none(results[0], plan))
    if scales := read.scales:
        results = [as_times(r, scales[r.column]) if r.column in scales else r for r in results]
    several = bool(read.by) or not (joint or (len(names) == 1 and not listed))
    return told(results, data, run, several=several)  # type: ignore[no-any-return]


def _why_none(result: MeanResult | VectorResult, plan: MeanPlan) -> str:
    """Why the first result has no finite answer, and what to do."""
    name = named_in(f"column {result.column!r}", result)
    if result.n_used == 0:
        what, missing = "a value", f"{result.n_null} null, {result.n_nan} NaN"
        if result.weights is not None:
            what = "a value and a positive weight"
            missing += f", {result.n_unweighted} without weight, {result.n_zero_weight} of weight zero"
        return f"{name}: none of the {result.n_rows} rows has {what} ({missing})"
    remedy = "filter the infinite values out, or use more blocks"
    if result.n_nan and plan.options.nan == "keep":
        remedy = "use nan='omit', or more blocks"
    return why_ruined(name, result, remedy)
