"""What a profile reads and keeps: columns by what can be said of them, files by number, units of work."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from distmom.checks import names_of
from distmom.cluster import check_memory
from distmom.errors import ConfigError
from distmom.estimators.mean.plan import MeanPlan, plan_mean
from distmom.estimators.options import MeanOptions
from distmom.lake import ReadOptions
from distmom.lake.columns.schema import kind_of, type_name
from distmom.lake.filters import as_filter
from distmom.passes.opening import MOST_BATCH_ROWS_OF_GROUPS, Names
from distmom.passes.scan import Scan
from distmom.reductions.block_means import BlockMeans
from distmom.reductions.layouts import FileLayout
from distmom.reductions.profile import Profile

if TYPE_CHECKING:
    from distmom.cluster import Executor, Progress, Unit
    from distmom.lake import FileRef, Source

SAMPLE = 16_384
"""Rows from which Gini's mean difference is taken."""

MOST_FILES = 100_000
"""With more files, those of one folder are taken together."""

MEASURED = ("number", "bool", "date", "timestamp", "zoned", "duration")
COUNTED = ("text", "binary", "time", "null", "vector", "list")


@dataclass(frozen=True)
class Columns:
    """Names and types of the columns, in order; those with a mean, and those whose nulls can be counted."""

    types: dict[str, str]
    measured: tuple[str, ...]
    counted: tuple[str, ...]


@dataclass(frozen=True)
class Naming:
    """Numbers of the files, and the names that belong to them: of files, or of folders."""

    numbers: NDArray[np.int64]
    names: tuple[str, ...]
    folders: bool


@dataclass(frozen=True)
class DescribePlan:
    """Everything a profile needs."""

    mean: MeanPlan
    reduction: Profile
    columns: Columns
    naming: Naming
    by: tuple[str, ...]

    def describe(self, executor: Executor) -> dict[str, Any]:
        """Numbers for people who look before they run."""
        told = self.mean.describe(executor)
        columns = {
            "n_columns": len(self.columns.types),
            "n_measured": len(self.columns.measured),
            "folders": self.naming.folders or None,
            "skipped": [s._asdict() for s in self.mean.skipped],
        }
        return {**told, **columns}


def open_columns(scan: Scan, columns: Names, by: Names) -> tuple[Source, ReadOptions, Columns]:
    """The source, what to read of it, and what can be said of each column."""
    source, schema = scan.source, scan.schema
    keys = names_of("by", by)
    asked = names_of("columns", columns)
    both = [name for name in asked if name in keys]
    if both:
        raise ConfigError(f"by: {both[0]!r} is also a column to describe; drop it from one of them")
    if not asked:  # folders are told of as such, and keys have no values of their own
        asked = tuple(n for n in schema.names if n not in source.partition_names and n not in keys)
    if not asked:
        raise ConfigError("columns: the data has none but those of folders and of by")
    types = {n: schema.field(n).type if n in schema.names else None for n in asked}
    if hasattr(source, "first_types"):  # a column may be null throughout in the first file
        types.update(source.first_types([n for n, type_ in types.items() if type_ == pa.null()]))
    measured = tuple(n for n, type_ in types.items() if type_ is None or kind_of(type_) in MEASURED)
    counted = tuple(n for n, type_ in types.items() if type_ is not None and _countable(type_))
    batch_rows = min(scan.batch_rows, MOST_BATCH_ROWS_OF_GROUPS) if keys else scan.batch_rows
    filter_ = as_filter(scan.where, source)
    read = ReadOptions(measured, keys, filter_, scan.missing, batch_rows, present=counted)
    names = {n: "unknown" if type_ is None else type_name(type_) for n, type_ in types.items()}
    return source, read, Columns(names, measured, counted)


def _countable(type_: pa.DataType) -> bool:
    """Whether the nulls of a column without a mean can be read from one physical column."""
    if pa.types.is_nested(type_):
        if pa.types.is_struct(type_) or pa.types.is_map(type_):
            return False
        inner = type_.value_type
        return not pa.types.is_nested(inner) or _countable(inner)
    return kind_of(type_) in COUNTED


def plan_describe(
    source: Source,
    read: ReadOptions,
    columns: Columns,
    options: MeanOptions,
    seed: int,
    executor: Executor,
    progress: Progress | None,
    share: float,
) -> DescribePlan:
    """Plan the robust means without groups, and what rides along."""
    plan = plan_mean(source, read, options, seed, executor, progress, share, units_ride=True)
    naming = number_files(plan.files)
    blocks = plan.reduction
    reduction = Profile(
        blocks,
        len(columns.counted),
        SAMPLE,
        _of_units(blocks, executor) if read.by and columns.measured else None,
    )
    units = tuple(replace(u, window=_window(naming, u)) for u in plan.units)
    most = max((len(u.files) for u in units), default=0)
    memory = plan.unit_memory + 4 * reduction.state_bytes(most)
    worst = max(units, key=lambda u: u.n_bytes, default=None)
    name = "the data" if worst is None else worst.name
    check_memory(memory, executor.threads_per_process, executor.memory, name)
    mean = replace(plan, units=units, unit_memory=memory)
    return DescribePlan(mean, reduction, columns, naming, read.by)


def _of_units(blocks: BlockMeans, executor: Executor) -> BlockMeans:
    """Sums by units: one cell for all rows of a group."""
    most_bytes = executor.memory // (2 * executor.threads_per_process)
    layout = FileLayout()
    return replace(blocks, layout=layout, n_cells=1, sample_size=0, grouped=True, most_bytes=most_bytes)


def _window(naming: Naming, unit: Unit) -> NDArray[np.int64]:
    return naming.numbers[unit.first_file : unit.first_file + len(unit.files)]


def number_files(files: Sequence[FileRef], most: int | None = None) -> Naming:
    """Number the files in their order; where they are too many, by the folders that hold them.

    Folders are taken at the greatest depth at which there are few enough.
    """
    most = MOST_FILES if most is None else most
    paths = [file.path for file in files]
    if len(paths) <= most:
        return Naming(np.arange(len(paths)), tuple(paths), False)
    parts = [path.split("/")[:-1] for path in paths]
    for depth in range(max(map(len, parts)), -1, -1):
        names = ["/".join(folders[:depth]) for folders in parts]
        runs = np.cumsum([0] + [a != b for a, b in pairwise(names)])
        if int(runs[-1]) < most:
            first = np.flatnonzero(np.diff(runs, prepend=-1))
            return Naming(runs.astype(np.int64), tuple(names[i] for i in first), True)
    raise AssertionError("at depth 0 there is one folder")  # pragma: no cover
