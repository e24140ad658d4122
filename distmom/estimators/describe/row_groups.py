"""A second look at named files, row group by row group: whole files are bad, or parts of them."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from distmom.errors import DataError
from distmom.reductions.accumulate.leaves import missing_rows

if TYPE_CHECKING:
    from distmom.lake import BatchReader, FileRef, ReadOptions, Source
    from distmom.report import NamedUnit

MOST_FILES, MOST_GROUPS = 8, 1_000
"""Files looked at again, and row groups of a file; more would be a pass of its own."""

PARTIAL = ("mean", "sign", "scale")
"""Findings that a part of a file can cause."""

APART = 0.25
"""Row groups are told apart where the least distance from the mean is below this share of the greatest."""


def look_again(
    source: Source,
    read: ReadOptions,
    files: dict[str, FileRef],
    named: list[NamedUnit],
    means: dict[str, float],
) -> list[NamedUnit]:
    """The named units, with the odd row groups of the first few files.

    `files` go by their paths, `means` are the robust ones of the columns; of each file one column is read.
    Files of one row group, files that are gone meanwhile, and data that are no files stay as they are.
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
    """The row groups of a file whose values lie far from a column's mean, unless all do."""
    try:
        sizes = source.row_groups(file)  # type: ignore[attr-defined]
        if not 1 < len(sizes) <= MOST_GROUPS:
            return ()
        ends = np.cumsum([0, *sizes]).tolist()
        reader = source.reader(read)
        away = np.array([_away(reader, file, a, b, mean) for a, b in pairwise(ends)])
    except (DataError, OSError):  # the run has read it before, and nothing but these words depends on it now
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
