"""Which two samples are meant: two lakes, two conditions, or two values of a column."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, NamedTuple

import pyarrow as pa

from distmom.checks import did_you_mean
from distmom.cluster import Executor, Progress
from distmom.designs.blocks import RandomBlocks
from distmom.errors import ConfigError, DataError, NoAnswerError
from distmom.estimators.mean.counts import groups_of
from distmom.estimators.mean.plan import MeanPlan, plan_mean
from distmom.estimators.mean.question import run_plan
from distmom.estimators.options import MeanOptions
from distmom.lake.filters import GroupFilter, as_filter
from distmom.lake.keys.keyvalues import Component, components
from distmom.passes.census import column_share
from distmom.passes.opening import open_data
from distmom.passes.scan import Scan, as_scan
from distmom.report.words import cell, listed


class Sample(NamedTuple):
    """One of the two: its rows, and what it is called."""

    scan: Scan
    label: str


def samples_of(data: Any, by: str | None, where: Any) -> tuple[Sample, Sample] | None:
    """Both samples; None if a column's values are yet to be found.

    ConfigError if there are not two, or it is not clear which.
    """
    two_conditions = isinstance(where, (list, tuple))
    if two_conditions and len(where) != 2:
        raise ConfigError(f"where: must be one condition or two, one for each sample, not {len(where)}")
    if by is not None:
        if not isinstance(by, str):
            raise ConfigError(f"by: must be a column's name, not {by!r}")
        if two_conditions:
            raise ConfigError("where: two conditions do not go with by, which makes the samples; give one")
        return None
    conditions = tuple(where) if two_conditions else (where, where)
    if isinstance(data, Sequence) and not isinstance(data, (str, bytes)) and len(data) == 2:
        scans = [as_scan(one, condition) for one, condition in zip(data, conditions, strict=True)]
        names = _labels(scans)
        return Sample(scans[0], names[0]), Sample(scans[1], names[1])
    if two_conditions:
        whole = as_scan(data)
        _ = whole.source  # listed once for both
        first, second = (Sample(whole.with_where(one), str(one)) for one in conditions)
        return first, second
    raise ConfigError(
        "data: give two lakes, such as ['a/', 'b/'], or one and where=[condition, condition], or by=column"
    )


def _labels(scans: Sequence[Scan]) -> tuple[str, str]:
    """What two lakes are called: by their paths, or else their conditions."""
    paths = [str(scan.data) if isinstance(scan.data, (str, os.PathLike)) else "" for scan in scans]
    conditions = ["" if scan.where is None else str(scan.where) for scan in scans]
    for names in (paths, conditions):
        if all(names) and names[0] != names[1]:
            return names[0], names[1]
    return "first", "second"


def plan_values(scan: Scan, column: str, by: str, executor: Executor, progress: Progress | None) -> MeanPlan:
    """The pass that finds the values of the column that makes the samples."""
    source, read = open_data(scan, column, by)
    share, options = column_share(source, read), MeanOptions.of(scan, RandomBlocks())
    return plan_mean(source, read, options, 0, executor, progress, share, few_groups=True)


def samples_by(
    scan: Scan,
    column: str,
    by: str,
    wanted: Sequence[Any] | None,
    executor: Executor,
    progress: Progress | None,
) -> tuple[tuple[Sample, Sample], int]:
    """The samples that two values of a column make, and rows with others: one pass finds the values.

    ConfigError if there are more than two values and none are `wanted`, or a wanted one is not there;
    NoAnswerError if there are fewer than two.
    """
    plan = plan_values(scan, column, by, executor, progress)
    source = scan.source
    state, _ = run_plan(plan, 1, executor, progress)
    groups = [group[by] for group in groups_of(plan, state, (by,)) if group is not None]
    known = [g for g, value in enumerate(groups) if value is not None]
    texts = [cell(groups[g]) for g in known]
    keys = [state.keys[g][0] for g in known]
    if wanted is None:
        if len(known) > 2:
            raise ConfigError(
                f"samples: column {by!r} has {len(known)} values, {listed(texts)}; name two of them"
            )
        if len(known) < 2:
            raise NoAnswerError(f"by: column {by!r} has no two values ({listed(texts)}); check by and where")
        places = [0, 1]
    else:
        places = [_place(value, keys, texts, by) for value in wanted]
    also = as_filter(scan.where, source)
    first, second = (
        Sample(scan.instead(GroupFilter(by, keys[i], texts[i], also)), f"{by} = {texts[i]}") for i in places
    )
    mine = sum(int(state.n_rows[known[i]]) for i in places)
    return (first, second), int(state.n_rows.sum()) - mine


def _place(wanted: Any, keys: Sequence[Component], texts: list[str], by: str) -> int:
    """The number of a value that was given as such, or as its text."""
    key = _key(wanted)
    if key in keys:
        return keys.index(key)
    shown = cell(wanted)
    if shown in texts:
        return texts.index(shown)
    hint = did_you_mean(shown, texts)
    raise ConfigError(f"samples: no {shown!r} in column {by!r}, which has {listed(texts)}{hint}")


def _key(value: Any) -> Any:
    """The key of a value as a column of it would have; None for what cannot be one."""
    try:
        return components(pa.array([value]))[0]
    except (pa.ArrowException, DataError, TypeError, ValueError, OverflowError):
        return None
