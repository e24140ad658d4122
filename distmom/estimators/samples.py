"""Which samples are meant: lakes, conditions, or values of a column, as many as a question takes."""

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
from distmom.estimators.mean.run.passes import run_plan
from distmom.estimators.options import MeanOptions
from distmom.lake.filters import GroupFilter, as_filter
from distmom.lake.keys.keyvalues import Component, component_of
from distmom.passes.census import column_share
from distmom.passes.opening import open_data
from distmom.passes.scan import Scan, as_scan
from distmom.report.words import cell, listed
from distmom.words import counted

NUMBERS = {2: "two", 3: "three"}


class Sample(NamedTuple):
    """One of them: its rows, and what it is called."""

    scan: Scan
    label: str


def samples_of(
    data: Any, by: str | None, where: Any, n: int = 2, asked: str = "a comparison"
) -> tuple[Sample, ...] | None:
    """The samples, `n` of them; None if a column's values are yet to be found.

    ConfigError if there are not so many, or it is not clear which.
    """
    conditions = isinstance(where, (list, tuple))
    number = NUMBERS.get(n, str(n))
    if conditions and len(where) != n:
        raise ConfigError(f"where: must be one condition or {number}, one for each sample, not {len(where)}")
    if by is not None:
        if not isinstance(by, str):
            raise ConfigError(f"by: must be a column's name, not {by!r}")
        if conditions:
            raise ConfigError(
                f"where: {number} conditions cannot be combined with by, which makes the samples; give one"
            )
        return None
    each = tuple(where) if conditions else (where,) * n
    if are_lakes(data, n):
        scans = [as_scan(one, condition) for one, condition in zip(data, each, strict=True)]
        return tuple(map(Sample, scans, _labels(scans)))
    if conditions:
        whole = as_scan(data)
        _ = whole.source  # listed once for all
        return tuple(Sample(whole.with_where(one), str(one)) for one in each)
    one = "scan({!r})" if isinstance(data, Scan) else "{!r}"
    example = ", ".join(one.format(path) for path in ("a/", "b/", "c/")[:n]) + (", …" if n > 3 else "")
    raise ConfigError(
        f"data: {asked} takes {number} samples: give a list of {number} lakes, such as [{example}], or one "
        f"lake with by='column' or with {number} conditions in where"
    )


def are_lakes(data: Any, n: int) -> bool:
    """Whether the data are as many lakes as there are samples."""
    return isinstance(data, Sequence) and not isinstance(data, (str, bytes)) and len(data) == n


class Split(NamedTuple):
    """A column of one lake that makes the samples, and its values where there are more."""

    column: str
    values: Sequence[Any] | None


def check_values(samples: Any, by: Any, n: int = 2) -> None:
    """ConfigError unless they are values of the column `by`, one for each sample."""
    if samples is None:
        return
    number = NUMBERS.get(n, str(n))
    if by is None:
        raise ConfigError(f"samples: are {number} values of a column; name it in by, or drop samples")
    listed_ = isinstance(samples, Sequence) and not isinstance(samples, (str, bytes)) and len(samples) == n
    if not listed_ or any(one in samples[:i] for i, one in enumerate(samples)):
        raise ConfigError(f"samples: must be {number} values of column {by!r}, not {samples!r}")


def _labels(scans: Sequence[Scan]) -> Sequence[str]:
    """What lakes are called: by their paths, or else their conditions."""
    paths = [str(scan.data) if isinstance(scan.data, (str, os.PathLike)) else "" for scan in scans]
    conditions = ["" if scan.where is None else str(scan.where) for scan in scans]
    for names in (paths, conditions):
        if all(names) and len(set(names)) == len(names):
            return names
    return [*("first", "second", "third"), *(f"sample {i + 1}" for i in range(3, len(scans)))][: len(scans)]


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
    n: int = 2,
) -> tuple[tuple[Sample, ...], tuple[str, ...]]:
    """The `n` samples that values of a column make, and a note of rows with others; one pass finds these.

    ConfigError if there are more values and none are `wanted`, or a wanted one is not there; NoAnswerError
    if there are fewer.
    """
    number = NUMBERS.get(n, str(n))
    plan = plan_values(scan, column, by, executor, progress)
    source = scan.source
    state, _ = run_plan(plan, 1, executor, progress)
    groups = [group[by] for group in groups_of(plan, state, (by,)) if group is not None]
    known = [g for g, value in enumerate(groups) if value is not None]
    texts = [cell(groups[g]) for g in known]
    keys = [state.keys[g][0] for g in known]
    if wanted is None:
        if len(known) > n:
            raise ConfigError(
                f"samples: column {by!r} has {len(known)} values, {listed(texts)}; name {number} of them"
            )
        if len(known) < n:
            raise NoAnswerError(
                f"by: column {by!r} has no {number} values ({listed(texts)}); check by and where"
            )
        places = list(range(n))
    else:
        places = [_place(value, keys, texts, by) for value in wanted]
    also = as_filter(scan.where, source)
    found = tuple(
        Sample(scan.instead(GroupFilter(by, keys[i], texts[i], also)), f"{by} = {texts[i]}") for i in places
    )
    others = int(state.n_rows.sum()) - sum(int(state.n_rows[known[i]]) for i in places)
    return found, (f"left out: {counted(others, 'row')} of neither sample",) if others else ()


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
        return component_of(value)
    except (pa.ArrowException, DataError, TypeError, ValueError, OverflowError):
        return None
