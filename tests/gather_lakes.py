"""Sources of rows to be gathered, and the slow way to gather them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

import distmom as dm
from distmom.cluster import Executor
from distmom.cluster.executors.backends import Cluster, Threads
from distmom.estimators.ustat import draws, tuple_samples
from distmom.estimators.ustat.tuple_samples import SampledTuples
from distmom.passes.census import count_rows
from distmom.passes.gather import RowSource
from distmom.passes.opening import open_data


@contextmanager
def row_source(data: Any, columns: Any = None, **options: Any) -> Iterator[RowSource]:
    """A source on threads, or on the client given."""
    client, threads = options.pop("client", None), options.pop("threads", 2)
    with (Cluster(client) if client else Threads(threads)).open() as executor:
        yield source_on(executor, data, columns, **options)


def source_on(
    executor: Executor,
    data: Any,
    columns: Any = None,
    **reading: Any,
) -> RowSource:
    scan = dm.scan(data, **reading)
    source, read = open_data(scan, columns, None, joint=True)
    files, census = count_rows(source, executor, scan.on_bad_file).good(source.files)
    return RowSource(source.reader(read), files, census.rows, executor, scan.nan, scan.on_bad_file)


def all_rows(folder: Path, columns: list[str]) -> tuple[np.ndarray, np.ndarray]:
    """Every row of a lake in listing order, nulls as NaN, and which values are null."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    paths = sorted(folder.rglob("*.parquet"), key=lambda path: path.relative_to(folder).as_posix())
    # partitioning=None: columns of folders are not asked for
    table = pa.concat_tables([pq.read_table(path, columns=columns, partitioning=None) for path in paths])
    values = np.stack([table[c].to_numpy().astype(float) for c in columns], axis=1)
    nulls = np.stack([table[c].is_null().to_numpy() for c in columns], axis=1)
    return values, nulls


def sampled_tuples(
    kernel: Any,
    sources: list[RowSource],
    seed: int,
    n_blocks: int,
    n_tuples: int,
    *,
    replace: bool = False,
) -> list[SampledTuples]:
    """K samples of M tuples of the rows of some lakes."""
    n_rows = tuple(source.n_rows for source in sources)
    plan = draws.tuple_plan(kernel, n_rows, seed, n_blocks, n_tuples, replace=replace)
    return tuple_samples.sampled_tuples(kernel, plan, sources, seed, replace=replace)
