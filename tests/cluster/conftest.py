"""One local cluster and one in-process cluster for all tests of this folder."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from shared import SHARED
from worker_processes import two_processes

from distmom.cluster import Executor, ThreadExecutor

NO_DASHBOARD = {"dashboard_address": None, "scheduler_kwargs": {"dashboard_address": "127.0.0.1:0"}}
HERE = Path(__file__).parent
EXECUTORS = ["threads", "inproc", pytest.param("processes", marks=pytest.mark.cluster)]
SHARING = {"processes_client", "inproc_client", "executor"}


@pytest.hookimpl(tryfirst=True)  # before pytest-xdist reads the groups
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.is_relative_to(HERE) and SHARING & set(getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.xdist_group("cluster"))
        if item.path.is_relative_to(HERE):  # closing comms leave sockets to the collector now and then
            item.add_marker(pytest.mark.filterwarnings("ignore::ResourceWarning"))
            item.add_marker(pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"))


@contextmanager
def two_threads() -> Iterator[Any]:
    """Two workers in this process: a scheduler's behaviour without the start of processes."""
    from distributed import Client, LocalCluster

    with (
        LocalCluster(n_workers=2, threads_per_worker=1, processes=False, **NO_DASHBOARD) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        yield client


@pytest.fixture
def processes_client(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A task fails once its workers died three times."""
    settings = {
        "distributed.scheduler.allowed-failures": 2,
        "distributed.deploy.lost-worker-timeout": "1h",  # see cluster/local.py
    }
    return SHARED.get("two processes", lambda: two_processes(tmp_path_factory.mktemp("dask"), **settings))


@pytest.fixture
def inproc_client() -> Any:
    return SHARED.get("two threads", two_threads)


@pytest.fixture(params=EXECUTORS)
def executor(request: pytest.FixtureRequest) -> Iterator[Executor]:
    """Every executor in turn."""
    if request.param == "threads":
        threads = ThreadExecutor(2)
        yield threads
        threads.close()
        return
    from distmom.cluster.executors.client import ClientExecutor

    yield ClientExecutor(request.getfixturevalue(f"{request.param}_client"))
