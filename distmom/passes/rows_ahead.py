"""How many rows a pass will meet, as far as that is known before it without reading anything more."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from distmom.lake import BatchReader, FileRef, Source
from distmom.numerics.blocks.leaf import LEAF_ROWS
from distmom.passes.memory import ROW_BYTES

OF_ITS_OWN = 1.3
"""The footer of the largest file tells of its own: the others may have so many times fewer rows a byte."""

PASSED = 4
"""Rows of which nothing is known may be so many times fewer, in a few files: those that pass a filter, or of
a source without footers."""


class RowsAhead(NamedTuple):
    """About so many rows will be met; and so many of which a sample must allow that they are all there is.

    The second number is `sure` if counts or footers tell it, and no filter leaves some of them out.
    """

    about: int
    at_least: int
    sure: bool


def rows_ahead(
    source: Source,
    reader: BatchReader,
    files: Sequence[FileRef],
    n_bytes: float,
    n_rows: int | None,
    n_valid: int | None,
) -> RowsAhead:
    """Rows of some files of a source: by counts, a table's log, or a footer that has been read already.

    `n_rows` and, of them, `n_valid` that pass the filter are counts, where there are any.

    Files that the filter excludes by the names of their folders have none. Where nothing else tells,
    `n_bytes` that are to be read do.
    """
    about, least, sure = _rows(source, reader, files, n_bytes) if n_rows is None else (n_rows, n_rows, True)
    if reader.options.where is not None and n_valid is not None:
        least = n_valid
    elif reader.options.where is not None:
        least, sure = least * _heard(source, reader, files) / PASSED, False
    return RowsAhead(about, int(least), sure)


def _rows(
    source: Source, reader: BatchReader, files: Sequence[FileRef], n_bytes: float
) -> tuple[int, float, bool]:
    """Rows whatever a filter does, about and at least; and whether the files tell."""
    known = [file.n_rows for file in files]
    if known and None not in known:
        n_rows = sum(n for n in known if n is not None)
        return n_rows, n_rows, True
    extent = source.extent(reader.options.names)
    if extent is not None:
        return extent.n_rows, extent.n_rows / OF_ITS_OWN, True
    about = int(n_bytes / ROW_BYTES)
    return about, min(about, len(files) * LEAF_ROWS) / PASSED, False


def _heard(source: Source, reader: BatchReader, files: Sequence[FileRef]) -> float:
    """Share of the bytes that lie in files that the filter does not exclude."""
    if not source.partition_names:
        return 1.0
    heard = sum(file.size for file in files if not reader.excludes(file))
    return heard / max(sum(file.size for file in files), 1)
