"""Units on a Dask cluster, through a ``distributed.Client``."""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import Callable
from concurrent.futures import CancelledError, Future
from contextlib import suppress
from time import monotonic
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

from distmom.cluster.account import Account
from distmom.cluster.executors.parcel import Parcel, packed
from distmom.cluster.executors.versions import compare_versions, decisive_here, refuse_others
from distmom.cluster.failures import one_line
from distmom.cluster.memory import memory_bytes
from distmom.cluster.names import task_name
from distmom.cluster.outcome import Finished, Tasks, UnitOutcome, Work
from distmom.cluster.plan import Unit
from distmom.cluster.queue import UnitBatch
from distmom.cluster.scratch import Scratch
from distmom.errors import ConfigError, DistmomError
from distmom.stopping import stoppable

if TYPE_CHECKING:
    from distributed import Client

logger = logging.getLogger("distmom")

Load = Callable[[], None]

PROBE = 5.0  # seconds the scheduler has to answer a question about itself
PATIENCE = 5.0  # seconds a finished result may take to arrive, doubled with every attempt
SILENCE = 300.0  # seconds without a heartbeat of any worker; Dask gives up a worker after this time
SOME_WORKERS = 100  # whose heartbeats are looked at
UNNOTICED = 30.0  # seconds for which Dask may not notice a disconnected worker
LOOPBACK = ("tcp://127.0.0.1:", "tls://127.0.0.1:", "tcp://[::1]:", "tls://[::1]:", "inproc://")
FRESH = 5.0  # seconds for which the number of threads is cached

_prepared: WeakSet[Client] = WeakSet()


class ClientTasks(Tasks):
    """Units of one run on a cluster."""

    def __init__(self, executor: ClientExecutor, work: Work) -> None:
        super().__init__()
        self._executor = executor
        self._client = executor.client
        self._loop = executor.client.loop.asyncio_loop
        # Keys number runs and units: a path in a key could carry credentials to a dashboard.
        self._name = f"{task_name(work)}-0x{uuid.uuid4().hex[:12]}"
        self._remote: dict[int, Any] = {}
        try:
            self._work = packed(work)
        except Exception as error:
            raise ConfigError(
                f"the work cannot be sent to workers ({one_line(error)}); "
                "define its functions where they can be pickled, or run on threads"
            ) from error
        self._scattered = self._work.large  # sent to the workers once, not with every task
        self._held: Any = None
        self._seen: dict[str, float] = {}
        self._seen_at = monotonic()
        self._scatter_from = 0.0

    def ready(self) -> bool:
        """Whether the client is connected to its scheduler."""
        return bool(self._client.status == "running")

    def submit(self, unit: Unit | UnitBatch, attempt: int) -> None:
        """Send ``unit`` to the scheduler."""
        collected: Future[Finished]
        try:
            key = f"{self._name}-{unit.number}-{attempt}"
            remote = self._client.submit(_call, decisive_here(), self._sent_work(), unit, key=key, pure=False)
        except OSError as error:  # closed or lost just now, or no worker to scatter to
            collected = Future()
            collected.set_result(Finished(unit, "lost", error=error))
        else:
            self._remote[unit.number] = remote
            collected = asyncio.run_coroutine_threadsafe(self._collect(remote, unit, attempt), self._loop)
        self._under_way[collected] = unit

    def _sent_work(self) -> Any:
        """The work or, if it is large, a future of it, which workers copy from each other.

        Scattering it to all of them would hang, like the scheduler, if one was just disconnected.
        """
        held = self._held
        if not self._scattered or (held is not None and held.status in ("finished", "pending")):
            return held if self._scattered else self._work
        self._held = None  # gone with its workers
        if monotonic() < self._scatter_from or not (self._executor.ask() or {}).get("n_workers"):
            return self._work  # no worker yet, and an adaptive cluster grows only for tasks

        async def scatter() -> Any:
            sending = self._client.scatter(self._work, hash=False, timeout=PROBE, asynchronous=True)
            return await asyncio.wait_for(sending, PROBE)

        try:
            self._held = asyncio.run_coroutine_threadsafe(scatter(), self._loop).result()
        except Exception:  # the worker does not answer: send it with each task until Dask notices
            self._scatter_from = monotonic() + UNNOTICED
            return self._work
        return self._held

    async def _collect(self, remote: Any, unit: Unit | UnitBatch, attempt: int) -> Finished:
        """Fetch a result on the client's own event loop, while the caller's thread merges others."""
        from distributed.scheduler import KilledWorker

        gathering = asyncio.ensure_future(self._client.gather([remote], asynchronous=True))
        patience = PATIENCE * 2 ** (attempt - 1)
        try:
            while not gathering.done():
                was_there = remote.status == "finished"
                await asyncio.wait({gathering}, timeout=patience)
                if was_there and remote.status == "finished" and not gathering.done():
                    # The scheduler tries for half a minute to reach a worker that died with its results:
                    # computing them again is faster. Not cancelled, as Dask fetches several together.
                    gathering.add_done_callback(lambda late: late.cancelled() or late.exception())
                    await self._client.cancel([remote], asynchronous=True)
                    return Finished(unit, "lost")
            [outcome] = gathering.result()
        except KilledWorker as error:
            return Finished(unit, "killed", error=error)
        except CancelledError as error:  # Dask's term for work lost with a worker or scheduler
            return Finished(unit, "lost", error=error)
        except Exception as error:
            # Only a future in error carries an exception of the work; others come from the connection.
            return Finished(unit, "failed" if remote.status == "error" else "lost", error=error)
        finally:
            self._remote.pop(unit.number, None)
        if isinstance(outcome, Exception):
            return Finished(unit, "failed", error=outcome)
        return Finished(unit, "done", outcome)

    def trouble(self) -> str | None:
        """Why nothing can finish at present."""
        if not self.ready():
            return "the connection to its scheduler is lost"
        info = self._executor.ask(n_workers=SOME_WORKERS)
        if info is None:
            return "its scheduler does not answer"
        if not info["n_workers"]:
            return "it has no workers"
        # Dask's timers follow the clock: if it was set back by days, heartbeats stop for days
        seen = {address: worker["last_seen"] for address, worker in info["workers"].items()}
        if seen != self._seen:
            self._seen, self._seen_at = seen, monotonic()
        return "its workers are silent" if monotonic() - self._seen_at > SILENCE else None

    def cancel(self) -> None:
        """Cancel what is queued; running units end at their next `check_stopped`."""
        remote = list(self._remote.values())
        self._under_way.clear()
        self._held = None
        if not remote or not self.ready():
            return

        async def give_up() -> None:
            await self._client.cancel(remote, asynchronous=True)

        with suppress(Exception):  # the error or interrupt that brought us here matters more
            asyncio.run_coroutine_threadsafe(give_up(), self._loop).result(PROBE)


class ClientExecutor:
    """The workers of a ``distributed.Client``, which return large states merged.

    Parameters
    ----------
    client : distributed.Client
        Synchronous and connected.
    on_close : callable, optional
        Stops what was started for this executor; a client given by the caller stays open.
    """

    far = True

    def __init__(self, client: Client, on_close: Callable[[], None] | None = None) -> None:
        self.client = client
        self._on_close = on_close
        self.scratch = Scratch()
        self.account = Account(None)  # workers enforce their limits themselves
        self._preparing: Future[None] | None = None
        self._asked = float("-inf")
        self._threads = 1
        found = (self.ask(n_workers=-1) or {}).get("workers") or {}
        compare_versions(client, found)
        workers = found.values()
        limits = [worker["memory_limit"] for worker in workers if worker["memory_limit"]]
        self.memory: int = min(limits, default=memory_bytes())
        self.here = bool(found) and all(address.startswith(LOOPBACK) for address in found)
        self.threads_per_process: int = max((worker["nthreads"] for worker in workers), default=1)

    @property
    def threads(self) -> int:
        """Threads of all workers, at least one; refreshed every few seconds: clusters grow and shrink."""
        if monotonic() - self._asked > FRESH and self.client.status == "running":
            self.ask()
        return self._threads

    def ask(self, n_workers: int = 0) -> dict[str, Any] | None:
        """The scheduler's report on the cluster; ``None`` if it does not answer within seconds."""
        self._asked = monotonic()
        try:
            identity = self.client.scheduler.identity
            info: dict[str, Any] = self.client.sync(identity, n_workers=n_workers, callback_timeout=PROBE)
        except (OSError, AttributeError):  # a closed client has no scheduler
            return None
        self._threads = max(1, info["total_threads"])  # workers may be on their way
        return info

    def prepare(self, load: Load) -> None:
        """Make the workers call ``load`` in the background, once per client; units may run meanwhile.

        No plugin is used: it would stay on other people's schedulers, and a worker that joins later without
        this package could not start. Failures appear in the units, if they matter there.
        """
        if self.client in _prepared:
            return
        _prepared.add(self.client)

        async def everywhere() -> None:
            with suppress(Exception):  # workers may leave at any time
                await self.client.run(_load_here, load, wait=False, on_error="ignore")

        self._preparing = asyncio.run_coroutine_threadsafe(everywhere(), self.client.loop.asyncio_loop)

    def begin(self, work: Work) -> ClientTasks:
        """Start a run of ``work``."""
        return ClientTasks(self, work)

    def close(self) -> None:
        """End the cluster and client, if they were started for this executor."""
        if self._preparing is not None:
            self._preparing.cancel()
        on_close, self._on_close = self._on_close, None
        if on_close is not None:
            on_close()


async def _load_here(load: Load) -> None:
    """Run on a worker, alongside its event loop and units."""
    try:
        await asyncio.to_thread(load)
    except Exception:
        logger.debug("kernels could not be loaded beforehand", exc_info=True)


EXPECTED = (DistmomError, OSError, MemoryError)
"""Failures explained in one line. They are returned: a worker logs a traceback of what is raised."""


def _call(versions: tuple[str, ...], work: Parcel, unit: Unit | UnitBatch) -> UnitOutcome | Exception:
    """Run on a worker."""
    try:
        refuse_others(versions)
        with stoppable(_revoked()):
            return work.open()(unit)
    except EXPECTED as error:
        return error.with_traceback(None)


def _revoked() -> Callable[[], bool]:
    """A check whether a running task was cancelled: Dask cannot stop its thread, but forgets the task."""
    from distributed import get_worker

    worker = get_worker()
    key = worker.get_current_task()
    return lambda: (task := worker.state.tasks.get(key)) is None or task.state == "cancelled"
