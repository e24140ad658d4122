"""One local cluster of four workers for all tests of this folder that need processes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, suppress
from typing import TYPE_CHECKING

import pytest
from shared import SHARED

if TYPE_CHECKING:
    from mean_lakes import SomeWorkers

NO_DASHBOARD = {"dashboard_address": None, "scheduler_kwargs": {"dashboard_address": "127.0.0.1:0"}}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.get_closest_marker("cluster"):  # closing comms leave sockets to the collector now and then
            item.add_marker(pytest.mark.filterwarnings("ignore::ResourceWarning"))
            item.add_marker(pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"))


class FourWorkers:
    """Four worker processes of one thread; a task fails once its workers died three times.

    A nanny whose workers die again and again gives up: then a new cluster is started for the next test.
    """

    def __init__(self, scratch: str) -> None:
        self._settings = {"temporary-directory": scratch, "distributed.scheduler.allowed-failures": 2}
        self._open = ExitStack()
        self._address = ""

    def address(self) -> str:
        """Address of a scheduler with four workers."""
        from distributed import Client

        if self._address:
            with Client(self._address, set_as_default=False) as client, suppress(TimeoutError):
                client.wait_for_workers(4, timeout=5)
                return self._address
        self.close()
        self._start()
        return self._address

    def _start(self) -> None:
        import dask
        from distributed import LocalCluster

        self._open.enter_context(dask.config.set(self._settings))
        cluster = LocalCluster(
            n_workers=4,
            threads_per_worker=1,
            host="127.0.0.1",
            **NO_DASHBOARD,
            memory_limit="1.5GB",
            silence_logs=60,
        )
        self._address = self._open.enter_context(cluster).scheduler_address

    def close(self) -> None:
        self._open.close()
        self._address = ""


@pytest.fixture
def four_workers(tmp_path_factory: pytest.TempPathFactory) -> FourWorkers:
    return SHARED.get("four workers", lambda: closing(FourWorkers(str(tmp_path_factory.mktemp("dask")))))  # type: ignore[no-any-return]


@pytest.fixture
def client_of(four_workers: FourWorkers) -> Iterator[Callable[[int], SomeWorkers]]:
    """Make a client that uses so many of the four workers; with all four, also those started anew later."""
    from mean_lakes import SomeWorkers

    with ExitStack() as open_clients:

        def make(n_workers: int) -> SomeWorkers:
            client = SomeWorkers(four_workers.address(), set_as_default=False)
            open_clients.enter_context(client)
            workers = sorted(client.scheduler_info(n_workers=-1)["workers"])
            client.chosen = tuple(workers[:n_workers]) if n_workers < 4 else ()
            return client

        yield make
