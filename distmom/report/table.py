"""Results as an Arrow table: one flat row each."""

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
    "n_effective",
)
_WHOLE = (
    "n_rows",
    "n_used",
    "n_null",
    "n_nan",
    "n_inf",
    "n_blocks",
    "block_size_min",
    "block_size_max",
    "n_ruined_blocks",
    "n_set_aside",
    "n_unweighted",
    "n_zero_weight",
)


def as_arrow(results: Results) -> pa.Table:
    """One row per result; a group column keeps its type where all its values share one, else it is text."""
    import pyarrow as pa

    rows = [_flat(r) for r in results]
    names = list(results[0].group) if len(results) and results[0].group else []
    columns: dict[str, pa.Array] = {}
    for name in names:
        columns[name] = _keys([(r.group or {}).get(name) for r in results])
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


def _flat(r: Any) -> dict[str, Any]:
    low, high = r.interval or (None, None)
    return {
        "column": r.column,
        "estimate": r.estimate,
        "interval_low": low,
        "interval_high": high,
        "interval_kind": r.interval_kind,
        "interval_reason": r.interval_reason,
        "confidence_level": r.confidence_level,
        "achieved_level": r.achieved_level,
        "status": "; ".join(r.status),
        "n_rows": r.n_rows,
        "n_used": r.n_used,
        "n_null": r.n_null,
        "n_nan": r.n_nan,
        "n_inf": r.n_inf,
        "n_blocks": r.n_blocks,
        "block_size_min": r.block_size[0],
        "block_size_max": r.block_size[1],
        "n_ruined_blocks": r.n_ruined_blocks,
        "n_set_aside": r.n_set_aside,
        "plain_estimate": r.plain_estimate,
        "scheme": r.scheme,
        **_weights(r),
    }


def _weights(r: Any) -> dict[str, Any]:
    """Columns that only weighted results have."""
    if r.weights is None:
        return {}
    names = ("weights", "n_unweighted", "n_zero_weight", "n_effective")
    return {name: getattr(r, name) for name in names}
