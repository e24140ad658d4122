"""Local clusters whose workers are forked from one process that has imported what they need.

A worker that starts by itself imports for longer than most tests take, and so does each that comes for one
that died. How they start by themselves is tried in `cluster/executors/test_cluster_local.py`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import Any

QUIET = {
    "dashboard_address": None,
    "scheduler_kwargs": {"dashboard_address": "127.0.0.1:0"},
    "host": "127.0.0.1",
    "threads_per_worker": 1,
    "silence_logs": 60,
}
IMPORTED = ["distributed", "distributed.nanny", "pyarrow.parquet", "distmom.estimators.mean.question"]


def forked(scratch: object) -> dict[str, Any]:
    """Settings of Dask: forked workers, which put what they must into a folder of the test."""
    import dask
    from distributed.utils import get_mp_context

    settings = {"distributed.worker.multiprocessing-method": "forkserver"}
    with dask.config.set(settings):
        get_mp_context().set_forkserver_preload(IMPORTED)
    return {**settings, "temporary-directory": str(scratch)}


@contextmanager
def two_processes(scratch: object, **settings: Any) -> Iterator[Any]:
    """A client of two worker processes."""
    import dask
    from distributed import Client, LocalCluster

    with (
        dask.config.set(forked(scratch) | settings),
        LocalCluster(n_workers=2, memory_limit="1.5GB", **QUIET) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        yield client


class FourWorkers:
    """Four worker processes of one thread; a task fails once its workers died three times.

    A nanny whose workers die again and again gives up: then a new cluster is started for the next test.
    """

    def __init__(self, scratch: str) -> None:
        self._settings = {**forked(scratch), "distributed.scheduler.allowed-failures": 2}
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
        cluster = LocalCluster(n_workers=4, memory_limit="1.5GB", **QUIET)
        self._address = self._open.enter_context(cluster).scheduler_address

    def close(self) -> None:
        self._open.close()
        self._address = ""
