"""Rows on disk, sorted by buckets: one Arrow IPC file for each unit of work.

A file has its name once it is whole, and each attempt at a unit a name of its own: a worker that was thought
lost may still write.
"""

from __future__ import annotations

import errno
import os
import platform
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from uuid import uuid4

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from distmom.errors import ResourceError
from distmom.lake.files.footers import release_memory

PIECE_BYTES = 32_000
"""Rows of a run that go to one bucket should have about so many bytes: smaller ones are slow to read."""


@dataclass(frozen=True, slots=True)
class Spill:
    """A file of runs of rows, each sorted by buckets.

    Attributes
    ----------
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
    """Writes the rows of a unit to a new file, which is gone again if that fails.

    ResourceError if the folder is not to be reached, or full.

    Parameters
    ----------
    folder : str
        Folder of all files of a run.
    number : int
        Of the unit.
    room : int
        Bytes of rows that are sorted together.
    """

    def __init__(self, folder: str, number: int, schema: pa.Schema, n_buckets: int, room: int) -> None:
        self._path, self._n_buckets = Path(folder) / f"{number:08}-{uuid4().hex}.arrow", n_buckets
        self._part = self._path.with_suffix(".part")
        self._room = room
        self._batches: list[pa.RecordBatch] = []
        self._buckets: list[NDArray[np.uint16]] = []
        self._held = self._n_runs = self._n_rows = 0
        self._schema = schema
        with _told(self._path):
            self._file = pa.OSFile(str(self._part), "wb")
        self._writer = pa.ipc.new_file(self._file, schema)

    def __enter__(self) -> SpillWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            with _told(self._path), self._file:
                if kind is None:
                    self._flush()
                    self._writer.close()
            if kind is None:
                with _told(self._path):
                    self._part.replace(self._path)
        finally:
            self._part.unlink(missing_ok=True)
            self._batches = []
            release_memory()

    def add(self, batch: pa.RecordBatch, buckets: NDArray[np.uint16]) -> None:
        """Add rows and the bucket of each."""
        self._batches.append(batch)
        self._buckets.append(buckets)
        self._held += batch.nbytes
        if self._held >= self._room:
            with _told(self._path):
                self._flush()

    def _flush(self) -> None:
        """Sort what is held, and write it."""
        if not self._batches:
            return
        buckets = np.concatenate(self._buckets)
        rows = pa.Table.from_batches(self._batches, self._schema).combine_chunks()
        self._batches, self._buckets, self._held = [], [], 0
        none = pa.RecordBatch.from_pylist([], self._schema)
        order = np.argsort(buckets, kind="stable")
        edges = np.searchsorted(buckets[order], np.arange(self._n_buckets + 1))
        [batch] = rows.take(pa.array(order)).combine_chunks().to_batches() or [none]
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
    with _told(Path(spill.path)), pa.OSFile(spill.path, "rb") as file:
        reader = pa.ipc.open_file(file)
        for run in range(spill.n_runs):
            batch = reader.get_batch(run * n_buckets + bucket)
            if batch.num_rows:
                yield batch


_FULL = {errno.ENOSPC, errno.EDQUOT}
_AWAY = {errno.ENOENT, errno.ENOTDIR, errno.EACCES, errno.EPERM, errno.EROFS}


@contextmanager
def _told(path: Path) -> Iterator[None]:
    """ResourceError with the remedy for what no further attempt mends."""
    try:
        yield
    except OSError as error:
        if error.errno not in _FULL | _AWAY:
            raise
        why = os.strerror(error.errno)
        if error.errno in _FULL:
            remedy = "free some space, or name another folder as scratch"
            raise ResourceError(f"scratch: {path.parent}: {why}, for rows on disk; {remedy}") from error
        remedy = "name a folder as scratch that all workers share and may write to"
        raise ResourceError(f"scratch: {path} on {platform.node()}: {why}; {remedy}") from error
