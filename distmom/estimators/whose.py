"""Whose the rows of a second group are: values of a text column or of folders that hardly any others have.

One airline, country or shop that reports in another unit is the usual cause. A few windows of rows, spread
over the files, tell; they are read only where a second group has been found.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa

from distmom.errors import DistmomError
from distmom.inference.share.gaps import Apart
from distmom.lake import FileRef, ReadOptions, Source
from distmom.lake.columns.schema import kind_of

WINDOWS, ROWS = 16, 8_192
"""So many windows of rows are read, of so many rows each."""

PURE = 0.8
"""A value is the group's if such a share of its rows is; together these have such a share of the group."""

MOST_VALUES, MOST_COLUMNS = 5, 30
"""More values explain nothing; more columns are not looked at."""


def whose(
    source: Source, read: ReadOptions, files: Sequence[FileRef], column: str, group: Apart
) -> tuple[str, ...]:
    """Conditions such as ``carrier = 'UA'`` for the rows of a group, of the column that tells them best.

    None where no column tells them, or rows cannot be read again.
    """
    if source.one_pass or not files:
        return ()
    try:
        return _whose(source, read, files, column, group)
    except (DistmomError, OSError, pa.ArrowException):  # the run has read them; only words depend on it now
        return ()


def _whose(
    source: Source, read: ReadOptions, files: Sequence[FileRef], column: str, group: Apart
) -> tuple[str, ...]:
    import pyarrow.compute as pc  # 60 ms, which most runs do without

    asked = [f.name for f in source.schema() if kind_of(f.type) == "text" or f.name in source.partition_names]
    names = tuple(name for name in asked if name != column)[:MOST_COLUMNS]
    if not names:
        return ()
    only = replace(read, columns=(column,), by=names, units=(), present=(), missing="null")
    reader = source.reader(only)
    chosen = [files[i] for i in np.unique(np.linspace(0, len(files) - 1, WINDOWS).astype(int))]
    rows: dict[tuple[str, object], list[int]] = defaultdict(lambda: [0, 0])
    for file, n in zip(chosen, source.row_counts(chosen).tolist(), strict=True):
        starts = np.unique(np.linspace(0, max(n - ROWS, 0), WINDOWS // len(chosen)).astype(int)).tolist()
        for start in starts:
            for batch in reader.batches(file, start, min(start + ROWS, n)):
                x = batch.values[0]
                used = np.isfinite(x)
                for mask in (batch.valid[0], batch.keep):
                    used &= True if mask is None else mask
                far = used & ((x <= group.lo) | (x >= group.hi))
                for name, key in zip(names, batch.keys, strict=True):
                    for place, mask in enumerate((used, far)):
                        for one in pc.value_counts(key.filter(pa.array(mask))):
                            rows[name, one["values"].as_py()][place] += one["counts"].as_py()
    return _told(names, rows)


def _told(names: Sequence[str], rows: dict[tuple[str, object], list[int]]) -> tuple[str, ...]:
    """The values of the column that tells most of the group by the fewest of them."""
    best: tuple[int, int, tuple[str, ...]] = (0, 0, ())
    for name in names:
        mine = {value: counts for (of, value), counts in rows.items() if of == name}
        total = sum(far for _, far in mine.values())
        pure = {value: far for value, (n, far) in mine.items() if far >= PURE * n and far}
        found = sum(pure.values())
        if 0 < len(pure) <= MOST_VALUES and len(pure) < len(mine) and found >= PURE * total:
            told = tuple(f"{name} = {value!r}" for value in sorted(pure, key=lambda v: (-pure[v], str(v))))
            best = max(best, (found, -len(pure), told), key=lambda one: one[:2])
    return best[2]
