"""How far a cluster carries: what its scheduler takes, and a model of the time of a mean on it.

    python -m tests.benchmarks.scale [--units 2000] [--rows 64000000] [--store 100] [--objects 512]

Measured here: units of work a second, of units that sleep and return a state of the usual size, on more and
more threads until the scheduler takes no more; seconds a worker needs for a byte; listing and cutting. The
model, for one float64 column of 8 bytes a row: time = start + listing + max(units / workers, rounded up,
times seconds a unit; units / limit of the scheduler). It is compared with runs on 1, 2 and 4 workers, and,
for objects of a store that answers each request after a pause, on 1, 2, 4 and 8: these wait, and need few
processors.
"""

from __future__ import annotations

import argparse
import logging
import math
import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

import distmom as dm
from distmom.cluster import Unit, UnitOutcome, plan_units, run_units
from distmom.cluster.executors.client import ClientExecutor
from distmom.cluster.plan import UNIT_BYTES, bytes_of_unit
from distmom.lake import FileRef
from tests.benchmarks.lakes import write_lake, write_tiny

BYTES_A_ROW = 8
FILE_BYTES = UNIT_BYTES
STATE_VALUES = 3_000  # count, mean and sum of squares of 945 fine blocks, and of the other parts of a rule
WORKERS, ROWS = (1, 10, 100, 1_000), tuple(10**k for k in range(9, 14))


@dataclass(frozen=True)
class Sleep:
    """Reads nothing for so many seconds."""

    seconds: float

    def __call__(self, unit: Unit) -> UnitOutcome:
        """As large a state as that of a mean."""
        time.sleep(self.seconds)
        return UnitOutcome(np.full(STATE_VALUES, 1.0))


def add(left: Any, right: Any) -> Any:
    """Merge two states."""
    return left + right


def made_up(n_files: int, size: int = FILE_BYTES) -> list[FileRef]:
    return [FileRef(f"part-{i:08}.parquet", size, 0) for i in range(n_files)]


@contextmanager
def cluster(workers: int, threads: int = 1) -> Iterator[Any]:
    """A client of a scheduler and workers on this machine, each a process of its own."""
    from distributed import Client
    from distributed.deploy.subprocess import SubprocessCluster

    with (
        SubprocessCluster(
            dashboard_address="127.0.0.1:0",
            n_workers=workers,
            threads_per_worker=threads,
            worker_kwargs={"memory_limit": "4GB"},
            silence_logs=logging.CRITICAL,
        ) as local,
        Client(local, set_as_default=False) as client,
    ):
        client.wait_for_workers(workers)
        yield client


def units_a_second(client: Any, n_units: int, seconds: float) -> float:
    """Of units that each take so many seconds."""
    units = plan_units(made_up(n_units, 1), max_files=1)
    start = time.perf_counter()
    found = run_units(Sleep(seconds), units, add, ClientExecutor(client))
    assert found.state[0] == n_units
    return n_units / (time.perf_counter() - start)


def throughput(n_units: int, seconds: float = 0.05) -> float:
    """Print units a second for more and more threads; the most there were."""
    most = 0.0
    print(f"units of {seconds:g} s on threads that sleep | wanted, units/s | done, units/s\n---|---|---")
    for threads in (4, 16, 64, 256):
        with cluster(1, threads) as client:
            units_a_second(client, threads, 0.0)  # warm
            wanted = threads / seconds
            found = units_a_second(client, min(n_units, int(5 * wanted)), seconds)
        most = max(most, found)
        print(f"{threads} | {wanted:,.0f} | {found:,.0f}", flush=True)
    with cluster(1, 2) as client:
        units_a_second(client, 2, 0.0)
        found = units_a_second(client, n_units, 0.0)
    print(f"2, nothing to do | any | {found:,.0f}\n")
    return max(most, found)


@dataclass(frozen=True)
class Model:
    """Seconds of the parts of a run."""

    start: float
    byte: float
    file: float
    limit: float

    def seconds(self, n_bytes: float, workers: int, n_files: int) -> tuple[float, str]:
        """Of a lake, and what it waits for most."""
        unit = bytes_of_unit(n_bytes, workers)
        n_units = max(1, math.ceil(n_bytes / unit))
        reading = math.ceil(n_units / workers) * min(unit, n_bytes) * self.byte
        parts = {"start": self.start, "listing": n_files * self.file}
        parts["scheduler" if n_units / self.limit > reading else "reading"] = max(
            reading, n_units / self.limit
        )
        return sum(parts.values()), max(parts, key=parts.__getitem__)


def uneven(n_units: int, workers: int) -> float:
    """Share of the work that the busiest worker has."""
    return math.ceil(n_units / workers) / n_units


def listing_seconds(folder: Path) -> float:
    """For each of many files: listed and cut."""
    from distmom.lake import open_lake

    n_files = 5_000
    write_tiny(folder, n_files)
    start = time.perf_counter()
    plan_units(open_lake(folder).files)
    return (time.perf_counter() - start) / n_files


def runs(lake: Any, workers: int) -> float:
    """Median of three means on a warm cluster."""

    with cluster(workers) as client:
        dm.mean(lake, "x", rng=0, executor=client)
        seconds = []
        for _ in range(3):
            start = time.perf_counter()
            dm.mean(lake, "x", rng=0, executor=client)
            seconds.append(time.perf_counter() - start)
    return sorted(seconds)[1]


def compared(folder: Path, rows: int, limit: float) -> Model:
    """Fit the model to one worker on a small and on a larger lake, and hold it against 2 and 4 workers."""
    sizes = {}
    for name, n in (("small", rows // 16), ("large", rows)):
        write_lake(folder / name, n, 32, 1 << 20)
        sizes[name] = sum(f.stat().st_size for f in (folder / name).iterdir()) * 8 / 28  # of four columns
    small, large = runs(folder / "small", 1), runs(folder / "large", 1)
    byte = (large - small) / (sizes["large"] - sizes["small"])
    model = Model(max(0.0, small - byte * sizes["small"]), byte, listing_seconds(folder / "many"), limit)
    print(f"{os.cpu_count()} processors, {rows:,} rows\n\nworkers | model, s | measured, s\n---|---|---")
    for workers in (1, 2, 4):
        said, _ = model.seconds(sizes["large"], min(workers, os.cpu_count() or 1), 32)
        print(f"{workers} | {said:.2f} | {runs(folder / 'large', workers):.2f}", flush=True)
    return model


def compared_with_store(n_objects: int, pause: float) -> None:
    """The same for objects of two rows, of which a store answers each request after a pause.

    Workers wait most of the time, so more of them than processors help.
    """
    from tests.benchmarks.stores import KEYS, MOTO, Proxy, filled, serving

    with serving(*MOTO) as port:
        filled(port, n_objects)
        with Proxy(port, pause=pause) as proxy:
            lake = dm.scan("s3://box/t", storage_options={**KEYS, "endpoint": proxy.endpoint})
            measured = {workers: runs(lake, workers) for workers in (1, 2, 4, 8)}
    asked = f"{n_objects} objects, {1e3 * pause:g} ms a request"
    print(f"\n{asked}\n\nworkers | model, s | measured, s\n---|---|---")
    for workers, seconds in measured.items():
        units = plan_units(made_up(n_objects, 480), threads=workers)
        print(f"{workers} | {uneven(len(units), workers) * measured[1]:.2f} | {seconds:.2f}", flush=True)


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--units", type=int, default=2_000)
    parser.add_argument("--rows", type=int, default=64_000_000, help="of the lake for runs")
    parser.add_argument("--store", type=float, default=100.0, help="MB/s that a store gives each worker")
    parser.add_argument("--objects", type=int, default=512, help="of the store for runs")
    wanted = parser.parse_args()
    limit = throughput(wanted.units)
    with tempfile.TemporaryDirectory() as folder:
        model = compared(Path(folder), wanted.rows, limit)
    compared_with_store(wanted.objects, 0.03)
    said = (
        f"{limit:,.0f} units/s at most, which is {limit * UNIT_BYTES / 1e9:,.0f} GB/s",
        "a processor for each worker",
        f"{model.start:.2f} s to begin and to end",
        f"{1e6 * model.file:.0f} µs to list a file of {FILE_BYTES / 1e6:.0f} MB",
        f"{BYTES_A_ROW} bytes a row",
        "units by the rule of plan_units",
    )
    print(f"\nassumed: {'; '.join(said)}")
    table(model, f"{1e-6 / model.byte:,.0f} MB/s, as measured here from memory")
    if wanted.store * 1e6 * model.byte < 1.0:
        table(replace(model, byte=1e-6 / wanted.store), f"{wanted.store:,.0f} MB/s, what its store gives it")


def table(model: Model, rate: str) -> None:
    """Seconds by rows and workers."""
    print(f"\neach worker reads {rate}\n")
    print("rows | " + " | ".join(f"{w:,} workers" for w in WORKERS) + "\n---" + "|---" * len(WORKERS))
    for rows in ROWS:
        n_bytes = rows * BYTES_A_ROW
        cells = [model.seconds(n_bytes, w, math.ceil(n_bytes / FILE_BYTES)) for w in WORKERS]
        words = [f"{in_words(seconds)} ({why})" for seconds, why in cells]
        print(f"10^{round(math.log10(rows))} | " + " | ".join(words))


def in_words(seconds: float) -> str:
    for size, name in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if seconds >= 2 * size:
            return f"{seconds / size:.1f} {name}"
    return f"{seconds:.1f} s"


if __name__ == "__main__":
    main()
