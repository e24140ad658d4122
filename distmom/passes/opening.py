"""From the arguments of a public function to a source of rows, and what to read from it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pyarrow as pa

from distmom.checks import names_of
from distmom.errors import ConfigError, DataError
from distmom.lake import BATCH_ROWS, ReadOptions, Source
from distmom.lake.columns.schema import kind_of
from distmom.lake.columns.times import kind_of_times
from distmom.lake.filters import as_filter
from distmom.lake.messages import listing
from distmom.passes.scan import Scan

Names = str | Sequence[str] | None

AVERAGED = ("number", "bool", "date", "timestamp", "zoned", "duration", "vector")
"""Types of columns that have a mean."""

MANY_COLUMNS, BATCH_ROWS_OF_MANY = 16, 65_536
"""More columns are read in smaller batches: PyArrow holds an array of each column twice. Two batches make a
leaf, whose values are then not copied into one array."""

MOST_BATCH_ROWS_OF_GROUPS = 65_536
"""With groups, cells and samples need the processor's caches: a batch must leave room for them."""


def open_data(
    scan: Scan,
    column: Names,
    by: Names,
    unit: tuple[str, ...] = (),
    *,
    joint: bool = False,
    weights: str | None = None,
) -> tuple[Source, ReadOptions]:
    """The source of the rows, and what to read from it; `joint` allows list columns, weights come last."""
    source = scan.source
    others = {*names_of("by", by), *unit, weights}
    columns = names_of("column", column) or _only_columns(source, others)
    keys = key_columns(by, columns)
    vectors = () if joint else None
    units = unit_columns(unit, columns)
    filter_ = as_filter(scan.where, source)
    if weights is not None:
        columns = (*columns, weights)
    batch_rows = batch_rows_of(scan, len(columns), grouped=bool(keys))
    read = ReadOptions(columns, keys, filter_, scan.missing, batch_rows, vectors, units)
    return source, read


def batch_rows_of(scan: Scan, n_columns: int, *, grouped: bool) -> int:
    """Rows of a batch, for so many columns."""
    if grouped:
        return min(scan.batch_rows, MOST_BATCH_ROWS_OF_GROUPS)
    many = scan.batch_rows == BATCH_ROWS and n_columns > MANY_COLUMNS
    return BATCH_ROWS_OF_MANY if many else scan.batch_rows


def key_columns(by: Names, columns: tuple[str, ...]) -> tuple[str, ...]:
    """Columns whose values define groups; none of them may be averaged."""
    keys = names_of("by", by)
    both = [name for name in columns if name in keys]
    if both:
        raise ConfigError(f"by: {both[0]!r} is also a column to average; drop it from one of them")
    return keys


def unit_columns(units: tuple[str, ...], columns: tuple[str, ...]) -> tuple[str, ...]:
    """Columns whose values define units; none of them may be averaged."""
    both = [name for name in columns if name in units]
    if both:
        raise ConfigError(
            f"UnitBlocks: columns: {both[0]!r} is also a column to average, and blocks must not depend on "
            "its values; drop it from one of them"
        )
    return units


def types_of(source: Source, schema: pa.Schema, names: Iterable[str]) -> dict[str, pa.DataType | None]:
    """Types of columns, which may be all null in the first file; None for columns in no schema."""
    types = {n: schema.field(n).type if n in schema.names else None for n in names}
    if hasattr(source, "first_types"):
        types.update(source.first_types([n for n, type_ in types.items() if type_ == pa.null()]))
    return types


def refuse_times(read: ReadOptions, remedy: str) -> None:
    """Raise DataError if a column contains dates, times or durations; `remedy` says what to use instead."""
    scales = read.scales
    timed = next((name for name in read.value_names if name in scales), None)
    if timed is not None:
        raise DataError(f"column {timed!r} holds {kind_of_times(scales[timed])}s; {remedy}")


def _only_columns(source: Source, others: set[str | None]) -> tuple[str, ...]:
    """The default columns if none is named: all columns of an array in memory, the only column of a lake.

    Columns with another role (groups, units, weights) are left out.
    """
    schema = source.schema()
    stored = [n for n in schema.names if n not in source.partition_names and n not in others]
    if (source.in_memory and stored) or len(stored) == 1:
        return tuple(stored)
    types = types_of(source, schema, stored)
    numbers = [n for n, type_ in types.items() if type_ is not None and kind_of(type_) in AVERAGED]
    raise ConfigError(f"column: missing; choose one of {listing(numbers or stored or schema.names, 20)}")
