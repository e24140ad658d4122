"""Worker processes on this machine, for the duration of one call."""

from __future__ import annotations

import logging
import sys
import tempfile
import threading
from contextlib import ExitStack, suppress
from multiprocessing import resource_tracker
from pathlib import Path
from typing import Any

from distmom.cluster.executors.client import ClientExecutor
from distmom.cluster.failures import one_line
from distmom.cluster.interrupts import interrupts
from distmom.errors import ResourceError
from distmom.lake.files.leftovers import OwnFolder

CLOSE_SECONDS = 10.0
SETTINGS = {
    # A worker that is away this long after it died once is given up, even if it is only starting again after
    # a second death: a unit that kills workers would leave the cluster without any.
    "distributed.deploy.lost-worker-timeout": "1h",
}


def local_executor(workers: int, memory_limit: int | None = None) -> ClientExecutor:
    """Start ``workers`` processes of one thread each; `ClientExecutor.close` ends them.

    ResourceError if the processes cannot be started.
    """
    ending = ExitStack()
    # if a worker's thread has to start this helper first, SIGINT is unblocked there afterwards; and so it is
    # here, while SIGHUP, at which the helper would die, stays blocked in it
    with interrupts.blocked():
        resource_tracker.ensure_running()
    with interrupts.blocked():
        return _started(workers, memory_limit, ending)


def _started(workers: int, memory_limit: int | None, ending: ExitStack) -> ClientExecutor:
    import dask
    from distributed import Client, LocalCluster

    try:
        ending.enter_context(dask.config.set(SETTINGS))
        scratch = OwnFolder.of_scratch(Path(tempfile.gettempdir()))
        ending.callback(scratch.close)
        hidden_main.hide()
        ending.callback(hidden_main.show)
        # without a folder the scheduler would leave one of its own among temporary files
        with dask.config.set({"temporary-directory": str(scratch.path)}):
            cluster = LocalCluster(
                n_workers=workers,
                threads_per_worker=1,
                processes=True,
                host="127.0.0.1",
                dashboard_address=None,
                # Without a dashboard its port is still opened: any free one, not the one others use.
                scheduler_kwargs={"dashboard_address": "127.0.0.1:0"},
                memory_limit="auto" if memory_limit is None else memory_limit,
                local_directory=str(scratch.path),
                preload=["distmom.cluster.executors.preload"],
                silence_logs=logging.CRITICAL,  # failures are reported once, by us
            )
        ending.callback(cluster.close, timeout=CLOSE_SECONDS)
        client = Client(cluster, set_as_default=False)
        ending.callback(client.close, timeout=CLOSE_SECONDS)
        return ClientExecutor(client, ending.close)
    except BaseException as error:
        with suppress(Exception):
            ending.close()
        if isinstance(error, Exception):
            raise ResourceError(
                f"Processes: {workers} of them could not be started ({one_line(error)}); use Threads instead"
            ) from error
        raise


class _HiddenMain:
    """Keeps new processes from importing the caller's script.

    A spawned process imports the parent's ``__main__`` to find functions defined there. Our workers never
    need it (objects from ``__main__`` are pickled by value), and a script without the ``if __name__`` guard
    would run again in every worker. Without name and file, there is nothing to import. This lasts as long as
    the workers, because a worker that died is restarted.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._users = 0
        self._saved: dict[str, Any] = {}

    def hide(self) -> None:
        main = sys.modules["__main__"]
        with self._lock:
            self._users += 1
            if self._users == 1:
                names = vars(main).keys() & {"__spec__", "__file__"}
                self._saved = {name: vars(main)[name] for name in names}
                main.__spec__ = None
                vars(main).pop("__file__", None)

    def show(self) -> None:
        main = sys.modules["__main__"]
        with self._lock:
            self._users -= 1
            if self._users == 0:
                vars(main).update(self._saved)


hidden_main = _HiddenMain()
