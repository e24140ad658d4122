"""One local cluster of four workers for all tests that need processes, beside those of `tests/cluster`."""

from __future__ import annotations

from contextlib import ExitStack, suppress

NO_DASHBOARD = {"dashboard_address": None, "scheduler_kwargs": {"dashboard_address": "127.0.0.1:0"}}


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
