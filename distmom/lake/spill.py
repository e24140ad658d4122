"""Rows on disk, sorted by buckets: one Arrow IPC file for each unit of work."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

LEAST_RUN, MOST_RUN = 32_000_000, 128_000_000
PIECE_BYTES = 32_000
"""Rows of a run that go to one bucket should have about so many bytes: smaller ones are slow to read."""


def run_bytes(n_buckets: int) -> int:
    """Bytes of rows that are sorted together."""
    return min(MOST_RUN, max(LEAST_RUN, n_buckets * PIECE_BYTES))


@dataclass(frozen=True, slots=True)
class Spill:
    """A file of runs of rows, each sorted by buckets.

    Attributes
    ----------
    path : str
    n_runs : int
        Batch ``run * n_buckets + bucket`` of the file holds a run's rows of a bucket, in their order.
    n_rows, n_bytes : int
        Rows, and bytes of the file.
    """

    path: str
    n_runs: int
    n_rows: int
    n_bytes: int


class SpillWriter:
    """Writes the rows of a unit.

    Parameters
    ----------
    path : Path
        A new file.
    schema : pyarrow.Schema
    n_buckets : int
    """

    def __init__(self, path: Path, schema: pa.Schema, n_buckets: int) -> None:
        self._path, self._n_buckets = path, n_buckets
        self._room = run_bytes(n_buckets)
        self._batches: list[pa.RecordBatch] = []
        self._buckets: list[NDArray[np.uint16]] = []
        self._held = self._n_runs = self._n_rows = 0
        self._schema = schema
        self._file = pa.OSFile(str(path), "wb")
        self._writer = pa.ipc.new_file(self._file, schema)

    def __enter__(self) -> SpillWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if kind is None:
                self._flush()
                self._writer.close()
        finally:
            self._file.close()

    def add(self, batch: pa.RecordBatch, buckets: NDArray[np.uint16]) -> None:
        """Add rows and the bucket of each."""
        self._batches.append(batch)
        self._buckets.append(buckets)
        self._held += batch.nbytes
        if self._held >= self._room:
            self._flush()

    def _flush(self) -> None:
        """Sort what is held, and write it."""
        if not self._batches:
            return
        buckets = np.concatenate(self._buckets)
        rows = pa.Table.from_batches(self._batches, self._schema).combine_chunks()
        self._batches, self._buckets, self._held = [], [], 0
        order = np.argsort(buckets, kind="stable")
        edges = np.searchsorted(buckets[order], np.arange(self._n_buckets + 1))
        rows = rows.take(pa.array(order))
        [batch] = rows.combine_chunks().to_batches() or [_no_rows(self._schema)]
        for start, stop in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True):
            self._writer.write_batch(batch.slice(start, stop - start))
        self._n_runs += 1
        self._n_rows += batch.num_rows

    def spill(self) -> Spill:
        """What has been written; once closed."""
        return Spill(str(self._path), self._n_runs, self._n_rows, self._path.stat().st_size)


def bucket_batches(spill: Spill, bucket: int, n_buckets: int) -> Iterator[pa.RecordBatch]:
    """The rows of a bucket in one file, run after run."""
    if spill.n_runs == 0:
        return
    with pa.OSFile(spill.path, "rb") as file:
        reader = pa.ipc.open_file(file)
        for run in range(spill.n_runs):
            batch = reader.get_batch(run * n_buckets + bucket)
            if batch.num_rows:
                yield batch


def _no_rows(schema: pa.Schema) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([pa.array([], field.type) for field in schema], schema=schema)
