"""Where a call runs, as its caller says it: threads, processes of this machine, or a Dask cluster."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from distmom.checks import check_count
from distmom.cluster.executors.connect import connect
from distmom.cluster.executors.machine import memory_bytes, usable_cpus
from distmom.cluster.executors.threads import ThreadExecutor
from distmom.cluster.memory import parse_bytes
from distmom.cluster.scratch import Scratch
from distmom.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable

    from distmom.cluster.outcome import Executor

Bytes = int | str | None


class Place:
    """What all places share; see `Threads`, `Processes` and `Cluster`."""

    memory_limit: Bytes
    scratch: str | os.PathLike[str] | None
    local: ClassVar[bool] = True

    def _arguments(self) -> dict[str, Any]:
        """Those of `connect` that say where."""
        raise NotImplementedError

    @contextmanager
    def open(self, *, load: Callable[[], None] | None = None) -> Iterator[Executor]:
        """An executor there; what was started for it is ended at the end.

        Parameters
        ----------
        load : callable, optional
            As for `connect`.
        """
        with connect(
            **self._arguments(), memory_limit=self.memory_limit, load=load, scratch=self.scratch
        ) as executor:
            yield executor

    @contextmanager
    def imagined(self) -> Iterator[Executor]:
        """An executor as a run would have it, for who only wants to know the plan: no process is started."""
        with self.open() as executor:
            yield executor

    def here(self) -> Place:
        """The same for data in memory, which is not sent to a cluster: threads of this process."""
        return Threads(usable_cpus(), self.memory_limit, self.scratch)


@dataclass(frozen=True)
class Threads(Place):
    """Threads of this process.

    Parameters
    ----------
    n : int, optional
        Number of threads; by default one for each processor.
    memory_limit : int or str, optional
        Bytes that the process may use, such as ``"2GB"``; a run that cannot fit is refused before it reads.
    scratch : path, optional
        Folder for temporary files, where rows have to be sorted on disk.

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

    def _arguments(self) -> dict[str, Any]:
        return {"threads": self.n or usable_cpus()}

    def here(self) -> Place:
        """Itself."""
        return self


@dataclass(frozen=True)
class Processes(Place):
    """Worker processes of one thread on this machine, for the duration of a call.

    No ``if __name__ == "__main__"`` guard is needed.

    Parameters
    ----------
    n : int
        Number of processes.
    memory_limit : int or str, optional
        Bytes for each of them, which are enforced.
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

    def _arguments(self) -> dict[str, Any]:
        return {"workers": self.n}

    @contextmanager
    def imagined(self) -> Iterator[Executor]:
        """Worker processes are imagined, not started."""
        executor = ThreadExecutor(self.n, parse_bytes(self.memory_limit) or memory_bytes() // usable_cpus())
        executor.threads_per_process = 1
        executor.scratch = Scratch(self.scratch)
        try:
            yield executor
        finally:
            executor.close()


@dataclass(frozen=True)
class Cluster(Place):
    """A Dask cluster that is running.

    Parameters
    ----------
    scheduler : distributed.Client or str
        A client, which stays open; the address of a scheduler (``"tcp://10.0.0.1:8786"``); or the path of the
        file (``.json``) into which the scheduler writes its address.
    memory_limit : int or str, optional
        Bytes for each process; by default what the workers say.
    scratch : path, optional
        Folder for temporary files, which all workers see.

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

    def _arguments(self) -> dict[str, Any]:
        named = isinstance(self.scheduler, (str, os.PathLike))
        return {"scheduler": os.fspath(self.scheduler)} if named else {"client": self.scheduler}


@dataclass(frozen=True)
class Anywhere(Place):
    """What no `executor` means: the active Dask client if there is one, else threads."""

    memory_limit: Bytes = None
    scratch: str | os.PathLike[str] | None = None

    def __post_init__(self) -> None:
        parse_bytes(self.memory_limit)

    def _arguments(self) -> dict[str, Any]:
        return {}


def as_place(executor: Any) -> Place:
    """The place that a value of ``executor=`` means.

    Raises
    ------
    ConfigError
        If it is neither None, a place, an address, nor something that looks like a Dask client.

    Examples
    --------
    >>> as_place("tcp://10.0.0.1:8786")
    Cluster(scheduler='tcp://10.0.0.1:8786', memory_limit=None, scratch=None)
    """
    if executor is None:
        return Anywhere()
    if isinstance(executor, Place):
        return executor
    if isinstance(executor, type) and issubclass(executor, Place):
        name = executor.__name__
        raise ConfigError(f"executor: {name} is a class; give an object, such as {name}(2)")
    if isinstance(executor, (bool, int, float)):
        raise ConfigError(
            f"executor: must be a place, a client or an address, not {executor!r}; "
            "use Threads(n) or Processes(n)"
        )
    return Cluster(executor)
