"""From what a user calls data to rows to learn from."""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from distmom.cluster import connect
from distmom.errors import ConfigError, NoAnswerError
from distmom.estimators.facts import data_facts
from distmom.estimators.learn.labels import (
    LabelReader,
    check_label_type,
    check_number,
    labels_of_lake,
    values_of,
)
from distmom.estimators.learn.options import check_positive
from distmom.estimators.learn.rows import LakeRows, TrainingRows, read_all
from distmom.estimators.learn.shared import COMPUTE
from distmom.estimators.options import check_choice
from distmom.passes.census import column_share, count_rows
from distmom.passes.gather import RowSource
from distmom.passes.opening import Names, names_of, open_data, open_source, refuse_times

if TYPE_CHECKING:
    from distmom.cluster import Executor, Progress
    from distmom.cluster.work import SkippedFile
    from distmom.lake import BatchReader, ReadOptions, Source
    from distmom.lake.filters import Filter
    from distmom.lake.keys.keyvalues import Key

MODES = ("auto", "resident", "streaming")
TARGETS = ("label", "target", "y")
"""Columns that are taken for the target where none is named."""


@dataclass(frozen=True)
class DataOptions:
    """What to read of a lake, and where.

    Attributes
    ----------
    columns : str or sequence of str, optional
        Features; by default all columns of numbers but the target.
    where : str or expression, optional
    missing : {"error", "null"}
    nan : {"omit", "raise", "keep"}
    on_bad_file : {"error", "skip"}
    mode : {"auto", "resident", "streaming"}
        Whether rows are held in memory, or gathered for many steps at a time. Never changes a bit.
    compute : {"auto", "here", "workers"}
        Whether the losses and gradients of blocks are computed by the threads or workers, or by the process
        that takes the steps. Never changes a bit.
    client, workers, scheduler, threads, memory_limit, storage_options
        As for `distmom.mean`.
    progress : Progress, optional
    state : str, path or State, optional
        File of checkpoints, from which a run goes on.
    checkpoint_seconds : float
        Between checkpoints; at least twenty times as long as the last one took.
    """

    columns: Names = None
    where: Any = None
    missing: str = "error"
    nan: str = "omit"
    on_bad_file: str = "error"
    mode: str = "auto"
    compute: str = "auto"
    client: Any = None
    workers: int | None = None
    scheduler: str | None = None
    threads: int | None = None
    memory_limit: int | str | None = None
    storage_options: Mapping[str, object] | None = field(default=None, repr=False)  # may hold secrets
    progress: Progress | None = None
    state: str | os.PathLike[str] | None = None
    checkpoint_seconds: float = 30.0

    def __post_init__(self) -> None:
        check_positive("checkpoint_seconds", self.checkpoint_seconds, zero=True)
        check_choice("missing", self.missing, ("error", "null"))
        check_choice("nan", self.nan, ("omit", "raise", "keep"))
        check_choice("on_bad_file", self.on_bad_file, ("error", "skip"))
        check_choice("mode", self.mode, MODES)
        check_choice("compute", self.compute, COMPUTE)


class Wanted(NamedTuple):
    """What the targets are to be: whether there must be some; where they are labels, how many at most."""

    target: bool
    most_labels: int | None = None


@dataclass(frozen=True)
class LakeFacts:
    """What is known of rows to learn from, without them.

    Attributes
    ----------
    names : tuple of str
        Of the features.
    target : str or None
    mode : {"resident", "streaming"}
    reason : str
        Why this mode.
    n_rows : int
        Rows of the files, those that do not count included.
    source : Source, optional
        Where they are; only while the run lasts.
    data : dict
        Files, bytes and versions of tables, as results tell them.
    skipped : sequence of SkippedFile
        Files that were left out so far.
    workers : int
    labels : ndarray, optional
        Where targets are labels, these in the order of the numbers that stand for them.
    where : Filter, optional
    """

    names: tuple[str, ...]
    target: str | None
    mode: str
    reason: str
    n_rows: int
    source: Source | None = field(default=None, repr=False)
    data: dict[str, Any] = field(default_factory=dict)
    skipped: Sequence[SkippedFile] = ()
    workers: int = 1
    labels: NDArray[Any] | None = None
    where: Filter | None = None


def data_options_of(given: Mapping[str, Any]) -> DataOptions:
    """The options that a caller gave.

    Raises
    ------
    ConfigError
        If one is unknown or wrong.
    """
    known = [f.name for f in fields(DataOptions)]
    for name in given:
        if name not in known:
            near = difflib.get_close_matches(name, known, 1)
            hint = f"; did you mean {near[0]}?" if near else ""
            raise ConfigError(f"{name}: no such option of lakes; there are {', '.join(known)}{hint}")
    return DataOptions(**given)


def is_lake(data: Any, target: Any) -> bool:
    """Whether the data is to be opened as `distmom.mean` opens it, not as scikit-learn would take it."""
    if isinstance(target, str) or isinstance(data, (str, os.PathLike)):
        return True
    if isinstance(data, Mapping):
        return not hasattr(data, "shape")  # sparse matrices may be dictionaries
    if isinstance(data, (list, tuple)):
        return len(data) > 0 and all(isinstance(item, (str, os.PathLike)) for item in data)
    return type(data).__module__.split(".")[0] in ("pyarrow", "polars", "duckdb", "dask", "dask_expr")


@contextmanager
def open_rows(
    data: Any, target: str | None, wanted: Wanted, options: DataOptions, *, plan_only: bool = False
) -> Iterator[tuple[TrainingRows, LakeFacts, Executor]]:
    """Rows of anything that `distmom.mean` reads, what is known of them, and who reads them.

    With `plan_only` files are not read into memory.

    Raises
    ------
    ConfigError
        If columns are unknown or not of numbers, or there is no target.
    NoAnswerError
        If there are no rows.
    """
    if target is not None and not isinstance(target, str):
        raise ConfigError(f"y: with a lake, name its column of targets, not {type(target).__name__}")
    source, read, target = _columns(data, target, wanted, options)
    reader = source.reader(read)
    refuse_times(reader.options, "name columns of numbers")
    names = reader.options.value_names
    if target is not None and not read.by:
        names = names[:-1]
    with connect(
        options.client, options.workers, options.scheduler, options.threads, options.memory_limit
    ) as executor:
        if source.in_memory:
            held, keys = read_all(reader, source.files, target is not None, options.nan)
            labels = values_of(keys) if read.by else None
            if wanted.most_labels is not None:
                check_number(len(keys), wanted.most_labels, target)
            why, told = "the data is in memory", data_facts(source.files, (), source)
            yield (
                held,
                LakeFacts(names, target, "resident", why, held.n_rows, source, told, labels=labels),
                executor,
            )
            return
        most = None if plan_only else wanted.most_labels
        rows, facts = _of_lake(source, read, target, names, options, executor, most)
        if facts.mode == "resident" and not plan_only:
            yield rows.resident(), facts, executor
        else:
            yield rows, facts, executor


def _columns(
    data: Any, target: str | None, wanted: Wanted, options: DataOptions
) -> tuple[Source, ReadOptions, str | None]:
    """The source, and what to read of it: features, and the target last, or as a key where it is a label."""
    from distmom.lake import BATCH_ROWS

    opened = open_source(data, options.storage_options)
    schema = opened.schema()
    if target is None and wanted.target:
        found = [name for name in TARGETS if name in schema.names]
        if not found:
            raise ConfigError(
                f"y: name the column of targets, one of {', '.join(schema.names[:20])}; without a name only "
                f"{', '.join(TARGETS)} are tried"
            )
        target = found[0]
    asked = names_of("columns", options.columns)
    if target is not None and target in asked:
        raise ConfigError(f"columns: {target!r} is also the target; drop it from one of them")
    if not asked:
        stored = [name for name in schema.names if name not in opened.partition_names and name != target]
        asked = tuple(name for name in stored if _is_number(schema.field(name).type))
    if not asked:
        raise ConfigError(f"columns: no column of numbers to learn from among {', '.join(schema.names[:20])}")
    labels = target is not None and wanted.most_labels is not None
    if labels and target in schema.names:
        check_label_type(str(target), schema.field(target).type)
    columns = asked if target is None or labels else (*asked, target)
    source, read = open_data(
        data,
        columns,
        target if labels else None,
        options.where,
        options.missing,
        BATCH_ROWS,
        joint=True,
        storage_options=options.storage_options,
    )
    return source, read, target


def _is_number(type_: Any) -> bool:
    import pyarrow.types as t

    if t.is_dictionary(type_):
        type_ = type_.value_type
    if t.is_list(type_) or t.is_large_list(type_) or t.is_fixed_size_list(type_):
        type_ = type_.value_type
    return bool(t.is_integer(type_) or t.is_floating(type_) or t.is_decimal(type_) or t.is_boolean(type_))


def _of_lake(
    source: Source,
    read: ReadOptions,
    target: str | None,
    names: tuple[str, ...],
    options: DataOptions,
    executor: Executor,
    most_labels: int | None,
) -> tuple[LakeRows, LakeFacts]:
    """Rows of files, and whether they are to be held in memory; labels get numbers if `most_labels`."""
    census = count_rows(source, executor, options.on_bad_file)
    keep = np.flatnonzero(census.rows >= 0)
    files = tuple(source.files[i] for i in keep)
    if not int(census.rows[keep].sum()):
        raise NoAnswerError("the data has no rows; give data with rows")
    reader: BatchReader = source.reader(read)
    skipped, labels = list(census.bad), None
    if read.by:
        keys: tuple[Key, ...] = ()
        if most_labels is not None:
            keys, bad = labels_of_lake(source, read, files, executor, options.on_bad_file, most_labels)
            skipped += bad
            labels = values_of(keys)
        reader = LabelReader(reader, keys)
    share = column_share(source, read)
    gathered = RowSource(reader, files, census.rows[keep], executor, options.nan, options.on_bad_file, share)
    rows = LakeRows(gathered, target is not None, options.progress, skipped)
    streaming, reason = _mode(rows, options.mode)
    facts = LakeFacts(
        names,
        target,
        "streaming" if streaming else "resident",
        reason,
        rows.n_rows,
        source,
        data_facts(source.files, (), source),
        rows.skipped,
        executor.threads,
        labels,
        read.where,
    )
    return rows, facts


def _mode(rows: LakeRows, asked: str) -> tuple[bool, str]:
    """Whether rows are gathered for some steps at a time, and why."""
    needed = f"{rows.n_rows:,} rows of {rows.row_bytes} bytes"
    if asked == "streaming" or (asked == "auto" and not rows.fits()):
        why = "as asked for" if asked == "streaming" else "as they do not fit into memory"
        return True, f"{needed} are gathered for many steps at a time, {why}"
    return False, f"{needed} fit into memory"
