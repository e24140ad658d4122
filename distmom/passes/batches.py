"""How many rows are decoded at a time, where the caller does not say."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from distmom.cluster.memory import thread_memory
from distmom.lake import BATCH_ROWS

if TYPE_CHECKING:
    from distmom.cluster import Executor
    from distmom.lake import ReadOptions, Source

MOST_BYTES = 1 << 23
"""Of the values of a batch that is a whole row group: one column of those that most writers make."""

SHARE = 16
"""Of a thread's memory at most one part of so many is one such batch."""


def whole_groups(source: Source, read: ReadOptions, executor: Executor) -> ReadOptions:
    """The same columns by whole row groups, where these are of a few MB and memory allows.

    PyArrow then decodes a column of them in a tenth less time than in several parts. What comes of the rows
    does not depend on it.
    """
    if source.in_memory or read.by or read.batch_rows != BATCH_ROWS:
        return read
    extent = source.extent(read.names)
    if extent is None or extent.group_rows <= BATCH_ROWS:
        return read
    n_bytes = 8 * extent.group_rows * len(read.names)
    if n_bytes > min(MOST_BYTES, thread_memory(executor) / SHARE):
        return read
    return replace(read, batch_rows=extent.group_rows)
