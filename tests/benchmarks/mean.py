"""Time `dm.mean` beside what people would run instead, on one lake, interleaved in one process.

    python -m tests.benchmarks.mean [FOLDER] [--rows 64000000] [--repeat 7] [--only NAME …]

makes the lakes it needs below FOLDER (default: a temporary one, about 2.5 GB) and prints a Markdown table of
seconds and ratios. Only ratios mean anything: machines are noisy. Nothing here is asserted.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import distmom as dm
from tests.benchmarks.lakes import write_lake, write_tiny

Timings = dict[str, list[float]]


def timed(runs: dict[str, Callable[[], object]], repeat: int) -> Timings:
    """Seconds of each run, taken in turn, after one that does not count."""
    for run in runs.values():
        run()
    seconds: Timings = {name: [] for name in runs}
    for _ in range(repeat):
        for name, run in runs.items():
            start = time.perf_counter()
            run()
            seconds[name].append(time.perf_counter() - start)
    return seconds


def table(title: str, seconds: Timings, ours: str, targets: dict[str, str]) -> None:
    """Print one comparison: medians, and ours divided by each other (median of the pairwise ratios)."""
    print(f"\n### {title}\n\n| run | median s | least s | ours ÷ this | to reach |\n|---|---|---|---|---|")
    for name, values in seconds.items():
        ratios = [a / b for a, b in zip(seconds[ours], values, strict=True)]
        ratio = "" if name == ours else f"{statistics.median(ratios):.2f}"
        median, least = statistics.median(values), min(values)
        print(f"| {name} | {median:.3f} | {least:.3f} | {ratio} | {targets.get(name, '')} |")
    sys.stdout.flush()


def polars_mean(lake: Path, column: str = "x") -> object:
    """The sample mean as a Polars query."""
    import polars as pl

    return pl.scan_parquet(f"{lake}/*.parquet").select(pl.col(column).mean()).collect().item()


def duckdb_query(text: str) -> object:
    """A query in DuckDB."""
    import duckdb

    return duckdb.connect().execute(text).fetchall()


def polars_median_of_means(lake: Path) -> object:
    """Median of 101 random block means as a Polars query."""
    import polars as pl

    rows = pl.scan_parquet(f"{lake}/*.parquet").select("x").with_row_index()
    blocks = rows.group_by(pl.col("index").hash(7) % 101).agg(pl.col("x").mean())
    return blocks.select(pl.col("x").median()).collect().item()


def dask_mean(lake: Path) -> float:
    """The sample mean of a Dask DataFrame."""
    import dask.dataframe as dd

    return float(dd.read_parquet(lake, columns=["x"])["x"].mean().compute(scheduler="threads"))


def main_column(lake: Path, repeat: int) -> None:
    """One float64 column: 101 blocks, the defaults, contiguous blocks; Polars, DuckDB, Dask DataFrame."""

    sql = (
        "select median(m) from (select hash(filename, file_row_number) % 101 b, avg(x) m from "
        f"read_parquet('{lake}/*.parquet', file_row_number=true, filename=true) group by b)"
    )
    runs: dict[str, Callable[[], object]] = {
        "distmom, 101 blocks": lambda: dm.mean(lake, "x", rng=0, blocks=101),
        "distmom, defaults": lambda: dm.mean(lake, "x", rng=0),
        "distmom, stored order": lambda: dm.mean(lake, "x", rng=0, blocks=dm.StoredBlocks()),
        "Polars mean": lambda: polars_mean(lake),
        "DuckDB avg": lambda: duckdb_query(f"select avg(x) from '{lake}/*.parquet'"),
        "Polars median of means": lambda: polars_median_of_means(lake),
        "DuckDB median of means": lambda: duckdb_query(sql),
        "Dask DataFrame mean": lambda: dask_mean(lake),
    }
    seconds = timed(runs, repeat)
    table(
        "One float64 column, 101 random blocks",
        seconds,
        "distmom, 101 blocks",
        {
            "Polars mean": "≤ 1.35",
            "DuckDB avg": "< 1",
            "Polars median of means": "≤ 0.43",
            "DuckDB median of means": "≤ 0.43",
            "Dask DataFrame mean": "≤ 0.33",
        },
    )
    few = ("Polars mean", "DuckDB avg")
    for ours, target in (("distmom, defaults", "≤ 1.5"), ("distmom, stored order", "≤ 1.2")):
        part = {name: seconds[name] for name in (ours, *few)}
        table(ours, part, ours, {"Polars mean": target})


def decode(lake: Path, columns: list[str]) -> int:
    """Read some columns as we do, on two threads, and do nothing with them."""
    from concurrent.futures import ThreadPoolExecutor

    import pyarrow.parquet as pq

    def rows(path: Path) -> int:
        options = {"buffer_size": 262_144, "pre_buffer": False, "memory_map": False}
        with pq.ParquetFile(path, **options) as file:
            batches = file.iter_batches(131_072, columns=columns, use_threads=False)
            return sum(batch.num_rows for batch in batches)

    with ThreadPoolExecutor(2) as threads:
        return sum(threads.map(rows, sorted(lake.glob("*.parquet"))))


def several(lake: Path, repeat: int) -> None:
    """Weights, and four columns at once; below each what PyArrow takes to decode the same columns."""

    four = ["x", "y", "amount", "k"]
    runs: dict[str, Callable[[], object]] = {
        "one plain column": lambda: dm.mean(lake, "x", rng=0, executor=dm.Threads(2)),
        "x weighted by amount": lambda: dm.mean(lake, "x", weights="amount", rng=0, executor=dm.Threads(2)),
        "y weighted by x": lambda: dm.mean(lake, "y", weights="x", rng=0, executor=dm.Threads(2)),
        "x weighted by x: nothing more to decode": lambda: dm.mean(
            lake, "x", weights="x", rng=0, executor=dm.Threads(2)
        ),
        "four columns": lambda: dm.mean(lake, four, rng=0, executor=dm.Threads(2)),
        "decode x": lambda: decode(lake, ["x"]),
        "decode x and amount": lambda: decode(lake, ["x", "amount"]),
        "decode x and y": lambda: decode(lake, ["x", "y"]),
        "decode four": lambda: decode(lake, four),
    }
    seconds = timed(runs, repeat)
    for ours, target in (
        ("x weighted by amount", "≤ 1.6"),
        ("y weighted by x", "≤ 1.6"),
        ("four columns", "≤ 4.4"),
    ):
        table(f"{ours} ÷ one plain column", seconds, ours, {"one plain column": target})


def nulls(lake: Path, repeat: int) -> None:
    """The same with 5% nulls."""

    runs = {
        "distmom, 5% nulls": lambda: dm.mean(lake, "x", rng=0, blocks=101),
        "Polars mean": lambda: polars_mean(lake),
    }
    table("5% nulls", timed(runs, repeat), "distmom, 5% nulls", {"Polars mean": "≤ 2.2"})


def cluster(lake: Path, repeat: int) -> None:
    """A warm cluster of two processes against two threads."""
    from distributed import Client, LocalCluster

    local = LocalCluster(
        n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address=None, memory_limit="4GB"
    )
    with local as two, Client(two) as client:
        runs = {
            "distmom, cluster 2 × 1": lambda: dm.mean(lake, "x", rng=0, blocks=101, executor=client),
            "distmom, 2 threads": lambda: dm.mean(lake, "x", rng=0, blocks=101, executor=dm.Threads(2)),
        }
        seconds = timed(runs, repeat)
    table("A warm cluster", seconds, "distmom, cluster 2 × 1", {"distmom, 2 threads": "≤ 1.3"})


def groups(lake: Path, repeat: int) -> None:
    """1,000 integer groups."""

    runs = {
        "distmom, 1,000 groups": lambda: dm.mean(lake, "x", by="k", rng=0),
        "DuckDB grouped avg": lambda: duckdb_query(f"select k, avg(x) from '{lake}/*.parquet' group by k"),
    }
    table("1,000 groups", timed(runs, repeat), "distmom, 1,000 groups", {"DuckDB grouped avg": "≤ 2"})


def memory(lakes: dict[str, Path]) -> None:
    """Peak memory of a run, as the operating system counted it."""
    print("\n### Peak memory of one run, MB\n\n| lake | 101 blocks | defaults |\n|---|---|---|")
    code = (  # ru_maxrss would count what this process held when it forked
        "import sys, re, pathlib, distmom as dm; "
        "dm.mean(sys.argv[1], 'x', rng=0, blocks=101 if sys.argv[2] == '101' else 'auto'); "
        "status = pathlib.Path('/proc/self/status').read_text(); "
        "print(int(re.search(r'VmHWM:\\s*(\\d+)', status)[1]) / 1e3)"
    )
    for name, lake in lakes.items():
        peaks = [
            subprocess.run(
                [sys.executable, "-c", code, str(lake), k], capture_output=True, text=True, check=True
            )
            for k in ("101", "auto")
        ]
        print(f"| {name} | " + " | ".join(f"{float(p.stdout):.0f}" for p in peaks) + " |", flush=True)


def tiny(lake: Path) -> None:
    """20,000 files of two rows."""

    runs = {
        "distmom, 20,000 files": lambda: dm.mean(lake, "x", rng=0),
        "Polars mean": lambda: polars_mean(lake),
        "DuckDB avg": lambda: duckdb_query(f"select avg(x) from '{lake}/*.parquet'"),
    }
    seconds = timed(runs, 3)
    table("20,000 files of two rows", seconds, "distmom, 20,000 files", {"distmom, 20,000 files": "8 s"})


def cold(lake: Path, repeat: int) -> None:
    """Whole processes: --help, and a small file."""
    one = min(lake.glob("*.parquet"), key=lambda path: path.name)
    command = [sys.executable, "-m", "distmom"]
    run = {"capture_output": True, "check": True, "env": {**os.environ, "NUMBA_CACHE_DIR": "/nonexistent"}}
    runs = {
        "--help": lambda: subprocess.run([*command, "--help"], **run),
        "mean of a small file": lambda: subprocess.run([*command, "mean", str(one), "-c", "x"], **run),
    }
    targets = {"--help": "0.4 s", "mean of a small file": "1.2 s"}
    table("Cold commands", timed(runs, repeat), "mean of a small file", targets)


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("--rows", type=int, default=64_000_000)
    parser.add_argument("--repeat", type=int, default=7)
    parser.add_argument(
        "--only", nargs="*", default=[], help="column several nulls cluster groups memory tiny cold"
    )
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="distmom-bench-") as temporary:
        run_all(args.folder or Path(temporary), args)


def run_all(folder: Path, args: argparse.Namespace) -> None:
    """Make what is missing, and time what is asked for."""
    lake, quarter = folder / "lake", folder / "quarter"
    some_nulls, many = folder / "nulls", folder / "tiny"
    small = folder / "small"
    for path, make in (
        (lake, lambda: write_lake(lake, args.rows, 16, 1_000_000)),
        (quarter, lambda: write_lake(quarter, args.rows // 4, 4, 1_000_000)),
        (some_nulls, lambda: write_lake(some_nulls, args.rows, 16, 1_000_000, nulls=0.05)),
        (many, lambda: write_tiny(many, 20_000)),
        (small, lambda: write_lake(small, 10_000, 1, 10_000)),
    ):
        if not path.exists():
            make()
    parts: dict[str, Callable[[], None]] = {
        "column": lambda: main_column(lake, args.repeat),
        "several": lambda: several(lake, args.repeat),
        "nulls": lambda: nulls(some_nulls, args.repeat),
        "cluster": lambda: cluster(lake, args.repeat),
        "groups": lambda: groups(lake, args.repeat),
        "memory": lambda: memory({f"{args.rows // 4:,} rows": quarter, f"{args.rows:,} rows": lake}),
        "tiny": lambda: tiny(many),
        "cold": lambda: cold(small, args.repeat),
    }
    for name in args.only or parts:
        parts[name]()


if __name__ == "__main__":
    main()
