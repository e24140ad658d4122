"""From the state of a run to what is handed out: numbers or vectors, one result or several."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import TYPE_CHECKING, Any, TypeVar

from distmom.estimators.mean.answer import mean_results
from distmom.estimators.mean.vector_answer import vector_results
from distmom.report import MeanResult, Results, VectorResult

if TYPE_CHECKING:
    from distmom.estimators.mean.plan import MeanPlan
    from distmom.reductions.state import MeanState


Told = TypeVar("Told", bound=MeanResult | VectorResult)


def answer_of(
    plan: MeanPlan, state: MeanState, by: tuple[str, ...]
) -> Sequence[MeanResult] | Sequence[VectorResult]:
    """Results of a run's state: numbers, or vectors."""
    return vector_results(plan, state, by) if plan.options.joint else mean_results(plan, state, by)


def together(
    results: Sequence[MeanResult] | Sequence[VectorResult],
    plan: MeanPlan,
    data: dict[str, Any],
    run: dict[str, Any],
) -> MeanResult | VectorResult | Results:
    """Results with what is to be said of data and run: a single one where it can only be one."""
    told = [_told(r, data, run) for r in results]
    single = not plan.reader.options.by and (len(plan.reduction.columns) == 1 or bool(plan.options.joint))
    return told[0] if single else Results(told, data, run)


def _told(result: Told, data: dict[str, Any], run: dict[str, Any]) -> Told:
    """As `dataclasses.replace` does it, without setting thirty fields one by one for each of many groups."""
    new = copy(result)
    vars(new).update(data=data, run=run)
    return new
