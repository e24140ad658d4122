"""Results as an Arrow table: one flat row each, of a vector one for each coordinate."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa

    from distmom.report.results import Results

_FLOATS = (
    "estimate",
    "interval_low",
    "interval_high",
    "confidence_level",
    "achieved_level",
    "plain_estimate",
    "radius",
    "trace",
    "gap",
)
_WHOLE = (
    "n_rows",
    "n_used",
    "n_null",
    "n_nan",
    "n_inf",
    "n_blocks",
    "repeats",
    "block_size_min",
    "block_size_max",
    "n_ruined_blocks",
    "n_set_aside",
)


def as_arrow(results: Results) -> pa.Table:
    """The records of each result; a group column keeps its type where all its values share one, else text."""
    import pyarrow as pa

    rows = [record for r in results for record in r.records()]
    names = list(results[0].group) if len(results) and results[0].group else []
    columns: dict[str, pa.Array] = {}
    for name in names:
        columns[name] = _keys([(r.group or {}).get(name) for r in results for _ in r.records()])
    for name in rows[0] if rows else ():
        kind = pa.float64() if name in _FLOATS else pa.int64() if name in _WHOLE else pa.string()
        key = name if name not in columns else f"{name}_"
        columns[key] = pa.array([row[name] for row in rows], kind)
    return pa.table(columns)


def _keys(values: list[Any]) -> pa.Array:
    """A group column: Arrow's own type for the values, unsigned where they need it, else text."""
    import pyarrow as pa

    for kind in (None, pa.uint64()):
        try:
            return pa.array(values, kind)
        except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError):
            continue
    return pa.array([None if v is None else str(v) for v in values], pa.string())
