"""Results as an Arrow table: one flat row each; for a vector, one per coordinate."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from typing import Any

import pyarrow as pa

from distmom.lake.columns.times import NANOSECONDS, TimeScale, Unit, duration_text
from distmom.report.on_demand import OnDemand
from distmom.report.results import Results, labels, members
from distmom.report.times import arrow_type, stored

_VALUES = ("estimate", "interval_low", "interval_high", "plain_estimate", "minimum", "maximum")
_TEXTS = ("weights", "denominator", "target", "unit")
_FLAGS = ("n_units_exact", "leaves_interval", "drifted")
_COUNTS = ("repeats", "block_size_min", "block_size_max")
TOGETHER = 1_024
"""Results on demand whose rows are in memory at once, with all their names: each takes about 10 kB."""

_SUFFIXES = {"number": "", "timestamp": "_time", "zoned": "_zoned", "duration": "_duration"}
"""Suffixes of the value columns if a run has results of several kinds."""


Common = dict[str, TimeScale | None]
"""Kinds of values of the results, and unit and zone of times."""


def as_arrow(results: Results) -> pa.Table:
    """See `Results.to_arrow`; a group column keeps its type if its values share one, else it is text."""
    return pa.concat_tables(arrow_pieces(results)).combine_chunks()


def arrow_pieces(results: Results) -> Iterator[pa.Table]:
    """The table in pieces; if results are made on demand, only one piece is in memory at a time."""
    keys, common = _group_columns(results), _common(results)
    n = TOGETHER if isinstance(members(results), OnDemand) else len(results)
    every, start = iter(results), 0  # visit each once: it may have to be made
    while some := list(islice(every, n)):
        yield _piece(some, {name: array[start : start + n] for name, array in keys.items()}, common)
        start += len(some)


def _group_columns(results: Results) -> dict[str, pa.Array]:
    """The values of all groups in each group column."""
    values: dict[str, list[Any]] | None = None
    for _, group in labels(results):
        if values is None:
            values = {name: [] for name in group or ()}
        for name, mine in values.items():
            mine.append((group or {}).get(name))
    return {name: _keys(mine) for name, mine in (values or {}).items()}


def _piece(some: list[Any], keys: dict[str, pa.Array], common: Common) -> pa.Table:
    """The rows of some results with given keys."""
    each = [r.records() for r in some]
    rows = [row for records in each for row in records]
    columns = keys
    if len(rows) > len(some):  # vectors have several
        places = pa.array([i for i, records in enumerate(each) for _ in records], pa.int64())
        columns = {name: array.take(places) for name, array in keys.items()}
    scales = [getattr(r, "scale", None) for r, records in zip(some, each, strict=True) for _ in records]
    for name in rows[0]:
        values = [row[name] for row in rows]
        found = {name: pa.array(values, _kind(name, values))}
        if name in _VALUES:
            found = _values(name, scales, values, common)
        for key, array in found.items():
            columns[key if key not in columns else f"{key}_"] = array
    return pa.table(columns)


def _common(results: Results) -> Common:
    """The kinds of values of all results; for times the finest unit, and UTC if zones differ."""
    every = members(results)
    scales = {getattr(one, "scale", None) for one in (every.parts if isinstance(every, OnDemand) else every)}
    found: Common = {}
    for kind in _SUFFIXES:
        mine = [scale for scale in scales if ("number" if scale is None else scale.kind) == kind]
        if mine:
            found[kind] = _together([scale for scale in mine if scale is not None])
    return found


def _together(scales: list[TimeScale]) -> TimeScale | None:
    if not scales:
        return None
    unit: Unit = "ns" if all(scale.unit == "ns" for scale in scales) else "us"
    zones = {scale.zone for scale in scales}
    return replace(scales[0], unit=unit, zone=scales[0].zone if len(zones) == 1 else "UTC")


def _kind(name: str, values: list[Any]) -> pa.DataType:
    """Type of a column, whose values may all be None."""
    if name in _FLAGS:
        return pa.bool_()
    if name in _COUNTS or (name.startswith("n_") and name not in ("n_effective", "n_pairs")):
        return pa.int64()
    words = name.endswith("_reason") or name in _TEXTS or any(isinstance(v, str) for v in values)
    return pa.string() if words else pa.float64()


def _values(
    name: str, scales: list[TimeScale | None], numbers: list[float | None], common: Common
) -> dict[str, pa.Array]:
    """The columns for one kind of value: one per kind of result."""
    out: dict[str, pa.Array] = {}
    for kind, scale in common.items():
        key = name if len(common) == 1 else name + _SUFFIXES[kind]
        mine = [("number" if s is None else s.kind) == kind for s in scales]
        if scale is None:
            values = [n if m else None for n, m in zip(numbers, mine, strict=True)]
            out[key] = pa.array(values, pa.float64())
        else:
            counts = [
                stored(replace(s, unit=scale.unit), n) if m and s is not None else None
                for s, n, m in zip(scales, numbers, mine, strict=True)
            ]
            out[key] = pa.array(counts, arrow_type(scale))
    return out


def durations_as_text(table: pa.Table) -> pa.Table:
    """The table with ISO 8601 texts for durations, which CSV would store as numbers without a unit."""
    for place, field in enumerate(table.schema):
        if pa.types.is_duration(field.type):
            per_second = 10**9 // NANOSECONDS[field.type.unit]
            counts = table.column(place).cast(pa.int64()).to_pylist()
            texts = [None if n is None else duration_text(n, per_second) for n in counts]
            table = table.set_column(place, field.name, pa.array(texts, pa.string()))
    return table


def _keys(values: list[Any]) -> pa.Array:
    """A group column: Arrow's own type for the values, unsigned if necessary, else text.

    Decimals with more than 38 digits are text, too: frames and readers do not support them, and Polars
    panics.
    """
    for kind in (None, pa.uint64()):
        try:
            found = pa.array(values, kind)
        except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError):
            continue
        if not pa.types.is_decimal256(found.type):
            return found
        break
    return pa.array([None if v is None else str(v) for v in values], pa.string())
