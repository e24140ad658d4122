"""Batches of a file that hold some wanted rows."""

from __future__ import annotations

from collections.abc import Iterator

from distmom.lake.source import Batch, BatchReader, FileRef
from distmom.numerics.arrays import Ints


def batches_holding(reader: BatchReader, file: FileRef, rows: Ints) -> Iterator[Batch]:
    """Batches that hold these rows of a file (ascending, at least one), and as few others as can be.

    Of Parquet files, row groups without a wanted row are not read; rows in memory cost nothing.
    """
    own = getattr(reader, "batches_holding", None)
    if own is not None:
        return own(file, rows)  # type: ignore[no-any-return]
    return reader.batches(file, int(rows[0]), int(rows[-1]) + 1)
