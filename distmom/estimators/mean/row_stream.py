"""Rows of a stream: each batch is checked before any of its rows is added, then cut into leaves."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from distmom.cluster.work import rows_of
from distmom.errors import DataError, NoAnswerError
from distmom.estimators.mean.fingerprint import Made
from distmom.lake.columns.times import kind_of_times
from distmom.lake.columns.vectors import measured
from distmom.lake.keys.encoder import KeyEncoder
from distmom.lake.keys.unit_hashes import UnitHashes
from distmom.lake.memory.memory_lake import MemoryLake, MemoryReader
from distmom.lake.source import Batch, BatchReader, FileRef, ReadOptions
from distmom.reductions.accumulate.files import GroupCounts
from distmom.reductions.accumulate.leaves import missing_rows, strange_rows
from distmom.reductions.block_means import BlockMeans
from distmom.reductions.stream import LeafStream, StreamState


class RowStream(LeafStream):
    """The sums of one stream, and the codes of its groups and units.

    Parameters
    ----------
    made : Made
    name : str
        Name of the stream.
    reduction : BlockMeans
    leaf_rows : int
    saved : StreamState, optional
        Continue from there.
    """

    def __init__(
        self, made: Made, name: str, reduction: BlockMeans, leaf_rows: int, saved: StreamState | None = None
    ) -> None:
        super().__init__(reduction, name, leaf_rows, saved)
        self._n_keys, n_units = len(made.read.by), len(made.read.units)
        self._encoder = KeyEncoder(self._n_keys, () if saved is None or not self._n_keys else saved.keys)
        self._hashes = UnitHashes(n_units, made.seed) if n_units else None

    def read(self, reader: BatchReader, file: FileRef, n_rows: int) -> None:
        """Add the rows of a batch, in pieces that end at the ends of leaves; codes restart with each leaf."""
        start = 0
        while start < n_rows:
            stop = min(n_rows, start + self.room)
            for batch in reader.batches(file, start, stop):
                codes = self._encoder.encode(batch.keys, batch.keep) if self._n_keys else None
                units = None if self._hashes is None else self._hashes.of(batch.units)
                if self.add(rows_of(batch, codes, units), self._encoder.keys if self._n_keys else [()]):
                    self._encoder = KeyEncoder(self._n_keys)
            start = stop


def reader_of_batch(data: MemoryLake, read: ReadOptions, *, begun: bool) -> MemoryReader:
    """A reader of a batch; the first batch with rows determines the list columns and their lengths.

    Parameters
    ----------
    data : MemoryLake
        The batch. Without rows it determines nothing, and lengths stay open.
    read : ReadOptions
        What is read, with the list columns known from earlier batches.
    begun : bool
        Whether there were rows before these.

    Raises
    ------
    DataError
        If a column contains lists but did not before, or their length cannot be determined.
    """
    reader = data.checked(read)
    if not reader.options.vectors or not data.n_rows:
        return reader
    if begun and not read.vectors:
        name = reader.options.vectors[0][0]
        raise DataError(
            f"column {name!r} holds lists in this batch but not in earlier ones; give all batches the same "
            "type"
        )
    try:
        return measured(reader, data.files)
    except NoAnswerError as error:
        raise DataError(
            f"{error}, which leaves the length of its lists open; begin with rows that have one, or with "
            "lists of fixed size"
        ) from error


def with_lists_of(made: Made, other: Made) -> Made:
    """A description without rows, with the list columns of another; unchanged if one refuses lists."""
    if made.read.vectors is None or other.read.vectors is None:
        return made
    return replace(made, read=replace(made.read, vectors=other.read.vectors))


def with_batch(read: ReadOptions, data: MemoryLake, reader: BatchReader) -> ReadOptions:
    """What is read, with the list columns of this batch, and the scales of times that first appear in it.

    Raises
    ------
    DataError
        If the type of a column differs from before.
    """
    known = dict(read.times)
    for name, scale in reader.options.times:
        then, now = kind_of_times(known.get(name, scale)), kind_of_times(scale)
        if then != now:
            raise DataError(
                f"column {name!r} holds {now}s in this batch but {then}s in earlier ones; "
                "give all batches the same type"
            )
        values = data.columns[name].slice(0, data.n_rows)
        if name not in known and values.null_count < len(values):
            known[name] = scale
    times = tuple((name, known[name]) for name in read.columns if name in known)
    return replace(read, times=times, vectors=reader.options.vectors)


def check_rows(batch: Batch, read: ReadOptions, reduction: BlockMeans) -> None:
    """Raise DataError if a weight of the batch is wrong, or a value is NaN and NaN is not allowed."""
    rows, names = rows_of(batch, None), read.value_names
    if reduction.weights is not None:
        rows, names = GroupCounts(replace(reduction, grouped=False)).weighed(rows, "the batch"), names[:-1]
    if reduction.nan != "raise":
        return
    for c, name in enumerate(names):
        nan, _ = strange_rows(rows.values[c], missing_rows(rows.valid[c], rows.keep)[0])
        if nan is not None:
            row = batch.start + int(np.argmax(nan))
            raise DataError(
                f'column {name!r} is NaN in row {row} of the batch and nan="raise" forbids it; none of '
                'its rows was added; use nan="omit" to leave NaN out (counted), or clean the data'
            )
