"""Seconds and peak memory of U-statistics of a whole lake, beside what people would run instead.

    python -m tests.benchmarks.pairs [LAKE] [--only TEXT …] [--timeout 200]

LAKE is one of `tests.benchmarks.lakes` (default: a new temporary one with 64 million rows; `--more 4` there
gives eight columns). Every run is a process of its own; its memory is the largest resident size that the
system saw. A peer that cannot do it is told with its error, or does as much of it as it can. Nothing here is
asserted.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

import distmom as dm
from tests.benchmarks.lakes import write_lake

BLOCKS = 32
ROWS_OF_DCOR = 5_000
"""Rows of which dcor compares all pairs: it keeps matrices of distances, 200 MB each at 5,000 rows."""


def distmom(lake: Path | list[Path], column: str | list[str], kernel: str, **options: object) -> object:
    """The median of the statistics of blocks, with its interval."""
    return dm.ustatistic(lake, column, kernel=kernel, rng=0, **options)  # type: ignore[arg-type]


def columns(lake: Path, *names: str) -> list[np.ndarray]:
    """Whole columns in memory."""
    import pyarrow.parquet as pq

    table = pq.read_table(lake, columns=list(names))
    return [table.column(name).to_numpy() for name in names]


def blocks(lake: Path, *names: str) -> list[tuple[np.ndarray, ...]]:
    """Random blocks of columns in memory."""
    arrays = columns(lake, *names)
    order = np.random.default_rng(0).permutation(arrays[0].size)
    return [tuple(a[part] for a in arrays) for part in np.array_split(order, BLOCKS)]


def numpy_gini(lake: Path) -> object:
    """Sort each block."""
    found = []
    for (x,) in blocks(lake, "x"):
        x.sort()
        n = x.size
        found.append(2.0 * np.dot(2.0 * np.arange(1, n + 1) - n - 1, x) / (n * (n - 1)))
    return np.median(found)


def polars_gini(lake: Path) -> object:
    """Ranks within blocks, as a query."""
    import polars as pl

    rank, n = pl.col("x").rank("ordinal").over("b"), pl.len().over("b")
    frame = pl.scan_parquet(f"{lake}/*.parquet").select("x")
    frame = frame.with_columns(b=(pl.int_range(pl.len()).hash(0) % BLOCKS).cast(pl.UInt8))
    weighted = (2.0 * rank - n - 1.0) * pl.col("x") * 2.0 / (n * (n - 1.0))
    return frame.with_columns(w=weighted).group_by("b").agg(pl.col("w").sum()).collect()


def duckdb_gini(lake: Path) -> object:
    """Ranks within blocks by a window function."""
    return duckdb(
        f"""with t as (select x, (random() * {BLOCKS})::int % {BLOCKS} b from '{lake}/*.parquet'),
        r as (select b, x, row_number() over (partition by b order by x) i, count(*) over (partition by b) n
              from t)
        select b, sum((2.0 * i - n - 1) * x * 2 / (n * (n - 1.0))) from r group by b"""
    )


def duckdb(query: str) -> object:
    """A query in DuckDB."""
    import duckdb as engine

    return engine.connect().execute(query).fetchall()


def scipy_kendall(lake: Path) -> object:
    """SciPy's tau-b of each block."""
    from scipy import stats

    return np.median([stats.kendalltau(x, y).statistic for x, y in blocks(lake, "x", "y")])


def dcor_energy(lake: Path) -> object:
    """The energy distance of few rows: more do not fit into memory."""
    import dcor

    x, y = (a[:ROWS_OF_DCOR] for a in columns(lake, "x", "y"))
    return dcor.energy_distance(x, y)


def names_of(lake: Path) -> list[str]:
    """All columns: four, or more where the lake was written with more."""
    import pyarrow.dataset as ds

    return ds.dataset(lake).schema.names


def numpy_covariance(lake: Path) -> object:
    """All columns in memory."""
    return np.cov(np.stack([a.astype(np.float64) for a in columns(lake, *names_of(lake))]))


def duckdb_covariance(lake: Path) -> object:
    """One aggregate for each pair."""
    names = names_of(lake)
    pairs = [f"covar_samp({a}, {b})" for i, a in enumerate(names) for b in names[i:]]
    return duckdb(f"select {', '.join(pairs)} from '{lake}/*.parquet'")


def polars_covariance(lake: Path) -> object:
    """One expression for each pair."""
    import polars as pl

    names = names_of(lake)
    pairs = [pl.cov(a, b).alias(f"{a} {b}") for i, a in enumerate(names) for b in names[i:]]
    return pl.scan_parquet(f"{lake}/*.parquet").select(pairs).collect()


RUNS: dict[str, Callable[[Path], object]] = {
    "Gini, distmom": lambda lake: distmom(lake, "x", "gini", blocks=BLOCKS),
    "Gini, NumPy": numpy_gini,
    "Gini, Polars": polars_gini,
    "Gini, DuckDB": duckdb_gini,
    "Gini of 3 columns, distmom": lambda lake: distmom(lake, ["x", "y", "amount"], "gini", blocks=BLOCKS),
    "Kendall, distmom": lambda lake: distmom(lake, ["x", "y"], "kendall", blocks=BLOCKS),
    "Kendall, SciPy": scipy_kendall,
    "covariance of all columns, distmom": lambda lake: distmom(lake, names_of(lake), "covariance"),
    "covariance of all columns, NumPy": numpy_covariance,
    "covariance of all columns, DuckDB": duckdb_covariance,
    "covariance of all columns, Polars": polars_covariance,
    "energy of the lake and itself, distmom": lambda lake: distmom([lake, lake], "x", "energy"),
    f"energy, {ROWS_OF_DCOR:,} rows, dcor": dcor_energy,
}


def measured(name: str, lake: Path, timeout: float) -> str:
    """A line of the table: the run in a process of its own."""
    words = [sys.executable, "-m", "tests.benchmarks.pairs", str(lake), "--run", name]
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=timeout, check=False)
    except subprocess.TimeoutExpired:
        return f"| {name} | more than {timeout:.0f} | |"
    if done.returncode:
        why = (done.stderr.strip().splitlines() or [f"ended with {done.returncode}"])[-1]
        return f"| {name} | {why[:70]} | |"
    seconds, memory = done.stdout.split()[-2:]
    return f"| {name} | {float(seconds):.1f} | {float(memory):.2f} |"


def main() -> None:
    """Print the table, or do one run of it."""
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("lake", nargs="?", type=Path)
    options.add_argument("--only", nargs="*", default=[""], help="runs whose names have one of these words")
    options.add_argument("--timeout", type=float, default=200.0, help="seconds of a run")
    options.add_argument("--run", choices=RUNS, help=argparse.SUPPRESS)
    args = options.parse_args()
    if args.run:
        start = time.perf_counter()
        RUNS[args.run](args.lake)
        print(time.perf_counter() - start, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6)
        return
    with tempfile.TemporaryDirectory() as folder:
        lake = args.lake or Path(folder) / "lake"
        if args.lake is None:
            write_lake(lake, 64_000_000, 16, 1_000_000)
        print("| run | seconds | GB |\n| --- | --- | --- |")
        for name in RUNS:
            if any(word in name for word in args.only):
                print(measured(name, lake, args.timeout), flush=True)


if __name__ == "__main__":
    main()
