"""Which two samples are meant: two lakes, two conditions, or two values of a column."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from distmom.errors import ConfigError, NoAnswerError
from distmom.estimators.mean.answer import groups_of
from distmom.estimators.mean.mean import run_plan
from distmom.estimators.mean.plan import plan_mean
from distmom.estimators.options import MeanOptions
from distmom.passes.census import column_share
from distmom.passes.opening import Names, open_data
from distmom.report.words import cell, listed

if TYPE_CHECKING:
    from distmom.cluster import Executor, Progress
    from distmom.lake import ReadOptions, Source


class Sample(NamedTuple):
    """One of the two: its data, the condition that its rows meet, and what it is called."""

    data: Any
    where: Any
    label: str


class How(NamedTuple):
    """How data are opened, alike for both samples."""

    missing: str
    batch_rows: int
    storage_options: Mapping[str, object] | None

    def open(
        self,
        data: Any,
        column: Names,
        by: Names,
        where: Any,
        block_by: str | tuple[str, ...] | None = None,
    ) -> tuple[Source, ReadOptions]:
        """The rows, and what to read of them."""
        store = self.storage_options
        return open_data(
            data, column, by, where, self.missing, self.batch_rows, block_by, storage_options=store
        )


def samples_of(data: Any, by: str | None, where: Any) -> tuple[Sample, Sample] | None:
    """Both samples; None if a column's values are yet to be found.

    Raises
    ------
    ConfigError
        If there are not two, or it is not clear which.
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
    listed_data = isinstance(data, Sequence) and not isinstance(data, (str, bytes))
    if listed_data and len(data) == 2:
        conditions = tuple(where) if two_conditions else (where, where)
        names = [str(one) if isinstance(one, str) or hasattr(one, "__fspath__") else "" for one in data]
        if not all(names) or names[0] == names[1]:
            names = [str(c) for c in conditions] if two_conditions else ["first", "second"]
        return Sample(data[0], conditions[0], names[0]), Sample(data[1], conditions[1], names[1])
    if two_conditions:
        return Sample(data, where[0], str(where[0])), Sample(data, where[1], str(where[1]))
    raise ConfigError(
        "data: give two lakes, such as ['a/', 'b/'], or one and where=[condition, condition], or by=column"
    )


def samples_by(
    data: Any,
    column: str,
    by: str,
    wanted: Sequence[Any] | None,
    where: Any,
    options: MeanOptions,
    how: How,
    executor: Executor,
    progress: Progress | None,
) -> tuple[tuple[Sample, Sample], int]:
    """The samples that two values of a column make, and rows with others: one pass finds the values.

    Raises
    ------
    ConfigError
        If there are more than two values and none are `wanted`, or a wanted one is not there.
    NoAnswerError
        If there are fewer than two.
    """
    source, read = how.open(data, column, by, where)
    if source.one_pass:
        raise ConfigError("by: a stream can be read only once; give a table, or write it to Parquet files")
    share = column_share(source, read)
    plan = plan_mean(source, read, options, 0, executor, progress, share, few_groups=True)
    state, _ = run_plan(plan, 1, executor, progress)
    groups = [group[by] for group in groups_of(plan, state, (by,)) if group is not None]
    known = [g for g, value in enumerate(groups) if value is not None]
    values = [groups[g] for g in known]
    texts = [cell(value) for value in values]
    if wanted is None:
        if len(values) > 2:
            raise ConfigError(
                f"samples: column {by!r} has {len(values)} values, {listed(texts)}; name two of them"
            )
        if len(values) < 2:
            raise NoAnswerError(f"by: column {by!r} has no two values ({listed(texts)}); check by and where")
        places = [0, 1]
    else:
        places = [_place(cell(value), texts, by) for value in wanted]
    first, second = (Sample(data, _both(where, by, values[i]), f"{by} = {texts[i]}") for i in places)
    mine = sum(int(state.n_rows[known[i]]) for i in places)
    return (first, second), int(state.n_rows.sum()) - mine


def _place(wanted: str, texts: list[str], by: str) -> int:
    if wanted in texts:
        return texts.index(wanted)
    near = difflib.get_close_matches(wanted, texts, 1)
    hint = f"; did you mean {near[0]!r}?" if near else ""
    raise ConfigError(f"samples: no {wanted!r} in column {by!r}, which has {listed(texts)}{hint}")


def _both(where: Any, by: str, value: Any) -> Any:
    """The condition, and that the column has this value."""
    if where is not None and not isinstance(where, str):
        import pyarrow.compute as pc

        return where & (pc.field(by) == value)
    if isinstance(value, bool):
        shown = str(value).lower()
    elif isinstance(value, (int, float)):
        shown = repr(value)
    else:
        shown = "'" + cell(value).replace("'", "''") + "'"
    mine = f'"{by}" = {shown}' if '"' not in by else f"`{by}` = {shown}"
    return mine if where is None else f"({where}) and {mine}"
