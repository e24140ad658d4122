"""Lakes and helpers for the tests of `distmom.mean`; worker processes import what stands here."""

from __future__ import annotations

import os
import signal
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from distributed import Client, WorkerPlugin

import distmom as dm
from distmom.cluster import Unit, UnitOutcome, plan_units
from distmom.cluster.work import ReadAndReduce
from distmom.estimators.mean import plan as mean_plan


def write(path: Path, columns: pa.Table | dict[str, Any], **options: Any) -> Path:
    """One Parquet file; folders are made as needed."""
    path.parent.mkdir(parents=True, exist_ok=True)
    table = columns if isinstance(columns, pa.Table) else pa.table(columns)
    pq.write_table(table, path, **options)
    return path


def dirty_lake(folder: Path, n_files: int = 13, seed: int = 0, rows: int = 35) -> Path:
    """Heavy tails with nulls, NaN, an infinity, groups, and files of very different sizes, one empty."""
    g = np.random.default_rng(seed)
    for i in range(n_files):
        n = 0 if i == 4 else rows * (1 + i % 5) + i
        x = g.standard_t(3, n) + 1.0
        x[g.random(n) < 0.03] = np.nan
        x[:1] = np.inf if i == 7 else x[:1]
        columns = {
            "x": pa.array(x, mask=g.random(n) < 0.05),
            "y": pa.array(g.normal(10.0, 1.0, n)),
            "key": pa.array(g.integers(0, 3 + i % 2, n)),
            "name": pa.array(g.choice(["a", "b", "ü"], n)),
            "u": pa.array(u := g.random(n)),
            "w": pa.array(np.floor(8.0 * u), mask=u > 0.96),  # weights: some are null, some zero
        }
        write(folder / f"part={i % 3}" / f"{i:03}.parquet", columns, row_group_size=100)
    return folder


def results(found: Any) -> list[Any]:
    return list(found) if isinstance(found, dm.Results) else [found]


def same(a: Any, b: Any) -> bool:
    """Bit for bit, all results."""
    left, right = results(a), results(b)
    return len(left) == len(right) > 0 and all(x == y for x, y in zip(left, right, strict=True))


def cut_work(monkeypatch: pytest.MonkeyPatch, **cut: Any) -> None:
    """Cut the work of the main pass into other units; see `plan_units`."""
    monkeypatch.setattr(mean_plan, "plan_units", partial(plan_units, **cut))


@dataclass(frozen=True)
class FatalFile(ReadAndReduce):
    """Reads like the honest work, but its process dies at one file, as often as the lake's `_fatal` says."""

    def __call__(self, unit: Unit) -> UnitOutcome:
        order = Path(self.reader.root) / "_fatal"
        name, times = order.read_text().split("\n")
        for file in unit.files:
            if file.path == name and _first_times(order.parent, int(times)):
                os._exit(1)
        return super().__call__(unit)


def _first_times(folder: Path, times: int) -> bool:
    """Whether this call is among the first so many, counted over all processes."""
    for count in range(times):
        try:
            (folder / f"_death-{count}").touch(exist_ok=False)
        except FileExistsError:
            continue
        return True
    return False


class KillWorkers(WorkerPlugin):
    """Kills `deaths` workers of the run, each when it begins its `nth` unit."""

    def __init__(self, folder: Path, nth: int, deaths: int = 1) -> None:
        self.name = "kill-workers"
        self.folder, self.nth, self.deaths = folder, nth, deaths
        self.count = 0

    def setup(self, worker: Any) -> None:
        self.count = 0

    def transition(self, key: Any, start: str, finish: str, **kwargs: Any) -> None:
        if finish != "executing" or "-0x" not in str(key):  # of none of our runs
            return
        self.count += 1
        if self.count == self.nth and _first_times(self.folder, self.deaths):
            os.kill(os.getpid(), signal.SIGKILL)


class SomeWorkers(Client):
    """A client that uses only some of the workers of its cluster."""

    chosen: tuple[str, ...] = ()

    def submit(self, *args: Any, **kwargs: Any) -> Any:
        return super().submit(*args, workers=list(self.chosen) or None, **kwargs)


class Interrupts:
    """Ctrl-C once so many units are done."""

    def __init__(self, after: int) -> None:
        self.left = after

    def begin(self, n_units: int, n_bytes: int) -> None: ...

    def end(self) -> None: ...

    def advance(self, n_rows: int, n_bytes: int) -> None:
        self.left -= 1
        if self.left == 0:
            raise KeyboardInterrupt
