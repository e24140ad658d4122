"""The lines of `tests.benchmarks.table`: our run, those of the peers, and what is read of which lake."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import distmom as dm
from tests.benchmarks import pairs, tournament
from tests.benchmarks.lakes import write_lake, write_tiny
from tests.benchmarks.mean import duckdb_query, polars_mean

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


class Lakes:
    """Each made when it is first asked for; `share` of the full sizes."""

    def __init__(self, folder: Path, share: float) -> None:
        self.folder, self.share = folder, share
        self.n_rows = int(64_000_000 * share)

    def _made(self, name: str, make: Callable[[Path], object]) -> Path:
        lake = self.folder / name
        if not lake.exists():
            make(lake)
        return lake

    @cached_property
    def main(self) -> Path:
        """Eight columns, 16 files."""
        return self._made("main", lambda lake: write_lake(lake, self.n_rows, 16, 1_000_000, more=4))

    @cached_property
    def nulls(self) -> Path:
        """With 5 % nulls."""
        return self._made("nulls", lambda lake: write_lake(lake, self.n_rows, 16, 1_000_000, nulls=0.05))

    @cached_property
    def texts(self) -> Path:
        """Groups of texts: 100,000 of them."""

        def make(lake: Path) -> None:
            lake.mkdir(parents=True)
            for number in range(16):
                rng = np.random.default_rng([3, number])
                n = self.n_rows // 16
                keys = pa.array([f"customer-{k}" for k in range(int(100_000 * min(1, 4 * self.share)))])
                texts = keys.take(pa.array(rng.integers(0, len(keys), n)))
                pq.write_table(
                    pa.table({"x": rng.standard_t(3, n), "t": texts}), lake / f"{number:02}.parquet"
                )

        return self._made("texts", make)

    @cached_property
    def row_groups(self) -> Path:
        """Row groups of ten rows, in one file."""

        def make(lake: Path) -> None:
            lake.mkdir(parents=True)
            values = np.random.default_rng(2).standard_t(3, 10 * int(60_000 * self.share))
            pq.write_table(pa.table({"x": values}), lake / "0.parquet", row_group_size=10)

        return self._made("row-groups", make)

    @cached_property
    def tiny(self) -> Path:
        """Files of two rows."""
        return self._made("tiny", lambda lake: write_tiny(lake, int(20_000 * self.share)))

    @cached_property
    def candidates(self) -> Path:
        """Predictions by 100 candidates."""
        n = int(10_000_000 * self.share)
        return self._made("candidates", lambda lake: tournament.write_lake(lake, n, 100))


def polars(lake: Path, *expressions: object, by: str | None = None) -> object:
    """A query in Polars; `expressions` are made by its functions."""
    import polars as pl

    frame = pl.scan_parquet(f"{lake}/*.parquet")
    return (frame.select(*expressions) if by is None else frame.group_by(by).agg(*expressions)).collect()  # type: ignore[arg-type]


def lines(lakes: Lakes) -> dict[str, Callable[[], Line]]:
    """All lines by name; the lakes of each are made when it is asked for."""
    import polars as pl

    def line(lake: Path, columns: list[str], reach: float | None, ours: Run, peers: dict[str, Run]) -> Line:
        return Line(ours, peers, reach, sorted(lake.glob("*.parquet")), columns)

    def mean_line(columns: list[str], reach: float) -> Line:
        lake, sql = lakes.main, ", ".join(f"avg({c})" for c in columns)
        peers: dict[str, Run] = {
            "Polars": lambda: polars(lake, *(pl.col(c).mean() for c in columns)),
            "DuckDB": lambda: duckdb_query(f"select {sql} from '{lake}/*.parquet'"),
        }
        return line(lake, columns, reach, lambda: dm.mean(lake, columns, rng=0), peers)

    def filtered() -> Line:
        lake = lakes.main
        sql = f"select avg(x) from '{lake}/*.parquet' where k < 500"
        frame = pl.scan_parquet(f"{lake}/*.parquet").filter(pl.col("k") < 500).select(pl.col("x").mean())
        peers: dict[str, Run] = {"Polars": lambda: frame.collect(), "DuckDB": lambda: duckdb_query(sql)}
        return line(lake, ["x", "k"], 1.2, lambda: dm.mean(lake, "x", where="k < 500", rng=0), peers)

    def nulls() -> Line:
        lake = lakes.nulls
        peers: dict[str, Run] = {
            "Polars": lambda: polars_mean(lake),
            "DuckDB": lambda: duckdb_query(f"select avg(x) from '{lake}/*.parquet'"),
        }
        return line(lake, ["x"], 1.3, lambda: dm.mean(lake, "x", rng=0), peers)

    def weighted() -> Line:
        lake = lakes.main
        told = (pl.col("x") * pl.col("amount")).sum() / pl.col("amount").sum()
        sql = f"select sum(x * amount) / sum(amount) from '{lake}/*.parquet'"
        peers: dict[str, Run] = {"Polars": lambda: polars(lake, told), "DuckDB": lambda: duckdb_query(sql)}
        return line(lake, ["x", "amount"], 1.3, lambda: dm.mean(lake, "x", weights="amount", rng=0), peers)

    def grouped(lake: Path, key: str, reach: float) -> Line:
        sql = f"select {key}, avg(x) from '{lake}/*.parquet' group by {key}"
        peers: dict[str, Run] = {
            "Polars": lambda: polars(lake, pl.col("x").mean(), by=key),
            "DuckDB": lambda: duckdb_query(sql),
        }
        return line(lake, ["x", key], reach, lambda: dm.mean(lake, "x", by=key, rng=0), peers)

    def covariance(n: int) -> Line:
        lake, names = lakes.main, WORKS[:n]
        both = [(a, b) for i, a in enumerate(names) for b in names[i:]]
        sql = ", ".join(f"covar_samp({a}, {b})" for a, b in both)
        peers: dict[str, Run] = {
            "Polars": lambda: polars(lake, *(pl.cov(a, b).alias(f"{a} {b}") for a, b in both)),
            "DuckDB": lambda: duckdb_query(f"select {sql} from '{lake}/*.parquet'"),
        }
        return line(lake, names, 1.0, lambda: dm.ustatistic(lake, names, kernel="covariance", rng=0), peers)

    def gini() -> Line:
        lake = lakes.main
        peers: dict[str, Run] = {
            "Polars": lambda: pairs.polars_gini(lake),
            "DuckDB": lambda: pairs.duckdb_gini(lake),
            "NumPy": lambda: pairs.numpy_gini(lake),
        }
        return line(lake, ["x"], 1.0, lambda: pairs.distmom(lake, "x", "gini", blocks=pairs.BLOCKS), peers)

    def kendall() -> Line:
        lake = lakes.main
        return line(
            lake,
            ["x", "y"],
            0.5,
            lambda: pairs.distmom(lake, ["x", "y"], "kendall", blocks=pairs.BLOCKS),
            {"SciPy": lambda: pairs.scipy_kendall(lake)},
        )

    def energy() -> Line:
        lake = lakes.main
        peers = {"our Gini": lambda: pairs.distmom(lake, "x", "gini", blocks=pairs.BLOCKS)}
        return line(
            lake, ["x"], 4.0, lambda: pairs.distmom([lake, lake], "x", "energy", blocks=pairs.BLOCKS), peers
        )

    def many_candidates() -> Line:
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
        return line(
            lake, ["x"], reach, lambda: dm.mean(lake, "x", rng=0), {"Polars": lambda: polars_mean(lake)}
        )

    def warm_cluster() -> Line:
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

    def first_run() -> Line:
        lake = lakes.main

        def command(**folder: str) -> object:
            words = [sys.executable, "-m", "distmom", "mean", str(lake), "-c", "x", "--quiet"]
            return subprocess.run(words, check=True, capture_output=True, env={**os.environ, **folder})

        def cold() -> object:
            with tempfile.TemporaryDirectory() as folder:
                return command(NUMBA_CACHE_DIR=folder)

        return line(lake, ["x"], None, cold, {"our later runs": command})

    return {
        "mean of 1 column": lambda: mean_line(WORKS[:1], 1.15),
        "mean of 4 columns": lambda: mean_line(WORKS[:4], 1.3),
        "mean, where on another column": filtered,
        "mean, 5% nulls": nulls,
        "weighted mean": weighted,
        "1,000 groups": lambda: grouped(lakes.main, "k", 1.0),
        "100,000 text groups": lambda: grouped(lakes.texts, "t", 1.5),
        "covariance of 3 columns": lambda: covariance(3),
        "covariance of 8 columns": lambda: covariance(8),
        "Gini, 32 blocks": gini,
        "Kendall, 32 blocks": kendall,
        "energy of two lakes, 32 blocks": energy,
        "100 candidates": many_candidates,
        "row groups of 10 rows": lambda: small(lakes.row_groups, 1.2),
        "files of 2 rows": lambda: small(lakes.tiny, 1.5),
        "warm LocalCluster, 2 × 1": warm_cluster,
        "the first command on a machine": first_run,
    }
