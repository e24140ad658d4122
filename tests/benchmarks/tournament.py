"""Tournaments among 100 or more columns of predictions against Polars computing their sample mean losses.

    python -m tests.benchmarks.tournament FOLDER [--rows 10000000] [--candidates 100]

Writes the lake into FOLDER unless it is there (predictions rounded to 1/256, so that 100 columns of 10
million rows take 1.4 GB; 1,000 columns of one million as much). Each side runs in a process of its own; least
of several runs, with its processor seconds, which a busy machine changes little, and peak memory.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

ROWS_A_FILE = 1_250_000
STEP = 256.0

OURS = """
import distmom as dm
found = dm.tournament({folder!r}, {names}, "y", rng=0, executor=dm.Threads(2))
print(found.champions, found.settings["rounds"])
"""
POLARS = """
import polars as pl
lake = pl.scan_parquet({folder!r} + "/*.parquet")
losses = [((pl.col("y") - pl.col(n)) ** 2).mean().alias(n) for n in {names}]
found = lake.select(losses).collect(engine="streaming")
print(min(found.to_dicts()[0].items(), key=lambda item: item[1]))
"""
MEASURE = r"""
import re, resource, time
start = time.perf_counter()
{work}
seconds = time.perf_counter() - start
# not from getrusage, which also counts the memory of the process that started this one
used = resource.getrusage(resource.RUSAGE_SELF)
peak = int(re.search(r"VmHWM:\s+(\d+)", open("/proc/self/status").read())[1])
print(seconds, used.ru_utime + used.ru_stime, peak)
"""


def write_lake(folder: Path, n_rows: int, n_candidates: int) -> None:
    """Linear predictions of different slopes and noise, of a target with heavy tails."""
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(-(-n_rows // ROWS_A_FILE)):
        path = folder / f"{number:03}.parquet"
        if path.exists():
            continue
        g = np.random.default_rng(number)
        n = min(ROWS_A_FILE, n_rows - number * ROWS_A_FILE)
        x = g.normal(size=n)
        columns = {"y": x + g.standard_t(2.1, n)}
        noise = g.normal(size=n)
        for c in range(n_candidates):
            slope = 0.5 + c / n_candidates
            columns[f"p{c:04}"] = np.round((slope * x + 0.1 * np.roll(noise, c)) * STEP) / STEP
        pq.write_table(pa.table(columns), path, row_group_size=250_000)


def measure(code: str) -> tuple[float, float, float, str]:
    """Seconds, processor seconds and peak memory in MB of a fresh process, and what it printed."""
    run = subprocess.run(
        [sys.executable, "-c", MEASURE.format(work=code)], capture_output=True, text=True, check=True
    )
    *said, last = run.stdout.strip().splitlines()
    seconds, busy, peak = map(float, last.split())
    return seconds, busy, peak / 1e3, " ".join(said)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--candidates", type=int, default=100)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--only", choices=("ours", "polars"))
    given = parser.parse_args()
    write_lake(given.folder, given.rows, given.candidates)
    names = [f"p{c:04}" for c in range(given.candidates)]
    found: dict[str, list[tuple[float, float, float, str]]] = {}
    for _ in range(given.repeat):
        for name, code in (("ours", OURS), ("polars", POLARS)):
            if given.only in (None, name):
                done = measure(code.format(folder=str(given.folder), names=names))
                found.setdefault(name, []).append(done)
    for name, runs in found.items():
        best = min(runs)
        figures = {"seconds": round(best[0], 2), "processor": round(best[1], 2), "MB": round(best[2])}
        print(json.dumps({"who": name, **figures, "said": best[3]}))


if __name__ == "__main__":
    main()
