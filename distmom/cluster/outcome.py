"""Objects passed between the runner and its executors: small, picklable, without any statistics."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Future
from concurrent.futures import wait as wait_for
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol

from distmom.cluster.plan import Unit
from distmom.cluster.scratch import Scratch
from distmom.memory import Check, allowed, watched

if TYPE_CHECKING:
    from distmom.cluster.account import Account
    from distmom.cluster.queue import UnitBatch


@dataclass(frozen=True, slots=True)
class UnitOutcome:
    """The result of one unit of work.

    Attributes
    ----------
    state : object
        The reduction's state of this unit, ``None`` if nothing was read; the `Merged` states of a batch.
    n_rows, n_bytes : int
        Rows and bytes read, used only for progress.
    skipped : tuple
        One small picklable record per skipped bad file.
    """

    state: Any
    n_rows: int = 0
    n_bytes: int = 0
    skipped: tuple[Any, ...] = ()


Work = Callable[[Any], UnitOutcome]
"""Takes a `Unit`; work given to executors takes a `UnitBatch` as well."""


@dataclass(frozen=True, slots=True)
class WithinMemory:
    """Work with the number of bytes its thread may hold, and the check to call; picklable if both are."""

    work: Work
    n_bytes: int
    check: Check | None = None

    @property
    def step(self) -> str:
        """The step that the work reports, for names of tasks."""
        return str(getattr(self.work, "step", "compute"))

    def __call__(self, task: Any) -> UnitOutcome:
        """The outcome."""
        with allowed(self.n_bytes), watched(self.check):
            return self.work(task)


Fate = Literal["done", "failed", "lost", "killed"]


@dataclass(frozen=True, slots=True)
class Finished:
    """A unit or batch that has come back.

    ``done`` with its ``outcome``; ``failed`` with the ``error`` that the work raised; ``lost`` if its worker
    or scheduler went away; ``killed`` if its workers died repeatedly.
    """

    unit: Unit | UnitBatch
    fate: Fate
    outcome: UnitOutcome | None = None
    error: BaseException | None = None


class Tasks:
    """Units of one run in progress on an executor, as futures of `Finished`."""

    def __init__(self) -> None:
        self._under_way: dict[Future[Finished], Unit | UnitBatch] = {}

    def ready(self) -> bool:
        """Whether `submit` would be accepted now; answers at once."""
        return True

    def submit(self, unit: Unit | UnitBatch, attempt: int) -> None:
        """Start ``unit``; ``attempt`` counts from 1."""
        raise NotImplementedError

    def wait(self, timeout: float) -> list[Finished]:
        """Units that finished, in plan order; waits up to ``timeout`` seconds for the first of them."""
        done, _ = wait_for(self._under_way, timeout, FIRST_COMPLETED)
        for future in done:
            del self._under_way[future]
        return sorted((future.result() for future in done), key=lambda finished: finished.unit.number)

    def trouble(self) -> str | None:
        """Why nothing can finish at present ("no workers"), or ``None``. Answers within seconds."""
        return None

    def cancel(self) -> None:
        """Cancel everything in flight; returns within seconds."""
        raise NotImplementedError


class Executor(Protocol):
    """Where units run: threads of this process, or a Dask cluster.

    Attributes
    ----------
    threads : int
        Units that run at the same time.
    threads_per_process : int
        Number of threads that share one process.
    memory : int
        Bytes available to the smallest process.
    far : bool
        Whether states are sent over a network: large states are then merged first.
    here : bool
        Whether all its processes are on this machine.
    scratch : Scratch
        Temporary files of its units.
    account : Account
        Memory held by this process, if the units run in it and a limit was set.
    """

    scratch: Scratch
    account: Account
    threads_per_process: int
    memory: int
    far: bool
    here: bool

    @property
    def threads(self) -> int: ...  # noqa: D102

    def prepare(self, load: Callable[[], None]) -> None:
        """Make each process call ``load``, a function of a module, before its first unit if it saves time."""

    def begin(self, work: Work) -> Tasks:
        """Start a run of ``work``; several runs may follow each other on one executor."""

    def close(self) -> None:
        """Stop what this executor started itself. Idempotent."""
