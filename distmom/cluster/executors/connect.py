"""From the caller's words (a client, an address, a number of workers, nothing) to an executor."""

from __future__ import annotations

import multiprocessing
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from pathlib import Path
from time import monotonic, sleep
from typing import TYPE_CHECKING, Any

from distmom.cluster.executors.threads import ThreadExecutor
from distmom.cluster.failures import one_line
from distmom.cluster.interrupts import EVERY, interrupts
from distmom.cluster.memory import parse_bytes
from distmom.cluster.outcome import Executor
from distmom.cluster.scratch import Scratch
from distmom.errors import ConfigError, ResourceError

if TYPE_CHECKING:
    from distmom.cluster.executors.client import ClientExecutor

CONNECT_SECONDS = 10.0


@contextmanager
def connect(
    client: Any = None,
    workers: int | None = None,
    scheduler: str | None = None,
    threads: int | None = None,
    memory_limit: str | int | None = None,
    *,
    load: Callable[[], None] | None = None,
    scratch: str | os.PathLike[str] | None = None,
    timeout: float = CONNECT_SECONDS,
) -> Iterator[Executor]:
    """Give an executor, and end at the end what was started for it.

    Parameters
    ----------
    client : distributed.Client, optional
        Use this client; it stays open.
    workers : int, optional
        Start this many worker processes of one thread on this machine, and end them again. Needs no
        ``if __name__ == "__main__"`` guard.
    scheduler : str, optional
        Address of a running scheduler, such as ``"tcp://10.0.0.1:8786"``, or the path of the file (.json)
        into which it writes its address.
    threads : int, optional
        Use this many threads of this process.
    memory_limit : int or str, optional
        Bytes for each process (``"400MB"``): enforced for ``workers``, projected for threads.
    load : callable, optional
        A function of a module that every worker process of a cluster calls once, in the background: it loads
        what the first unit would have to wait for.
    scratch : path, optional
        Folder for temporary files, which all workers see; see `Scratch`.
    timeout : float
        Seconds to wait for a connection.

    Yields
    ------
    Executor
        With none of the first four: the active Dask client if there is one, else threads; inside a task of a
        Dask worker, that worker's share of threads. A task that runs on a cluster leaves its thread to other
        tasks meanwhile.

    Raises
    ------
    ConfigError
        More than one of the four, a number below 1, an asynchronous client, or a malformed address;
        `scratch` is no folder.
    ResourceError
        The scheduler cannot be reached, worker processes cannot be started, or a scheduler or worker has
        other versions, see `distmom.cluster.executors.versions`.
    """
    given = {"client": client, "workers": workers, "scheduler": scheduler, "threads": threads}
    named = [name for name, value in given.items() if value is not None]
    if len(named) > 1:
        raise ConfigError(f"{' and '.join(named)} exclude each other; give one of them")
    for name in ("workers", "threads"):
        if given[name] is not None and (type(given[name]) is not int or given[name] < 1):
            raise ConfigError(f"{name}: must be a whole number of at least 1, not {given[name]!r}")
    limit, folder = parse_bytes(memory_limit), Scratch(scratch)
    with interrupts.deferred():
        executor = _open(client, workers, scheduler, threads, limit, timeout)
        try:
            folder.shared = executor.here
            executor.scratch = folder
            if load is not None:
                executor.prepare(load)
            with _thread_left_to_units() if executor.far else nullcontext():
                yield executor
        finally:
            try:
                executor.close()
            finally:
                executor.scratch.close()


def _open(
    client: Any,
    workers: int | None,
    scheduler: str | None,
    threads: int | None,
    limit: int | None,
    timeout: float,
) -> Executor:
    if client is not None:
        return _checked(client)
    if scheduler is not None:
        return _remote(scheduler, timeout)
    if workers is not None:
        _refuse_while_importing_main()
        from distmom.cluster.executors.local import local_executor  # with asyncio: 50 ms

        return local_executor(workers, limit)
    if threads is not None:
        return ThreadExecutor(threads, limit)
    share = _share_of_worker()
    if share is not None:
        return ThreadExecutor(share, limit)
    active = _active_client()
    return ThreadExecutor(None, limit) if active is None else _checked(active)


@contextmanager
def _thread_left_to_units() -> Iterator[None]:
    """In a task of a worker: its thread may be the only one there is, and this task waits for others."""
    from distributed import get_worker, rejoin, secede

    with ExitStack() as stack:
        with suppress(ValueError, KeyError, AttributeError):  # no task; it left its thread; not in a thread
            get_worker()
            secede()
            stack.callback(rejoin)
        yield


def _active_client() -> Any:
    """The current Dask client. Who has one has imported distributed; importing it here would cost 0.6 s."""
    distributed = sys.modules.get("distributed")
    if distributed is None or not hasattr(distributed, "Client"):
        return None
    try:
        return distributed.Client.current()
    except ValueError:
        return None


def _share_of_worker() -> int | None:
    """Threads for each of the tasks that this Dask worker runs now; ``None`` outside of a task."""
    distributed = sys.modules.get("distributed")
    if distributed is None or not hasattr(distributed, "get_worker"):
        return None
    try:
        state = distributed.get_worker().state
    except ValueError:
        return None
    return max(1, int(state.nthreads) // max(1, len(state.executing)))


def _checked(client: Any) -> ClientExecutor:
    from distributed import Client

    from distmom.cluster.executors.client import ClientExecutor

    if not isinstance(client, Client):
        raise ConfigError(
            f"client: expected a distributed.Client, not {type(client).__name__}; "
            "for an address use Cluster(address)"
        )
    if client.asynchronous:
        raise ConfigError("client: must be synchronous; make it without asynchronous=True")
    if client.status != "running":
        raise ResourceError(f"client: its connection to the scheduler is {client.status}; make a new client")
    return ClientExecutor(client)


def _remote(address: str, timeout: float) -> ClientExecutor:
    from distributed import Client

    from distmom.cluster.executors.client import ClientExecutor

    if address.endswith(".json"):
        address = _address_in(address, timeout)
    if address.startswith("tls://"):
        _check_certificates()
    try:
        client = Client(address, timeout=timeout, set_as_default=False)
    except OSError as error:
        raise ResourceError(
            f"scheduler: nobody who talks to us answered at {address} within {timeout:g} seconds; "
            "check the address, that its scheduler runs, and whether it wants tls:// and certificates"
        ) from error
    except (ValueError, TypeError) as error:
        raise ConfigError(
            f"scheduler: expected an address such as 'tcp://10.0.0.1:8786', "
            f"not {address!r} ({one_line(error)})"
        ) from error
    try:
        return ClientExecutor(client, client.close)
    except BaseException:
        client.close()
        raise


def _address_in(file: str, timeout: float) -> str:
    """The address in a scheduler file; the scheduler may only just be starting."""
    import json

    deadline = monotonic() + timeout
    while True:
        try:
            return str(json.loads(Path(file).read_text("utf-8"))["address"])
        except (OSError, ValueError, KeyError, TypeError) as error:
            if monotonic() > deadline:
                raise ResourceError(
                    f"scheduler: no scheduler wrote its address into {file} within {timeout:g} seconds; "
                    "check that it runs, and that its --scheduler-file is this one"
                ) from error
        interrupts.check()
        sleep(EVERY)


def _check_certificates() -> None:
    """Stop before a client is made that has no certificates: it could neither connect nor close quickly."""
    from distributed.security import Security

    remedy = "set DASK_CONFIG to the folder of the cluster's certificates and distributed.yaml"
    try:
        context = Security().get_connection_args("client").get("ssl_context")
    except (OSError, ValueError) as error:
        reason = one_line(error)
        raise ConfigError(
            f"scheduler: the certificates for tls:// cannot be used ({reason}); {remedy}"
        ) from error
    if context is None:
        raise ConfigError(f"scheduler: tls:// needs certificates, and Dask is told of none; {remedy}")


def _refuse_while_importing_main() -> None:
    """Stop a script that a child process of somebody else's making runs a second time."""
    if getattr(multiprocessing.current_process(), "_inheriting", False):
        raise ConfigError(
            "workers: a process that is just starting cannot start workers; the script that is imported here "
            "needs a guard around its calls:  if __name__ == '__main__': main()"
        )
