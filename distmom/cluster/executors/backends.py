"""Where a call runs, as chosen by the caller: threads, processes on this machine, or a Dask cluster."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from dataclasses import dataclass
from typing import Any, ClassVar

from distmom.checks import check_count
from distmom.cluster.executors import connect
from distmom.cluster.executors.threads import ThreadExecutor
from distmom.cluster.interrupts import interrupts
from distmom.cluster.memory import memory_bytes, parse_bytes, usable_cpus
from distmom.cluster.outcome import Executor
from distmom.cluster.scratch import Scratch
from distmom.errors import ConfigError

Bytes = int | str | None


class Backend:
    """Common base of all backends; see `Threads`, `Processes` and `Cluster`."""

    memory_limit: Bytes
    scratch: str | os.PathLike[str] | None
    local: ClassVar[bool] = True

    def start(self, limit: int | None) -> Executor:
        """An executor whose processes may use `limit` bytes; the caller closes it."""
        raise NotImplementedError

    @contextmanager
    def open(self, *, load: Callable[[], None] | None = None) -> Iterator[Executor]:
        """Open an executor; everything started for it is stopped at the end.

        A task that runs on a cluster releases its thread for other tasks meanwhile.

        ConfigError if a client is asynchronous, an address is malformed, or `scratch` is not a folder;
        ResourceError if the scheduler cannot be reached, worker processes cannot be started, or one of them
        has other versions (see ``distmom.cluster.executors.versions``).

        Parameters
        ----------
        load : callable, optional
            A function of a module that every worker process of a cluster calls once, in the background: it
            loads what the first unit would otherwise wait for.
        """
        limit, folder = parse_bytes(self.memory_limit), Scratch(self.scratch)
        with interrupts.deferred(), ExitStack() as ending:
            executor = self.start(limit)
            ending.callback(folder.close)
            ending.callback(executor.close)
            folder.shared, executor.scratch = executor.here, folder
            if load is not None:
                executor.prepare(load)
            if executor.far:
                ending.enter_context(connect.thread_left_to_units())
            yield executor

    def imagined(self) -> AbstractContextManager[Executor]:
        """An executor like that of a run, but only for planning: no process is started."""
        return self.open()

    def here(self) -> Backend:
        """The backend for data in memory, which is not sent to a cluster: threads of this process."""
        return Threads(usable_cpus(), self.memory_limit, self.scratch)


@dataclass(frozen=True)
class Threads(Backend):
    """Threads of this process.

    Parameters
    ----------
    n : int, optional
        Number of threads; by default one per processor.
    memory_limit : int or str, optional
        Bytes that the process may use, such as ``"2GB"``; a run that does not fit is refused before it reads
        anything.
    scratch : path, optional
        Folder for temporary files, if rows have to be sorted on disk.

    Examples
    --------
    >>> Threads(2, memory_limit="2GB")
    Threads(n=2, memory_limit='2GB', scratch=None)
    """

    n: int | None = None
    memory_limit: Bytes = None
    scratch: str | os.PathLike[str] | None = None

    def __post_init__(self) -> None:
        if self.n is not None:
            check_count("Threads: n", self.n)
        parse_bytes(self.memory_limit)

    def start(self, limit: int | None) -> Executor:
        """Threads; the pool starts with the first unit."""
        return ThreadExecutor(self.n, limit)

    def here(self) -> Backend:
        """Itself."""
        return self


@dataclass(frozen=True)
class Processes(Backend):
    """Worker processes of one thread on this machine, for the duration of a call.

    No ``if __name__ == "__main__"`` guard is needed.

    Parameters
    ----------
    n : int
        Number of processes.
    memory_limit : int or str, optional
        Bytes per process; the limit is enforced.
    scratch : path, optional
        As for `Threads`.

    Examples
    --------
    >>> Processes(2)
    Processes(n=2, memory_limit=None, scratch=None)
    """

    n: int
    memory_limit: Bytes = None
    scratch: str | os.PathLike[str] | None = None

    def __post_init__(self) -> None:
        check_count("Processes: n", self.n)
        parse_bytes(self.memory_limit)

    def start(self, limit: int | None) -> Executor:
        """New processes."""
        connect.refuse_while_importing_main()
        connect.refuse_after_fork()
        from distmom.cluster.executors.local import local_executor  # with asyncio: 50 ms

        return local_executor(self.n, limit)

    def imagined(self) -> AbstractContextManager[Executor]:
        """Plan with worker processes without starting them."""
        executor = ThreadExecutor(self.n, parse_bytes(self.memory_limit) or memory_bytes() // usable_cpus())
        executor.threads_per_process = 1
        executor.scratch = Scratch(self.scratch)
        return closing(executor)


@dataclass(frozen=True)
class Cluster(Backend):
    """A running Dask cluster.

    Parameters
    ----------
    scheduler : distributed.Client or str
        A client, which is left open; the address of a scheduler (``"tcp://10.0.0.1:8786"``); or the path of
        the file (``.json``) into which the scheduler writes its address.
    memory_limit : int or str, optional
        Bytes per process; by default the limit of the workers.
    scratch : path, optional
        Folder for temporary files that all workers can reach.

    Examples
    --------
    >>> Cluster("tcp://10.0.0.1:8786").scheduler
    'tcp://10.0.0.1:8786'
    """

    scheduler: Any
    memory_limit: Bytes = None
    scratch: str | os.PathLike[str] | None = None

    local: ClassVar[bool] = False

    def __post_init__(self) -> None:
        named = isinstance(self.scheduler, (str, os.PathLike))
        if not named and not hasattr(self.scheduler, "scheduler_info"):  # Dask itself is imported later
            raise ConfigError(
                "executor: must be Threads, Processes, Cluster, a Dask client or an address, "
                f"not {self.scheduler!r}"
            )
        parse_bytes(self.memory_limit)

    def start(self, limit: int | None) -> Executor:
        """The workers of the given client, or of our own; they report the available memory."""
        if isinstance(self.scheduler, (str, os.PathLike)):
            return connect.to_scheduler(os.fspath(self.scheduler))
        return connect.to_client(self.scheduler)


@dataclass(frozen=True)
class Anywhere(Backend):
    """The default without `executor`: the active Dask client if there is one, else threads.

    Inside a task of a Dask worker, that worker's share of threads.
    """

    memory_limit: Bytes = None
    scratch: str | os.PathLike[str] | None = None

    def __post_init__(self) -> None:
        parse_bytes(self.memory_limit)

    def start(self, limit: int | None) -> Executor:
        """Start the client's executor if there is one, else threads."""
        share = connect.share_of_worker()
        active = connect.active_client() if share is None else None
        if active is None:
            return ThreadExecutor(share, limit)
        return connect.to_client(active, connect.ACTIVE)


def as_backend(executor: Any) -> Backend:
    """The backend for a value of ``executor=``.

    ConfigError if it is neither None, a backend, an address, nor something that looks like a Dask client.

    Examples
    --------
    >>> as_backend("tcp://10.0.0.1:8786")
    Cluster(scheduler='tcp://10.0.0.1:8786', memory_limit=None, scratch=None)
    """
    if executor is None:
        return Anywhere()
    if isinstance(executor, Backend):
        return executor
    if isinstance(executor, type) and issubclass(executor, Backend):
        name = executor.__name__
        raise ConfigError(f"executor: {name} is a class; give an object, such as {name}(2)")
    if isinstance(executor, (bool, int, float)):
        raise ConfigError(
            f"executor: must be a backend, a client or an address, not {executor!r}; "
            "use Threads(n) or Processes(n)"
        )
    return Cluster(executor)
