"""Dask DataFrames as a source of rows: each partition is a file, computed where its rows are reduced."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from distmom.cluster.failures import one_line
from distmom.errors import ConfigError, DataError, DistmomError
from distmom.lake.columns.schema import roles_of
from distmom.lake.columns.vectors import measured
from distmom.lake.memory.memory_lake import MemoryLake, open_memory
from distmom.lake.source import Batch, BatchReader, FileRef, ReadOptions, Source
from distmom.numerics.arrays import Ints

PARTITION_BYTES = 64_000_000
"""Placeholder for the unknown size of a partition: each is its own unit of work."""


@dataclass(frozen=True)
class DaskFrame(Source):
    """A Dask DataFrame or Series, read partition by partition.

    Attributes
    ----------
    pattern : MemoryLake
        A frame without rows, with the columns and types.
    files : tuple of FileRef
        One per partition, with its number as path, which keys the labels of its rows.
    """

    frame: Any
    pattern: MemoryLake
    files: tuple[FileRef, ...]

    def schema(self) -> pa.Schema:
        """Names and types of the columns."""
        return self.pattern.schema()

    def row_counts(self, files: Sequence[FileRef] | None = None) -> Ints:
        """Rows of each partition: computes them."""
        chosen = self.files if files is None else files
        return np.array([len(compute_partition(self.frame, file)) for file in chosen], np.int64)

    def reader(self, options: ReadOptions) -> DaskReader:
        """A reader of these columns, after the checks for data in memory."""
        pattern = self.pattern.checked(options)
        options = pattern.options
        names = list(dict.fromkeys(name for name, _ in roles_of(options)))
        frame = self.frame[names] if names else self.frame
        return measured(DaskReader(options, frame), self.files)


@dataclass(frozen=True)
class DaskReader(BatchReader):
    """Computes a partition and reads it like data in memory; sent to workers with the frame's graph."""

    options: ReadOptions
    frame: Any

    def batches(self, file: FileRef, start: int = 0, stop: int | None = None) -> Iterator[Batch]:
        """Batches of the rows ``[start, stop)`` of a partition, which is in memory as a whole meanwhile."""
        source = open_memory(compute_partition(self.frame, file))
        if source.n_rows:
            reader = source.checked(self.options)
            if reader.options.vectors != self.options.vectors:
                [(name, _), *_] = reader.options.vectors or ()
                raise DataError(
                    f"partition {int(file.path)} of the Dask frame: column {name!r} holds lists, but the "
                    "frame's type does not say so; give it the type of an Arrow list (pandas.ArrowDtype)"
                )
            known, found = self.options.scales, reader.options.scales
            for name in sorted(known.keys() | found.keys()):
                if known.get(name) != found.get(name):  # its times would be counted from another day
                    raise DataError(
                        f"partition {int(file.path)} of the Dask frame: the type of column {name!r} is not "
                        "that of the frame; give all partitions one type"
                    )
            yield from reader.batches(file, start, stop)


def open_frame(data: Any) -> DaskFrame | None:
    """A source of the rows of a Dask DataFrame or Series; None for any other object.

    ConfigError for a Dask array or bag, which have no named columns.
    """
    home = type(data).__module__
    if not home.startswith("dask.") and not home.startswith("dask_expr"):
        return None
    frame_like = all(hasattr(data, name) for name in ("partitions", "npartitions", "_meta", "ndim"))
    if not frame_like or not hasattr(data._meta, "columns" if data.ndim == 2 else "to_frame"):
        raise ConfigError(
            f"data: only Dask DataFrames are supported, not {home}.{type(data).__name__}; convert "
            "an array with .to_dask_dataframe(columns=…)"
        )
    frame = data if data.ndim == 2 else data.to_frame()
    files = tuple(FileRef(f"{i:08}", PARTITION_BYTES, 0) for i in range(frame.npartitions))
    return DaskFrame(frame, replace(open_memory(frame._meta), files=(FileRef("", 0, 0),)), files)


def compute_partition(frame: Any, file: FileRef) -> Any:
    """The partition as a data frame, computed in this thread.

    If its graph fails, DataError names the partition and the cause.
    """
    import dask

    try:
        with _ONE_AT_A_TIME:
            part = frame.partitions[int(file.path)].optimize()
            graph, keys = dict(part.__dask_graph__()), part.__dask_keys__()
            held_by_cluster = _has_futures(part)
        [found] = (_get_from_cluster if held_by_cluster else dask.get)(graph, keys)
        return found
    except (DistmomError, MemoryError):
        raise
    except Exception as error:  # whatever the user's own functions raise
        raise DataError(f"partition {int(file.path)} of the Dask frame failed: {one_line(error)}") from error


_ONE_AT_A_TIME = threading.Lock()
"""Python 3.11 holds a lock while a cached property is computed: two threads that convert the same expression
to graphs would deadlock."""


def _has_futures(part: Any) -> bool:
    """Whether it was persisted on a cluster, so that its data is on the workers."""
    if "distributed" not in sys.modules:
        return False
    from distributed import futures_of

    return bool(futures_of(part))


def _get_from_cluster(graph: dict[Any, Any], keys: list[Any]) -> Any:
    """Get data from the cluster that holds it; a task releases its thread while it waits."""
    from distributed import default_client, get_worker, worker_client

    try:
        get_worker()
    except ValueError:
        return default_client().get(graph, keys)
    with worker_client() as client:
        return client.get(graph, keys)
