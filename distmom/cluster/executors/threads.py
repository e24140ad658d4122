"""Units on threads of this process: nothing to set up, nothing to clean up."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from traceback import clear_frames

from distmom.cluster.account import Account
from distmom.cluster.memory import memory_bytes, usable_cpus
from distmom.cluster.outcome import Finished, Tasks, Work
from distmom.cluster.plan import Unit
from distmom.cluster.queue import UnitBatch
from distmom.cluster.scratch import Scratch
from distmom.errors import DistmomError
from distmom.stopping import Stopped, check_stopped, stoppable


class ThreadTasks(Tasks):
    """Units of one run on a pool of threads."""

    def __init__(self, pool: ThreadPoolExecutor, work: Work) -> None:
        super().__init__()
        self._pool = pool
        self._work = work
        self._stop = threading.Event()

    def submit(self, unit: Unit | UnitBatch, attempt: int) -> None:
        """Queue ``unit``."""
        self._under_way[self._pool.submit(self._run, unit)] = unit

    def _run(self, unit: Unit | UnitBatch) -> Finished:
        try:
            with stoppable(self._stop.is_set):
                check_stopped()
                return Finished(unit, "done", self._work(unit))
        except Stopped:
            return Finished(unit, "lost")
        except DistmomError as error:  # the run is over: nothing more starts, and the error holds nothing
            self._stop.set()
            clear_frames(error.__traceback__)
            return Finished(unit, "failed", error=error)
        except BaseException as error:  # passed to the waiting thread
            return Finished(unit, "failed", error=error)

    def cancel(self) -> None:
        """Drop what is queued; running units end at their next `check_stopped`."""
        self._stop.set()
        for future in self._under_way:
            future.cancel()
        self._under_way.clear()


class ThreadExecutor:
    """Threads of this process.

    Parameters
    ----------
    threads : int, optional
        Default: the number of processors this process may use.
    memory : int, optional
        Bytes; default: the memory of the machine or container.
    """

    far = False
    here = True

    def __init__(self, threads: int | None = None, memory: int | None = None) -> None:
        self.threads = threads or usable_cpus()
        self.threads_per_process = self.threads
        self.memory = memory or memory_bytes()
        self.account = Account(memory)
        self.scratch = Scratch()
        self._pool: ThreadPoolExecutor | None = None

    def prepare(self, load: Callable[[], None]) -> None:
        """Do nothing: the first unit loads what it needs, once for all threads."""

    def begin(self, work: Work) -> ThreadTasks:
        """Start a run of ``work``."""
        if self._pool is None:
            self._pool = ThreadPoolExecutor(self.threads, thread_name_prefix="distmom")
        return ThreadTasks(self._pool, work)

    def close(self) -> None:
        """End the threads, once their current units are done."""
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)
            self._pool = None
