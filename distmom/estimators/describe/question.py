"""The question behind a profile, and its plan: one pass over all columns."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from distmom.checks import names_of
from distmom.cluster import Executor, Progress, Unit, run_units
from distmom.cluster.work import ReadAndReduce
from distmom.errors import BadFileError, ConfigError
from distmom.estimators.describe.answer import describe_result
from distmom.estimators.facts import data_facts
from distmom.estimators.mean.counts import check_state
from distmom.estimators.mean.plan import MeanPlan, plan_mean
from distmom.estimators.options import MeanOptions
from distmom.estimators.question import RowsQuestion
from distmom.lake import FileRef, ReadOptions, Source
from distmom.lake.columns.schema import kind_of, type_name
from distmom.lake.filters import as_filter
from distmom.memory import Held, Memory
from distmom.passes.key_ranges import most_groups
from distmom.passes.opening import Names, batch_rows_of, types_of
from distmom.passes.scan import Scan
from distmom.reductions.block_means import BlockMeans
from distmom.reductions.layouts import FileLayout
from distmom.reductions.profile import Profile
from distmom.report import DescribeResult

SAMPLE = 16_384
"""Rows used for Gini's mean difference."""

MOST_FILES = 100_000
"""With more files, those of one folder are taken together."""

MOST_BROKEN = 10
"""Most unreadable columns that are left out, each at the cost of a pass; with more, the data is bad."""

LIBRARIES = 20_000_000
"""Bytes of the parts of SciPy used to name files that differ from the others."""

MEASURED = ("number", "bool", "date", "timestamp", "zoned", "duration")

COUNTED = ("text", "binary", "time", "null", "vector", "list")


@dataclass
class DescribeQuestion(RowsQuestion):
    """Profiles of the columns of a scan, and the files or units that differ from the others."""

    asks: ClassVar[str] = "describe"

    scan: Scan
    columns: Names
    by: Names
    options: MeanOptions
    broken: dict[str, str] = field(default_factory=dict)
    """Unreadable columns and the reasons, found while other columns were read."""

    @cached_property
    def opened(self) -> tuple[Source, ReadOptions, Columns]:
        """The source, what to read from it, and what can be reported on each column."""
        return open_columns(self.scan, self.columns, self.by, self.broken)

    def without(self, error: BadFileError) -> DescribeQuestion:
        """The question for the other columns; raises the error if the column may not be left out."""
        of_all, column = not names_of("columns", self.columns), error.column
        types = self.opened[2].types
        if not of_all or column not in types or len(types) == 1 or len(self.broken) >= MOST_BROKEN:
            raise error
        return self.about(broken={**self.broken, column: str(error)})

    def plan(self, executor: Executor, progress: Progress | None) -> DescribePlan:
        """Plan the robust means without groups, and the sums computed in the same pass."""
        source, read, columns = self.opened
        plan = plan_mean(
            source, read, self.options, self.seed, executor, progress, self.share, units_ride=True
        )
        naming, blocks = number_files(plan.files), plan.reduction
        of_units = _of_units(blocks, executor) if read.by and columns.measured else None
        reduction = Profile(blocks, len(columns.counted), SAMPLE, of_units)
        units = tuple(
            replace(u, window=naming.numbers[u.first_file : u.first_file + len(u.files)]) for u in plan.units
        )
        memory = plan.check_memory(executor, _held(reduction, units, executor.threads_per_process))
        mean = replace(plan, units=units, memory=memory)
        if of_units is not None:
            most = most_groups(executor, memory, of_units.state_bytes(), len(units))
            reduction = replace(reduction, units=replace(of_units, most_groups=most))
        return DescribePlan(self, source, mean, reduction, columns, naming, read.by)


def _held(reduction: Profile, units: Sequence[Unit], threads: int) -> Memory:
    """Memory besides the means: facts of the files and large samples, at work, waiting and being merged."""
    most = max((len(u.files) for u in units), default=0)
    waiting = min(len(units), threads + len(units).bit_length()) - 1
    whole = reduction.more_bytes(sum(len(u.files) for u in units))
    each, remedy = reduction.more_bytes(most), "use fewer columns"
    return Memory(
        (
            Held("samples and facts at work", each, remedy=remedy),
            Held("samples and facts", waiting * each + whole * (waiting > 0), each=False, remedy=remedy),
            Held("libraries of a profile", LIBRARIES, each=False),
        )
    )


@dataclass(frozen=True)
class DescribePlan:
    """Everything a profile needs."""

    question: DescribeQuestion
    source: Source
    mean: MeanPlan
    reduction: Profile
    columns: Columns
    naming: Naming
    by: tuple[str, ...]

    def describe(self, executor: Executor) -> dict[str, Any]:
        """Files, bytes, units, memory, columns."""
        told = {"n_columns": len(self.columns.types), "n_measured": len(self.columns.measured)}
        skipped = [s._asdict() for s in self.mean.skipped]
        folders = self.naming.folders or None
        return {**self.mean.describe(executor), **told, "folders": folders, "skipped": skipped}

    def run(self, executor: Executor, progress: Progress | None, run: dict[str, Any]) -> DescribeResult:
        """Read the rows; the profile, without unreadable columns if no columns were named."""
        mean = self.mean
        work = ReadAndReduce(
            mean.reader,
            self.reduction,
            len(self.by),
            mean.options.on_bad_file,  # type: ignore[arg-type]
            compiled=mean.reduction.compiled,
        )
        merge, grows = self.reduction.merge, self.reduction.units is not None
        try:
            found = run_units(work, mean.units, merge, executor, progress=progress, grows=grows)
        except BadFileError as error:
            return self.question.without(error).plan(executor, progress).run(executor, progress, run)
        skipped = [*mean.skipped, *found.skipped]
        check_state(found.state, skipped, filtered=mean.reader.options.where is not None)
        facts = data_facts(mean.files, skipped, self.source)
        if broken := self.question.broken:
            facts["left_out"] = [{"column": name, "reason": why} for name, why in broken.items()]
        return describe_result(self, found.state, facts, run)


def _of_units(blocks: BlockMeans, executor: Executor) -> BlockMeans:
    """Sums by units: one cell for all rows of a group."""
    most = executor.memory // (2 * executor.threads_per_process)
    return replace(blocks, layout=FileLayout(), n_cells=1, sample_size=0, grouped=True, most_bytes=most)


@dataclass(frozen=True)
class Columns:
    """Names and types of the columns, in order; those with a mean, and those whose nulls can be counted."""

    types: dict[str, str]
    measured: tuple[str, ...]
    counted: tuple[str, ...]


@dataclass(frozen=True)
class Naming:
    """Numbers of the files, and the corresponding names: of files, or of folders."""

    numbers: NDArray[np.int64]
    names: tuple[str, ...]
    folders: bool


def open_columns(
    scan: Scan, columns: Names, by: Names, broken: Collection[str] = ()
) -> tuple[Source, ReadOptions, Columns]:
    """The source, what to read from it, and what can be reported on each column, except broken ones."""
    source, schema = scan.source, scan.schema
    keys = names_of("by", by)
    asked = names_of("columns", columns)
    both = [name for name in asked if name in keys]
    if both:
        raise ConfigError(f"by: {both[0]!r} is also a column to describe; drop it from one of them")
    if not asked:  # folders are reported as such, and keys have no values of their own
        others = {*source.partition_names, *keys, *broken}
        asked = tuple(n for n in schema.names if n not in others)
    if not asked:
        told = f"; {unread}" if (unread := getattr(source, "unread", "")) else ""
        raise ConfigError(f"columns: the data has only those of folders and of by{told}")
    types = types_of(source, schema, asked)
    measured = tuple(n for n, type_ in types.items() if type_ is None or kind_of(type_) in MEASURED)
    counted = tuple(n for n, type_ in types.items() if type_ is not None and _countable(type_))
    batch_rows = batch_rows_of(scan, len(measured) + len(counted), grouped=bool(keys))
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


def number_files(files: Sequence[FileRef], most: int | None = None) -> Naming:
    """Number the files in their order or, if there are too many, by folder.

    Folders are taken at the greatest depth at which they are few enough.
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
