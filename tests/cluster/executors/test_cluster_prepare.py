"""Loading on workers beforehand: once in each process, in the background, never the cause of a failure."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from fake_work import Spell, expected, listing, record

from distmom.cluster import ThreadExecutor, plan_units, run_units
from distmom.cluster.executors.backends import Cluster
from distmom.cluster.executors.client import ClientExecutor

ROWS = [100] * 8
UNITS = plan_units(listing([800] * 8), max_files=1)
processes = [pytest.mark.cluster, pytest.mark.xdist_group("cluster")]


def note(folder: str) -> None:
    """Leave a file for every call."""
    Path(folder, f"{os.getpid()}-{time.monotonic_ns()}").touch()


def fail(folder: str) -> None:
    note(folder)
    raise RuntimeWarning("a cache that cannot be written")


def calls(folder: Path, wanted: int) -> list[str]:
    """The processes that called, once so many did or ten seconds went by."""
    deadline = time.monotonic() + 10
    while len(found := list(folder.iterdir())) < wanted and time.monotonic() < deadline:
        time.sleep(0.01)
    return sorted(path.name.split("-")[0] for path in found)


@pytest.fixture(params=["inproc", pytest.param("processes", marks=processes)])
def new_client(request: pytest.FixtureRequest) -> Iterator[Any]:
    """A client that was never prepared."""
    from distributed import Client

    cluster = request.getfixturevalue(f"{request.param}_client").cluster
    with Client(cluster, set_as_default=False) as client:
        yield client


def test_every_worker_loads_once_for_each_client(new_client: Any, tmp_path: Path) -> None:
    for _ in range(3):
        with Cluster(new_client).open(load=partial(note, str(tmp_path))) as executor:
            assert run_units(Spell(tuple(ROWS)), UNITS, record, executor).state == expected(ROWS)
    pids = calls(tmp_path, 2)
    time.sleep(0.2)
    assert calls(tmp_path, 2) == pids and len(pids) == 2
    plugins = new_client.run_on_scheduler(lambda dask_scheduler: list(dask_scheduler.worker_plugins))
    assert not [name for name in plugins if "distmom" in name], "nothing stays behind on the cluster"


def test_a_failure_to_load_is_no_failure_of_the_run(new_client: Any, tmp_path: Path) -> None:
    with Cluster(new_client).open(load=partial(fail, str(tmp_path))) as executor:
        assert len(calls(tmp_path, 2)) == 2
        assert run_units(Spell(tuple(ROWS)), UNITS, record, executor).state == expected(ROWS)


def test_a_cluster_that_goes_away_meanwhile_is_no_failure() -> None:
    from distributed import Client, LocalCluster

    quiet = {"dashboard_address": None, "scheduler_kwargs": {"dashboard_address": "127.0.0.1:0"}}
    with LocalCluster(n_workers=1, threads_per_worker=1, processes=False, **quiet) as cluster:
        client = Client(cluster, set_as_default=False)
        executor = ClientExecutor(client, client.close)
        executor.prepare(partial(time.sleep, 0.2))
        executor.close()


def test_threads_load_nothing_beforehand(tmp_path: Path) -> None:
    ThreadExecutor(1).prepare(partial(note, str(tmp_path)))
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_kernels_load_also_where_no_cache_can_be_written(tmp_path: Path) -> None:
    """The only folder cannot be written to; or Numba finds none and raises when a kernel is decorated."""
    import subprocess
    import sys

    none = "from numba.core import caching; caching.CacheImpl._locator_classes = []\n"
    code = (
        "from distmom.reductions.block_means import load_kernels\n"
        "load_kernels(); load_kernels()\n"
        "from distmom.numerics.blocks.moments_compiled import merge_few\n"
        "print(len(merge_few.signatures))\n"
        "from distmom.numerics.readiness import READINESS; READINESS.twins_first = False\n"
        "load_kernels()\n"
        "print(len(merge_few.signatures))\n"
    )
    away = {**os.environ, "NUMBA_CACHE_DIR": "/proc/none"}
    for lines, environment in ((code, away), (none + code, dict(os.environ))):
        run = {"capture_output": True, "text": True, "timeout": 100, "env": environment}
        done = subprocess.run([sys.executable, "-c", lines], check=False, **run)  # type: ignore[call-overload]
        assert (done.returncode, done.stdout, done.stderr) == (0, "0\n1\n", "")
