"""The lines of `tests.benchmarks.table`: our run, those of the peers, and what is read of which lake."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow.parquet as pq

import distmom as dm
from tests.benchmarks import pairs
from tests.benchmarks.mean import duckdb_query, polars_mean
from tests.benchmarks.table_lakes import Lakes

Run = Callable[[], object]

WORKS = ["x", "y", "amount", "z1", "z2", "z3", "z4", "k"]


@dataclass(frozen=True)
class Line:
    """One kind of work.

    Attributes
    ----------
    ours : callable
    peers : dict
        Runs of others by their names.
    reach : float, optional
        The ratio to the best peer that we want.
    files, columns : list of Path, list of str
        What is read, to time reading alone.
    """

    ours: Run
    peers: dict[str, Run]
    reach: float | None
    files: list[Path] = field(default_factory=list)
    columns: list[str] = field(default_factory=list)

    @property
    def rows(self) -> int:
        """Rows that are read."""
        return sum(pq.read_metadata(file).num_rows for file in self.files)


def polars(lake: Path, *expressions: object, by: str | None = None) -> object:
    """A query in Polars; `expressions` are made by its functions."""
    import polars as pl

    frame = pl.scan_parquet(f"{lake}/*.parquet")
    return (frame.select(*expressions) if by is None else frame.group_by(by).agg(*expressions)).collect()  # type: ignore[arg-type]


def line(lake: Path, columns: list[str], reach: float | None, ours: Run, peers: dict[str, Run]) -> Line:
    """A line about some columns of a lake."""
    return Line(ours, peers, reach, sorted(lake.glob("*.parquet")), columns)


def mean_of(lakes: Lakes, columns: list[str], reach: float) -> Line:
    """Means of columns."""
    import polars as pl

    lake, sql = lakes.main, ", ".join(f"avg({c})" for c in columns)
    peers: dict[str, Run] = {
        "Polars": lambda: polars(lake, *(pl.col(c).mean() for c in columns)),
        "DuckDB": lambda: duckdb_query(f"select {sql} from '{lake}/*.parquet'"),
    }
    return line(lake, columns, reach, lambda: dm.mean(lake, columns, rng=0), peers)


def filtered(lakes: Lakes) -> Line:
    """The mean of the rows that another column lets through."""
    import polars as pl

    lake = lakes.main
    sql = f"select avg(x) from '{lake}/*.parquet' where k < 500"
    frame = pl.scan_parquet(f"{lake}/*.parquet").filter(pl.col("k") < 500).select(pl.col("x").mean())
    peers: dict[str, Run] = {"Polars": lambda: frame.collect(), "DuckDB": lambda: duckdb_query(sql)}
    return line(lake, ["x", "k"], 1.2, lambda: dm.mean(lake, "x", where="k < 500", rng=0), peers)


def nulls(lakes: Lakes) -> Line:
    """The mean of a column with nulls."""
    lake = lakes.nulls
    peers: dict[str, Run] = {
        "Polars": lambda: polars_mean(lake),
        "DuckDB": lambda: duckdb_query(f"select avg(x) from '{lake}/*.parquet'"),
    }
    return line(lake, ["x"], 1.3, lambda: dm.mean(lake, "x", rng=0), peers)


def weighted(lakes: Lakes) -> Line:
    """The mean by weights."""
    import polars as pl

    lake = lakes.main
    told = (pl.col("x") * pl.col("amount")).sum() / pl.col("amount").sum()
    sql = f"select sum(x * amount) / sum(amount) from '{lake}/*.parquet'"
    peers: dict[str, Run] = {"Polars": lambda: polars(lake, told), "DuckDB": lambda: duckdb_query(sql)}
    return line(lake, ["x", "amount"], 1.3, lambda: dm.mean(lake, "x", weights="amount", rng=0), peers)


def grouped(lake: Path, key: str, reach: float) -> Line:
    """Means by a key."""
    import polars as pl

    sql = f"select {key}, avg(x) from '{lake}/*.parquet' group by {key}"
    peers: dict[str, Run] = {
        "Polars": lambda: polars(lake, pl.col("x").mean(), by=key),
        "DuckDB": lambda: duckdb_query(sql),
    }
    return line(lake, ["x", key], reach, lambda: dm.mean(lake, "x", by=key, rng=0), peers)


def covariance(lakes: Lakes, n: int) -> Line:
    """All covariances of the first columns."""
    import polars as pl

    lake, names = lakes.main, WORKS[:n]
    both = [(a, b) for i, a in enumerate(names) for b in names[i:]]
    sql = ", ".join(f"covar_samp({a}, {b})" for a, b in both)
    peers: dict[str, Run] = {
        "Polars": lambda: polars(lake, *(pl.cov(a, b).alias(f"{a} {b}") for a, b in both)),
        "DuckDB": lambda: duckdb_query(f"select {sql} from '{lake}/*.parquet'"),
    }
    return line(lake, names, 1.0, lambda: dm.ustatistic(lake, names, kernel="covariance", rng=0), peers)


def gini(lakes: Lakes) -> Line:
    """Gini's difference."""
    lake = lakes.main
    peers: dict[str, Run] = {
        "Polars": lambda: pairs.polars_gini(lake),
        "DuckDB": lambda: pairs.duckdb_gini(lake),
        "NumPy": lambda: pairs.numpy_gini(lake),
    }
    return line(lake, ["x"], 1.0, lambda: pairs.distmom(lake, "x", "gini", blocks=pairs.BLOCKS), peers)


def kendall(lakes: Lakes) -> Line:
    """Kendall's tau."""
    lake = lakes.main
    return line(
        lake,
        ["x", "y"],
        0.5,
        lambda: pairs.distmom(lake, ["x", "y"], "kendall", blocks=pairs.BLOCKS),
        {"SciPy": lambda: pairs.scipy_kendall(lake)},
    )


def energy(lakes: Lakes) -> Line:
    """The energy distance of a lake and itself."""
    lake = lakes.main
    peers = {"our Gini": lambda: pairs.distmom(lake, "x", "gini", blocks=pairs.BLOCKS)}
    return line(
        lake, ["x"], 4.0, lambda: pairs.distmom([lake, lake], "x", "energy", blocks=pairs.BLOCKS), peers
    )


def many_candidates(lakes: Lakes) -> Line:
    """A tournament."""
    import polars as pl

    lake, names = lakes.candidates, [f"p{c:04}" for c in range(100)]
    losses = [((pl.col("y") - pl.col(n)) ** 2).mean().alias(n) for n in names]
    return line(
        lake,
        ["y", *names],
        1.5,
        lambda: dm.tournament(lake, names, "y", rng=0),
        {"Polars": lambda: polars(lake, *losses)},
    )


def small(lake: Path, reach: float) -> Line:
    """The mean of very small pieces."""
    return line(lake, ["x"], reach, lambda: dm.mean(lake, "x", rng=0), {"Polars": lambda: polars_mean(lake)})


def warm_cluster(lakes: Lakes) -> Line:
    """Worker processes beside threads."""
    from distributed import Client, LocalCluster

    local = {"host": "127.0.0.1", "dashboard_address": None, "memory_limit": "4GB"}
    client = Client(LocalCluster(n_workers=2, threads_per_worker=1, **local))
    lake = lakes.main
    return line(
        lake,
        ["x"],
        1.1,
        lambda: dm.mean(lake, "x", rng=0, executor=client),
        {"our threads": lambda: dm.mean(lake, "x", rng=0, executor=dm.Threads(2))},
    )


def first_run(lakes: Lakes) -> Line:
    """A command with no compiled kernel, and with all."""
    lake = lakes.main

    def command(**folder: str) -> object:
        words = [sys.executable, "-m", "distmom", "mean", str(lake), "-c", "x", "--quiet"]
        return subprocess.run(words, check=True, capture_output=True, env={**os.environ, **folder})

    def cold() -> object:
        with tempfile.TemporaryDirectory() as folder:
            return command(NUMBA_CACHE_DIR=folder)

    return line(lake, ["x"], None, cold, {"our later runs": command})


LINES: dict[str, Callable[[Lakes], Line]] = {
    "mean of 1 column": lambda lakes: mean_of(lakes, WORKS[:1], 1.15),
    "mean of 4 columns": lambda lakes: mean_of(lakes, WORKS[:4], 1.3),
    "mean, where on another column": filtered,
    "mean, 5% nulls": nulls,
    "weighted mean": weighted,
    "1,000 groups": lambda lakes: grouped(lakes.main, "k", 1.0),
    "100,000 text groups": lambda lakes: grouped(lakes.texts, "t", 1.5),
    "covariance of 3 columns": lambda lakes: covariance(lakes, 3),
    "covariance of 8 columns": lambda lakes: covariance(lakes, 8),
    "Gini, 32 blocks": gini,
    "Kendall, 32 blocks": kendall,
    "energy of two lakes, 32 blocks": energy,
    "100 candidates": many_candidates,
    "row groups of 10 rows": lambda lakes: small(lakes.row_groups, 1.2),
    "files of 2 rows": lambda lakes: small(lakes.tiny, 1.5),
    "warm LocalCluster, 2 × 1": warm_cluster,
    "the first command on a machine": first_run,
}
"""By name; the lakes of each are made when it is asked for."""
