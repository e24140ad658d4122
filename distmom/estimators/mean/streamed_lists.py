"""List columns of rows that come as they come: how long the vectors are, once a batch tells it."""

from __future__ import annotations

from dataclasses import replace

from distmom.errors import DataError, NoAnswerError
from distmom.estimators.mean.fingerprint import Made
from distmom.lake.columns.vectors import measured
from distmom.lake.memory.memory_lake import MemoryLake, MemoryReader
from distmom.lake.source import ReadOptions


def reader_of_batch(data: MemoryLake, read: ReadOptions, *, begun: bool) -> MemoryReader:
    """A reader of a batch; the first one with rows says which columns hold lists, and of what length.

    Parameters
    ----------
    data : MemoryLake
        The batch. If it has no rows it says nothing, and lengths are left open.
    read : ReadOptions
        What is read, with the list columns as far as earlier batches told.
    begun : bool
        Whether there are rows before these.

    Raises
    ------
    DataError
        If a column holds lists and did not before, or nothing tells their length.
    """
    reader = data.checked(read)
    if not reader.options.vectors or not data.n_rows:
        return reader
    if begun and not read.vectors:
        name = reader.options.vectors[0][0]
        raise DataError(
            f"column {name!r} holds lists in this batch and none before, which do not mix; give rows of one "
            "type from the first batch on"
        )
    try:
        return measured(reader, data.files)
    except NoAnswerError as error:
        raise DataError(
            f"{error}, which leaves the length of its lists open; begin with rows that have one, or with "
            "lists of fixed size"
        ) from error


def with_lists_of(made: Made, other: Made) -> Made:
    """What has no rows yet, with the list columns of another; unchanged if one of them refuses lists."""
    if made.read.vectors is None or other.read.vectors is None:
        return made
    return replace(made, read=replace(made.read, vectors=other.read.vectors))
