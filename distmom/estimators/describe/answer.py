"""From the state of a profile to profiles of columns, with the numbers of `distmom.mean`."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from distmom.estimators.describe.named import name_units
from distmom.estimators.describe.robust_spread import gini, robust_std, skewness_gap
from distmom.estimators.describe.row_groups import look_again
from distmom.estimators.describe.unit_tables import UnitTable, gap_sources, unit_tables
from distmom.estimators.mean.answer import partition_fields
from distmom.estimators.mean.counts import groups_of, shared_fields
from distmom.estimators.mean.partition import answer_columns, row_and_cell_blocks
from distmom.report import ColumnProfile, DescribeResult, MeanResult
from distmom.report.times import as_times
from distmom.status import Status

if TYPE_CHECKING:
    from distmom.estimators.describe.question import DescribePlan
    from distmom.reductions.profile import ProfileState

DIRTY = (Status.CONTAMINATED, Status.FILES_DISAGREE, Status.BEYOND_CAPACITY)

SAME = (
    *("n_rows", "n_used", "n_null", "n_nan", "n_inf", "interval", "interval_reason", "confidence_level"),
    *("n_blocks", "other_estimate", "notes"),
)
"""What a profile takes from the result of the mean as it is."""


def describe_result(
    plan: DescribePlan, state: ProfileState, data: dict[str, Any], run: dict[str, Any]
) -> DescribeResult:
    """Profiles and named units from the state of a run.

    NoAnswerError if there are no rows.
    """
    tables = unit_tables(plan, state)
    samples: dict[str, NDArray[np.float64]] = {}
    profiles: dict[str, ColumnProfile] = {}
    if state.blocks is not None:
        groups_of(plan.mean, state.blocks, ())
    for c, column in enumerate(plan.columns.measured):
        profiles[column] = _measured(plan, state, c, column, tables)
        samples[column] = _sample(state, c)
    for p, column in enumerate(plan.columns.counted):
        profiles[column] = _counted(plan, state, column, int(state.facts.absent[p].sum()))
    for column in plan.columns.types:
        if column not in profiles:
            profiles[column] = _counted(plan, state, column, None)
    named, why_not = name_units(plan, tables, samples)
    if not plan.naming.folders:
        files = {file.path: file for file in plan.mean.files}
        centres = {c: float(profiles[c].numbers.estimate) for c in samples if profiles[c].n_used}
        named = look_again(plan.source, plan.mean.reader.options, files, named, centres)
    facts = {
        **data,
        "n_rows": int(state.facts.n_rows.sum()),
        "folders": plan.naming.folders,
        "not_named": why_not,
    }
    told = [profiles[column].told(facts, run) for column in plan.columns.types]
    return DescribeResult(told, named, facts, run)


def _counted(plan: DescribePlan, state: ProfileState, column: str, n_null: int | None) -> ColumnProfile:
    n_rows = int(state.facts.n_rows.sum())
    return ColumnProfile(
        column=column,
        type=plan.columns.types[column],
        status=Status.COUNTED_ONLY,
        n_rows=n_rows,
        n_used=None if n_null is None else n_rows - n_null,
        n_null=n_null,
        confidence_level=plan.mean.options.confidence_level,
    )


def _sample(state: ProfileState, c: int) -> NDArray[np.float64]:
    """The sampled rows of a column, in random order."""
    keys, values = state.samples[c]
    return np.asarray(values[0][np.isfinite(keys[0])])


def _measured(
    plan: DescribePlan, state: ProfileState, c: int, column: str, tables: list[UnitTable]
) -> ColumnProfile:
    """Profile of a column of numbers or times."""
    mean, blocks, facts = plan.mean, state.blocks, state.facts
    assert blocks is not None
    found = answer_columns(mean, blocks, slice(c, c + 1))
    rows, cells, _ = row_and_cell_blocks(mean, blocks.moments.at(c))
    shared = shared_fields(mean, blocks, c, column, 0, None)
    [own] = partition_fields(mean, blocks, slice(c, c + 1), [shared], found)
    answer, result = found.answer, MeanResult(**own, **shared)
    all_rows = facts.moments.at(c).total()
    n = int(all_rows.count)
    std = robust_std(rows, cells, answer, result)
    files_first = bool(answer.files_first[0])
    gap = None if files_first else skewness_gap(result)
    low, high = result.interval or (None, None)
    outside = low is not None and high is not None and not low <= result.plain_estimate <= high
    profile = ColumnProfile(
        column=column,
        type=plan.columns.types[column],
        status=result.status if n else Status.NO_VALUES,
        flags=result.flags if n else (),
        **{name: getattr(result, name) for name in SAME},
        estimate=result.estimate if n else None,
        plain_estimate=result.plain_estimate if n else None,
        leaves_interval=outside,
        robust_std=std if n else None,
        plain_std=math.sqrt(float(all_rows.m2) / (n - 1)) if n > 1 else None,
        gini=gini(_sample(state, c), contaminated=any(flag in DIRTY for flag in result.flags)) if n else None,
        skewness_gap=gap,
        skewness_noise=None if gap is None else std / math.sqrt(n),
        minimum=float(facts.low[c].min()) if n else None,
        maximum=float(facts.high[c].max()) if n else None,
        gap=result.plain_estimate - result.estimate if outside else None,
        sources=gap_sources(tables, c, result.estimate) if outside else (),
    )
    scale = mean.reader.options.scales.get(column)
    return profile if scale is None else as_times(profile, scale)
