"""Expected rows of a pass, as far as they are known beforehand without further reading."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from distmom.lake import BatchReader, FileRef, Source
from distmom.numerics.blocks.leaf import LEAF_ROWS
from distmom.passes.memory import ROW_BYTES

OF_ITS_OWN = 1.3
"""Only the footer of the largest file is known: others may have this many times fewer rows per byte."""

PASSED = 4
"""Factor by which the rows of a few files may be fewer if nothing is known of them: rows that pass a filter,
or of a source without footers."""


class RowsAhead(NamedTuple):
    """Expected number of rows; and the smallest number that a sample must allow for.

    The second number is `sure` if it comes from counts or footers and no filter drops rows.
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

    `n_rows` and `n_valid`, the rows that pass the filter, are counts, if known.

    Files that the filter excludes by the names of their folders have none. Without other information,
    `n_bytes` to be read give an estimate.
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
    """Rows before any filter, expected and at least; and whether the files determine them."""
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
    """Share of the bytes in files that the filter does not exclude."""
    if not source.partition_names:
        return 1.0
    heard = sum(file.size for file in files if not reader.excludes(file))
    return heard / max(sum(file.size for file in files), 1)
