"""Results as an Arrow table: one flat row each, of a vector one for each coordinate."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice
from typing import Any

import pyarrow as pa

from distmom.lake.columns.times import NANOSECONDS, TimeScale, Unit, duration_text
from distmom.report.results import Results
from distmom.report.times import arrow_type, stored

_VALUES = ("estimate", "interval_low", "interval_high", "plain_estimate", "minimum", "maximum")
_TEXTS = ("weights", "denominator", "target", "unit")
_FLAGS = ("n_units_exact", "leaves_interval", "drifted")
_COUNTS = ("repeats", "block_size_min", "block_size_max")
TOGETHER = 4_096
"""Results whose rows are there at once, with all their names; of very many they would take gigabytes."""

_SUFFIXES = {"number": "", "timestamp": "_time", "zoned": "_zoned", "duration": "_duration"}
"""Of the columns of values where a run has results of several kinds."""


def as_arrow(results: Results) -> pa.Table:
    """See `Results.to_arrow`; a group column keeps its type where its values share one, else it is text."""
    scales: list[TimeScale | None] = []
    keys: dict[str, list[Any]] = {}
    parts: dict[str, list[pa.Array]] = {}
    every = iter(results)  # each once: it may have to be made
    while some := list(islice(every, TOGETHER)):
        rows = [(r, row) for r in some for row in r.records()]
        scales += [getattr(r, "scale", None) for r, _ in rows]
        for name in keys or some[0].group or ():
            keys.setdefault(name, []).extend((r.group or {}).get(name) for r, _ in rows)
        for name in parts or rows[0][1]:
            values = [row[name] for _, row in rows]
            parts.setdefault(name, []).append(pa.array(values, _kind(name, values)))
    columns = {name: _keys(values) for name, values in keys.items()}
    for name, mine in parts.items():
        joined = _joined(mine)
        found = _values(name, scales, joined) if name in _VALUES else {name: joined}
        for key, array in found.items():
            columns[key if key not in columns else f"{key}_"] = array
    return pa.table(columns)


def _joined(parts: list[pa.Array]) -> pa.Array:
    """One array of parts, some of which may hold nothing and so have another type."""
    kind = next((part.type for part in parts if pa.types.is_string(part.type)), parts[0].type)
    return pa.concat_arrays([part.cast(kind) for part in parts])


def _kind(name: str, values: list[Any]) -> pa.DataType:
    """Type of a column, of which all values may be None."""
    if name in _FLAGS:
        return pa.bool_()
    if name in _COUNTS or (name.startswith("n_") and name not in ("n_effective", "n_pairs")):
        return pa.int64()
    words = name.endswith("_reason") or name in _TEXTS or any(isinstance(v, str) for v in values)
    return pa.string() if words else pa.float64()


def _values(name: str, scales: list[TimeScale | None], values: pa.Array) -> dict[str, pa.Array]:
    """The columns of one kind of value: one for each kind of result."""
    if not any(scales):
        return {name: values}
    numbers = values.to_pylist()
    kinds = ["number" if scale is None else scale.kind for scale in scales]
    present = [kind for kind in _SUFFIXES if kind in kinds]
    out: dict[str, pa.Array] = {}
    for kind in present:
        key = name if len(present) == 1 else name + _SUFFIXES[kind]
        same = [scale if k == kind else None for scale, k in zip(scales, kinds, strict=True)]
        if kind == "number":
            mine = [n if k == kind else None for n, k in zip(numbers, kinds, strict=True)]
            out[key] = pa.array(mine, pa.float64())
        else:
            out[key] = _times(same, numbers)
    return out


def _times(scales: list[TimeScale | None], numbers: list[float | None]) -> pa.Array:
    """Times of one kind in the finest unit that all have, and in UTC if their zones differ."""
    given = [scale for scale in scales if scale is not None]
    unit: Unit = "ns" if all(scale.unit == "ns" for scale in given) else "us"
    zones = {scale.zone for scale in given}
    common = replace(given[0], unit=unit, zone=given[0].zone if len(zones) == 1 else "UTC")
    counts = [
        None if s is None else stored(replace(s, unit=unit), n) for s, n in zip(scales, numbers, strict=True)
    ]
    return pa.array(counts, arrow_type(common))


def durations_as_text(table: pa.Table) -> pa.Table:
    """The table with ISO 8601 texts for durations, which CSV would hold as numbers without a unit."""
    for place, field in enumerate(table.schema):
        if pa.types.is_duration(field.type):
            per_second = 10**9 // NANOSECONDS[field.type.unit]
            counts = table.column(place).cast(pa.int64()).to_pylist()
            texts = [None if n is None else duration_text(n, per_second) for n in counts]
            table = table.set_column(place, field.name, pa.array(texts, pa.string()))
    return table


def _keys(values: list[Any]) -> pa.Array:
    """A group column: Arrow's own type for the values, unsigned where they need it, else text.

    So are decimals of more than 38 digits, which frames and readers do not hold: Polars panics.
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
