"""Files and units that stand out, with reasons in words, and a second look into the files."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from distmom.errors import DataError
from distmom.estimators.describe.suspects import LEAST_UNITS, SuspectUnit, suspects
from distmom.lake import BatchReader, FileRef, ReadOptions, Source
from distmom.lake.columns.times import TimeScale
from distmom.reductions.accumulate.leaves import missing_rows
from distmom.report import NamedUnit, Reason
from distmom.report.digits import quantity
from distmom.report.times import readable

if TYPE_CHECKING:
    from distmom.estimators.describe.question import DescribePlan
    from distmom.estimators.describe.unit_tables import UnitTable

MOST_FILES, MOST_GROUPS = 8, 1_000
"""Most files, and row groups of a file, that are read again; more would amount to another pass."""

PARTIAL = ("mean", "sign", "scale")
"""Findings that part of a file can cause."""

APART = 0.25
"""Row groups are distinguished if the smallest distance from the mean is below this share of the largest."""


def name_units(
    plan: DescribePlan,
    tables: list[UnitTable],
    samples: dict[str, NDArray[np.float64]],
) -> tuple[list[NamedUnit], str | None]:
    """The named files and units, sorted by number of reasons, then by distance; or why there are none.

    `samples` are uniform samples of the used rows of each column.
    """
    named = []
    compared = False
    for table in tables:
        if table.kind == "folder" and not plan.naming.folders:
            continue  # its files are named
        compared = compared or len(table.names) >= LEAST_UNITS
        reasons: dict[int, list[Reason]] = {}
        for c, column in enumerate(plan.columns.measured):
            scale = plan.mean.reader.options.scales.get(column)
            facts = table.facts[c]
            if scale is not None and scale.kind != "duration":
                facts = replace(facts, zero=False)
            for finding in suspects(facts, samples[column]):
                reasons.setdefault(finding.unit, []).append(_reason(column, finding, scale))
        mine = [
            NamedUnit(table.kind, table.names[unit], int(table.facts[0].n_rows[unit]), tuple(found))
            for unit, found in reasons.items()
        ]
        named += sorted(mine, key=lambda unit: (-len(unit.reasons), -_farthest(unit), unit.name))
    if not compared:
        what = "files or units" if plan.by else "files"
        return [], f"fewer than {LEAST_UNITS} {what}: too few to detect anomalous ones"
    return named, None


def _reason(column: str, finding: SuspectUnit, scale: TimeScale | None) -> Reason:
    value, typical, z_score = (v if math.isfinite(v) else None for v in finding[2:5])
    return Reason(column, finding.what, value, typical, z_score, _words(finding, scale))


def _farthest(unit: NamedUnit) -> float:
    """The largest z-score of its reasons; some are infinite."""
    return max(math.inf if reason.z_score is None else reason.z_score for reason in unit.reasons)


def _words(finding: SuspectUnit, scale: TimeScale | None) -> str:
    _, what, value, typical, z_score, by_scale = finding
    away = f", robust z-score {z_score:,.0f}" if math.isfinite(z_score) else ""
    if what == "no values":
        return "no values at all"
    if what == "missing":
        return f"{100 * value:.1f}% missing, usually {100 * typical:.1f}%"
    if what == "mirror":
        return "skewed to the opposite side: sign reversed?"
    length = by_scale or what == "narrow"
    one, other = _shown(value, scale, length), _shown(typical, scale, length)
    figure = "standard deviation" if by_scale else "mean"
    return {
        "constant": f"constant {one}, usual mean {other}",
        "scale": f"{figure} {one}, usually {other}: about {_times(value, typical)} times as large; "
        "another unit?",
        "narrow": f"standard deviation {one}, usually {other}: nearly constant",
        "mean": f"mean {one}, usually {other}{away}",
        "sign": f"mean {one}, usually {other}: sign reversed?",
        "range": f"all values {'above' if value > typical else 'below'} the usual mean {other}: shifted?",
    }[what]


def _shown(value: float, scale: TimeScale | None, length: bool) -> str:
    if scale is None:
        return quantity(value)
    return readable(replace(scale, kind="duration", base=0) if length else scale, value, 0)


def _times(value: float, typical: float) -> str:
    """A ratio to one digit: since files differ, more digits would be misleading."""
    ratio = abs(value / typical) if typical else math.inf
    return f"{float(f'{ratio:.0e}'):,.0f}" if ratio < 1e9 else f"{ratio:.0e}"


def look_again(
    source: Source,
    read: ReadOptions,
    files: dict[str, FileRef],
    named: list[NamedUnit],
    means: dict[str, float],
) -> list[NamedUnit]:
    """The named units, with the odd row groups of the first few files.

    `files` are keyed by path, `means` are the robust means of the columns; one column is read of each file.
    Files with one row group, files that have disappeared, and data that are not files are not examined.
    """
    left = MOST_FILES if hasattr(source, "row_groups") else 0
    out = []
    for unit in named:
        columns = [r.column for r in unit.reasons if r.what in PARTIAL and r.column in means]
        file = files.get(unit.name) if unit.kind == "file" else None
        if file is not None and columns and left:
            left -= 1
            only = replace(read, columns=(columns[0],), by=(), present=())
            parts = _parts(source, only, file, means[columns[0]])
            out.append(replace(unit, parts=parts))
        else:
            out.append(unit)
    return out


def _parts(source: Source, read: ReadOptions, file: FileRef, mean: float) -> tuple[str, ...]:
    """The row groups of a file whose values are far from a column's mean, unless all are."""
    try:
        sizes = source.row_groups(file)  # type: ignore[attr-defined]
        if not 1 < len(sizes) <= MOST_GROUPS:
            return ()
        ends = np.cumsum([0, *sizes]).tolist()
        reader = source.reader(read)
        away = np.array([_away(reader, file, a, b, mean) for a, b in pairwise(ends)])
    except (DataError, OSError):  # the run has read it before, and only these words depend on it now
        return ()
    return _told(away, ends, read.columns[0])


def _away(reader: BatchReader, file: FileRef, start: int, stop: int, mean: float) -> float:
    """Root of the mean square distance of some rows from the mean; NaN without values."""
    n, square = 0, 0.0
    for batch in reader.batches(file, start, stop):
        x = batch.values[0]
        gone, _ = missing_rows(batch.valid[0], batch.keep)
        x = x if gone is None else x[~gone]
        x = x[np.isfinite(x)] - mean
        n, square = n + x.size, square + float(np.dot(x, x))
    return (square / n) ** 0.5 if n else float("nan")


def _told(away: NDArray[np.float64], ends: list[int], column: str) -> tuple[str, ...]:
    known = away[np.isfinite(away)]
    if known.size < 2 or not known.min() < APART * known.max():
        return ()
    bad = np.flatnonzero(away > 0.5 * known.max()).tolist()
    runs = np.split(bad, np.flatnonzero(np.diff(bad) > 1) + 1)
    spans = [f"{run[0]} to {run[-1]}" if len(run) > 1 else f"{run[0]}" for run in runs]
    rows = f"rows {ends[bad[0]]:,} to {ends[bad[-1] + 1] - 1:,}"
    more = f" and {len(spans) - 5} more" if len(spans) > 5 else ""
    which = f"row group{'s' if len(bad) > 1 else ''} {', '.join(spans[:5])}{more}"
    return (f"{column}: only {which} of {len(away)} ({rows})",)
