"""What can be said of each column, and what the files are called."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from distmom.checks import names_of
from distmom.errors import ConfigError
from distmom.lake import ReadOptions
from distmom.lake.columns.schema import kind_of, type_name
from distmom.lake.filters import as_filter
from distmom.passes.opening import MOST_BATCH_ROWS_OF_GROUPS, Names
from distmom.passes.scan import Scan

if TYPE_CHECKING:
    from distmom.lake import FileRef, Source

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
