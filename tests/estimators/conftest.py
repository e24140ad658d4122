"""One local cluster of four workers for all tests of this folder that need processes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from mean_lakes import SomeWorkers

NO_DASHBOARD = {"dashboard_address": None, "scheduler_kwargs": {"dashboard_address": "127.0.0.1:0"}}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.get_closest_marker("cluster"):  # closing comms leave sockets to the collector now and then
            item.add_marker(pytest.mark.filterwarnings("ignore::ResourceWarning"))
            item.add_marker(pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"))


@pytest.fixture(scope="session")
def four_workers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Four worker processes of one thread; a task fails once its workers died three times."""
    import dask
    from distributed import LocalCluster

    scratch = str(tmp_path_factory.mktemp("dask"))
    settings = {"temporary-directory": scratch, "distributed.scheduler.allowed-failures": 2}
    with (
        dask.config.set(settings),
        LocalCluster(
            n_workers=4,
            threads_per_worker=1,
            host="127.0.0.1",
            **NO_DASHBOARD,
            memory_limit="1.5GB",
            silence_logs=60,
        ) as cluster,
    ):
        yield cluster


@pytest.fixture
def client_of(four_workers: Any) -> Iterator[Callable[[int], SomeWorkers]]:
    """Make a client that uses so many of the four workers."""
    from mean_lakes import SomeWorkers

    with ExitStack() as open_clients:

        def make(n_workers: int) -> SomeWorkers:
            client = SomeWorkers(four_workers.scheduler_address, set_as_default=False)
            open_clients.enter_context(client)
            client.wait_for_workers(4, timeout=30)
            client.chosen = tuple(sorted(client.scheduler_info(n_workers=-1)["workers"])[:n_workers])
            return client

        yield make
