"""From the data that a user passes to rows to learn from."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from distmom.checks import check_choice, names_of
from distmom.errors import ConfigError, DataError, NoAnswerError
from distmom.estimators.learn.labels import LabelReader, labels_of_lake, values_of
from distmom.estimators.learn.rows import LakeRows
from distmom.estimators.learn.shared import COMPUTE
from distmom.estimators.session import defaults_for
from distmom.keywords import refuse_unknown
from distmom.lake.columns.schema import kind_of
from distmom.passes.census import column_share, count_rows
from distmom.passes.gather import RowSource
from distmom.passes.opening import Names, open_data, types_of
from distmom.passes.scan import Scan

if TYPE_CHECKING:
    from distmom.cluster import Executor, Progress
    from distmom.estimators.learn.learner import Learner
    from distmom.lake import BatchReader, ReadOptions, Source

MODES = ("auto", "resident", "streaming")
LABELS = ("number", "bool", "text", "null")
"""Kinds of columns that labels may come from."""

TARGETS = ("label", "target", "y")
"""Columns that are the target if none is named."""


@dataclass(frozen=True)
class DataOptions:
    """Keywords of ``fit`` for a lake, beside the lake itself and where to run; see `Learner.fit`."""

    columns: Names = None
    mode: str = "auto"
    compute: str = "auto"
    state: str | os.PathLike[str] | None = None

    def __post_init__(self) -> None:
        check_choice("mode", self.mode, MODES)
        check_choice("compute", self.compute, COMPUTE)


def lake_arguments(learner: str, given: Mapping[str, Any]) -> tuple[Any, Any, DataOptions]:
    """Filter, executor and options that a caller gave to ``fit``, or the session's defaults.

    TypeError if one is unknown, with its new place or the nearest name; ConfigError if a value is wrong.
    """
    names = [field.name for field in fields(DataOptions)]
    known = ("where", "executor", *names)
    refuse_unknown(f"{learner}.fit", given, known)
    wanted = {**defaults_for(dict.fromkeys(known)), **given}
    options = DataOptions(**{name: wanted[name] for name in names if name in wanted})
    return wanted.get("where"), wanted.get("executor"), options


def is_lake(data: Any, target: Any) -> bool:
    """Whether the data is opened as `distmom.mean` opens it, not as scikit-learn would take it."""
    if isinstance(target, str) or isinstance(data, (str, os.PathLike, Scan)):
        return True
    if isinstance(data, Mapping):
        return not hasattr(data, "shape")  # sparse matrices may be dictionaries
    if isinstance(data, (list, tuple)):
        return len(data) > 0 and all(isinstance(item, (str, os.PathLike)) for item in data)
    if type(data).__module__.split(".")[0] in ("pyarrow", "polars", "duckdb", "dask", "dask_expr"):
        return True
    return hasattr(data, "__arrow_c_stream__") and not hasattr(data, "__array__")  # as pandas has


def open_columns(
    scan: Scan, target: str | None, columns: Names, machine: Learner
) -> tuple[Source, ReadOptions, str | None]:
    """The source, what a learner reads of it, and which column holds the targets.

    Features, then the target, which is a key if it is a label.

    ConfigError if columns are unknown or not numeric, or there is no target; DataError if labels are not
    numbers, booleans or text.
    """
    opened, schema, labels = scan.source, scan.schema, machine._most_labels is not None
    if target is None and machine._needs_target:
        found = [name for name in TARGETS if name in schema.names]
        if not found:
            raise ConfigError(
                f"y: name the column of targets, one of {', '.join(schema.names[:20])}; without a name only "
                f"{', '.join(TARGETS)} are tried"
            )
        target = found[0]
    asked = names_of("columns", columns)
    if target is not None and target in asked:
        raise ConfigError(f"columns: {target!r} is also the target; drop it from one of them")
    if not asked:
        stored = [name for name in schema.names if name not in opened.partition_names and name != target]
        types = types_of(opened, schema, stored)
        asked = tuple(name for name, type_ in types.items() if type_ is not None and _is_number(type_))
    if not asked:
        raise ConfigError(f"columns: no column of numbers to learn from among {', '.join(schema.names[:20])}")
    by = target if labels else None
    if by is not None and by in schema.names and kind_of(type_ := schema.field(by).type) not in LABELS:
        raise DataError(f"y: column {by!r} holds {type_}; labels are numbers, true or false, or text")
    every = asked if target is None or labels else (*asked, target)
    return *open_data(scan, every, by, joint=True), target


def _is_number(type_: Any) -> bool:
    kind = kind_of(type_)
    return kind in ("number", "bool") or (kind == "vector" and kind_of(type_.value_type) != "null")


def rows_of_lake(
    source: Source,
    read: ReadOptions,
    target: str | None,
    scan: Scan,
    executor: Executor,
    progress: Progress | None,
) -> LakeRows:
    """Rows of files or tables, counted but not read."""
    files, census = count_rows(source, executor, scan.on_bad_file).good(source.files)
    if not int(census.rows.sum()):
        raise NoAnswerError("the data has no rows; give data with rows")
    reader: BatchReader = source.reader(read)
    if read.by:
        reader = LabelReader(reader)
    share = column_share(source, read)
    gathered = RowSource(reader, files, census.rows, executor, scan.nan, scan.on_bad_file, share)
    return LakeRows(gathered, target is not None, progress, list(census.bad))


def with_labels(
    source: Source, read: ReadOptions, rows: LakeRows, most: int
) -> tuple[LakeRows, NDArray[Any]]:
    """The rows, with the numbers of their labels as targets, and the labels: one pass over their column."""
    gathered = rows.source
    keys, bad = labels_of_lake(source, read, gathered, most)
    rows.skipped.extend(bad)
    reader: Any = replace(gathered.reader, labels=keys)  # type: ignore[type-var]
    return replace(rows, source=replace(gathered, reader=reader)), values_of(keys)
