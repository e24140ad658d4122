"""Clients: a given one, the active one, or our own for the scheduler at an address."""

from __future__ import annotations

import difflib
import logging
import multiprocessing
import os
import sys
import uuid
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from time import monotonic, sleep
from typing import TYPE_CHECKING, Any

from distmom.cluster.failures import one_line
from distmom.cluster.interrupts import interrupts
from distmom.errors import ConfigError, ResourceError
from distmom.stopping import EVERY

if TYPE_CHECKING:
    from distmom.cluster.executors.client import ClientExecutor

logger = logging.getLogger("distmom")

CONNECT_SECONDS = 10.0
GIVEN, ACTIVE = "executor: the client", "the active Dask client"


@contextmanager
def thread_left_to_units() -> Iterator[None]:
    """In a worker's task: release its thread, which may be the only one, while this task waits for others."""
    from distributed import get_worker, rejoin, secede

    with ExitStack() as stack:
        with suppress(ValueError, KeyError, AttributeError):  # no task; it left its thread; not in a thread
            get_worker()
            secede()
            stack.callback(rejoin)
        yield


def active_client() -> Any:
    """The current Dask client, if distributed was imported; importing it here would take 0.6 s.

    A client inherited by a fork does not count: its event loop was not copied.
    """
    with suppress(KeyError, AttributeError, ValueError):  # not imported, not completely, or no client
        client = sys.modules["distributed"].Client.current()
        if not _inherited(client):
            return client
        logger.info(
            "the active Dask client belongs to the parent of this forked process; threads are used instead"
        )
    return None


def share_of_worker() -> int | None:
    """Threads for each of the tasks that this Dask worker runs now; ``None`` outside of a task."""
    with suppress(KeyError, AttributeError, ValueError):
        state = sys.modules["distributed"].get_worker().state
        return max(1, int(state.nthreads) // max(1, len(state.executing)))
    return None


def to_client(client: Any, called: str = GIVEN) -> ClientExecutor:
    """An executor on a client that stays open; messages use the name `called`."""
    from distributed import Client

    from distmom.cluster.executors.client import ClientExecutor

    if not isinstance(client, Client):
        raise ConfigError(
            f"executor: expected a distributed.Client, not {type(client).__name__}; "
            "for an address use Cluster(address)"
        )
    if _inherited(client):
        raise ResourceError(
            f"{called} belongs to the parent of this forked process and cannot be used here; "
            "make a new client in this process, or use Threads"
        )
    refuse_after_fork()
    if client.asynchronous:
        raise ConfigError(
            f"{called} is asynchronous, so a call inside its event loop would deadlock; "
            "call from a thread (await asyncio.to_thread(...)), or use executor=Threads()"
        )
    if client.status != "running":
        raise ResourceError(
            f"{called} is not connected to a scheduler (status: {client.status}); "
            "make a new client, or use executor=Threads()"
        )
    return ClientExecutor(client)


def _inherited(client: Any) -> bool:
    """Whether a client was created before this process was forked: it would never get an answer.

    Dask stores the process number only in the client's name, whose UUID has 14 bits of it.
    """
    with suppress(ValueError):  # named in another way
        return uuid.UUID(client.id[-36:]).clock_seq != os.getpid() & 0x3FFF
    return False


def _local(word: str) -> str:
    """The end of the message about a word for threads or processes of this machine."""
    meant = {name.lower(): name for name in ("Threads", "Processes")}
    near = difflib.get_close_matches(word.lower(), meant, 1)
    return f"; did you mean {meant[near[0]]}()?" if near else ""


def to_scheduler(address: str) -> ClientExecutor:
    """An executor on a scheduler, given by its address or by the file (.json) with the address."""
    from distributed import Client

    from distmom.cluster.executors.client import ClientExecutor

    refuse_after_fork()
    if address.endswith(".json"):
        address = _address_in(address)
    if address.startswith("tls://"):
        _check_certificates()
    try:
        _check_address(address)
        client = Client(address, timeout=CONNECT_SECONDS, set_as_default=False)
    except OSError as error:
        raise ResourceError(
            f"scheduler: no Dask scheduler responded at {address} within {CONNECT_SECONDS:g} seconds; "
            "check the address, that the scheduler is running, and whether it needs tls:// and certificates"
        ) from error
    except (ValueError, TypeError) as error:
        raise ConfigError(
            f"scheduler: expected an address such as 'tcp://10.0.0.1:8786', "
            f"not {address!r} ({one_line(error)}){_local(address)}"
        ) from error
    try:
        return ClientExecutor(client, client.close)
    except BaseException:
        client.close()
        raise


def _check_address(address: str) -> None:
    """Raise ValueError for an unusable address: Dask would keep trying, and not close properly."""
    from distributed.comm.addressing import parse_address, parse_host_port
    from distributed.comm.registry import get_backend

    scheme, place = parse_address(address)
    get_backend(scheme)
    if scheme in ("tcp", "tls"):
        parse_host_port(place)


def _address_in(file: str) -> str:
    """The address in a scheduler file; the scheduler may only just be starting."""
    import json

    deadline = monotonic() + CONNECT_SECONDS
    while True:
        try:
            return str(json.loads(Path(file).read_text("utf-8"))["address"])
        except (OSError, ValueError, KeyError, TypeError) as error:
            if monotonic() > deadline:
                raise ResourceError(
                    f"scheduler: no scheduler wrote its address into {file} within {CONNECT_SECONDS:g} "
                    "seconds; check that it runs, and that its --scheduler-file is this one"
                ) from error
        interrupts.check()
        sleep(EVERY)


def _check_certificates() -> None:
    """Stop before creating a client without certificates: it could neither connect nor close quickly."""
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
        raise ConfigError(f"scheduler: tls:// needs certificates, but none are configured in Dask; {remedy}")


def refuse_after_fork() -> None:
    """Stop if Dask was used before this process was forked: its thread for large messages is dead.

    Dask would give it work and wait forever. Raises ResourceError.
    """
    from distributed import utils

    threads = getattr(getattr(utils, "_offload_executor", None), "_threads", ())
    if any(not thread.is_alive() for thread in threads):
        raise ResourceError(
            "executor: this process was forked from one that uses Dask, whose threads were not copied; "
            "use Threads, or start processes by 'spawn' or 'forkserver'"
        )


def refuse_while_importing_main() -> None:
    """Stop a script that is run a second time by a child process of another library."""
    if getattr(multiprocessing.current_process(), "_inheriting", False):
        raise ConfigError(
            "Processes: a process cannot start others while its main script is being imported; guard the "
            "calls of that script with  if __name__ == '__main__': main()"
        )
