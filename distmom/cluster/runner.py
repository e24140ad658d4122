"""The runner: units in, one merged state out, independent of statistics and clusters."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import monotonic, sleep
from typing import Any, Protocol

from distmom.cluster.failures import explain, is_transient, killed, lost, stuck
from distmom.cluster.interrupts import interrupts
from distmom.cluster.memory import thread_memory
from distmom.cluster.merge import UnitMerger
from distmom.cluster.outcome import Executor, Finished, Tasks, UnitOutcome, WithinMemory, Work
from distmom.cluster.plan import Unit
from distmom.cluster.queue import LARGE_STATE, BatchWork, UnitBatch, UnitQueue, batch_size, state_bytes
from distmom.errors import DistmomError
from distmom.stopping import EVERY

logger = logging.getLogger("distmom")

UNITS_PER_THREAD = 4  # in flight: enough to hide a cluster's latency, few enough to bound memory
FEW_FOR_EACH = 2  # in flight per thread, if states are large
FIRST_PAUSE = 0.2  # seconds before the first further attempt; doubled with each one
MERGING_SHARE = 4  # 1 / this share of a worker's memory may be used to merge the states of a batch
POLL = 1.0  # seconds without a result after which the cluster is checked


class Progress(Protocol):
    """Receives the progress of a run."""

    def begin(self, n_units: int, n_bytes: int) -> None: ...  # noqa: D102
    def advance(self, n_rows: int, n_bytes: int) -> None: ...  # noqa: D102
    def end(self) -> None: ...  # noqa: D102


@dataclass(frozen=True, slots=True)
class RunResult:
    """The return value of `run_units`.

    Attributes
    ----------
    state : object
        All units' states, merged in the canonical order; ``None`` if nothing was read.
    skipped : tuple
        Records of skipped bad files, in listing order, each once.
    n_rows, n_bytes : int
        Rows and bytes read.
    n_retries : int
        Attempts beyond the first.
    """

    state: Any
    skipped: tuple[Any, ...] = ()
    n_rows: int = 0
    n_bytes: int = 0
    n_retries: int = 0


def run_units(
    work: Work,
    units: Sequence[Unit],
    merge: Callable[[Any, Any], Any],
    executor: Executor,
    *,
    retries: int = 3,
    window: int | None = None,
    patience: float = 60.0,
    progress: Progress | None = None,
    on_outcome: Callable[[Unit | UnitBatch, UnitOutcome], None] | None = None,
    merger: UnitMerger[Any] | None = None,
    pause: float = FIRST_PAUSE,
    grows: bool = False,
) -> RunResult:
    """Run ``work`` on every unit and merge the states in the canonical order.

    DistmomError as raised by ``work``; ResourceError, with the unit's files, if a unit kills its workers even
    when it runs alone, or is lost or cannot be read after all retries; or if the cluster did not respond for
    ``patience`` seconds.

    Parameters
    ----------
    work : callable
        ``work(unit) -> UnitOutcome``; picklable. Called again for a unit whose worker was lost or whose
        reading failed, so it must depend only on its argument.
    units : sequence of Unit
        All units of a listing, from `plan_units`.
    merge : callable
        ``merge(left, right) -> state``; picklable.
    executor : Executor
        Where the units run.
    retries : int
        Further attempts for a unit after an OSError (except a wrong path or permission) or a lost worker,
        after pauses of ``pause`` seconds, doubled each time, with jitter.
    window : int, optional
        Units in flight; default 4 for each of the executor's threads.
    patience : float
        Seconds to wait for a cluster without workers or without a scheduler.
    progress : Progress, optional
        Called for every finished unit.
    on_outcome : callable, optional
        ``on_outcome(unit, outcome)`` in order of arrival, in this thread, once the outcome is merged. If
        large states are merged on workers, the arguments are a `UnitBatch` and its `Merged` states.
    merger : UnitMerger, optional
        Merges the states; it may contain some already, and the units are then the rest.
    grows : bool
        States may be large, which is known only from the data. Then at most one unit per thread is in flight
        until the first state has arrived, and at most two if states are large.

    Returns
    -------
    RunResult
        Bit-for-bit identical for every executor, window, cut into units and order of arrival.

    Notes
    -----
    The first error cancels all units in flight, and so does KeyboardInterrupt. A unit whose workers died too
    often is run once more by itself, because a scheduler also blames innocent neighbours.

    States of more than 1 MB are usually not sent one by one from a cluster: up to 16 units are sent together,
    and come back as one state. This process then holds about as many states as units run and, for each of
    them, one state per bit of the number of units, whatever that number is.
    """
    if merger is None:
        merger = UnitMerger(max((u.first_file + len(u.files) for u in units), default=0), merge)
    run = _Run(units, merger, executor, progress, on_outcome, retries, window, patience, pause, grows)
    bounded = WithinMemory(work, thread_memory(executor, len(units)), executor.account.look)
    tasks = executor.begin(BatchWork(bounded, merge, merger.n_files) if executor.far else bounded)
    if progress is not None:
        progress.begin(len(units), sum(unit.n_bytes for unit in units))
    try:
        return run.drive(tasks)
    except BaseException:
        tasks.cancel()
        raise
    finally:
        if progress is not None:
            progress.end()


@dataclass
class _Run:
    """State of one call of `run_units`."""

    units: Sequence[Unit]
    merger: UnitMerger[Any]
    executor: Executor
    progress: Progress | None
    on_outcome: Callable[[Unit | UnitBatch, UnitOutcome], None] | None
    retries: int
    window: int | None
    patience: float
    pause: float
    grows: bool

    def __post_init__(self) -> None:
        self.queue = UnitQueue(self.units, self.pause)
        self.skipped: dict[int, tuple[Any, ...]] = {}
        self.n_done = self.n_in_flight = self.n_rows = self.n_bytes = self.largest = 0
        self.poll = min(POLL, max(0.01, self.patience / 4))
        self.asked = monotonic()
        self.troubled_since: float | None = None

    def drive(self, tasks: Tasks) -> RunResult:
        """Submit, wait and settle until every unit is done."""
        while self.n_done < len(self.units):
            interrupts.check()
            self.submit(tasks)
            timeout = min(self.poll, EVERY, self.queue.until_due(monotonic()))
            if self.n_in_flight:
                finished = tasks.wait(timeout)
            else:  # all remaining units wait for a retry, or the cluster is away
                sleep(max(timeout, 0.001))
                finished = []
            for one in finished:
                self.settle(one)
            self.look_after(tasks, finished)
        records = (record for number in sorted(self.skipped) for record in self.skipped[number])
        return RunResult(
            self.merger.result(), tuple(dict.fromkeys(records)), self.n_rows, self.n_bytes, self.queue.n_again
        )

    def submit(self, tasks: Tasks) -> None:
        """Fill the window."""
        threads = self.executor.threads
        window = self.window or UNITS_PER_THREAD * threads
        if self.grows and (self.largest > LARGE_STATE or not self.n_done):
            window = min(window, FEW_FOR_EACH * threads if self.n_done else threads)
        while tasks.ready():
            unit = self.queue.take(monotonic(), self.n_in_flight, window, self.together(threads))
            if unit is None:
                return
            self.n_in_flight += 1
            tasks.submit(unit, self.queue.attempts[unit.number])

    def together(self, threads: int) -> int:
        """Units to send as one task."""
        if not self.executor.far or self.largest <= LARGE_STATE:
            return 1
        memory = self.executor.memory // (MERGING_SHARE * self.executor.threads_per_process)
        return batch_size(self.queue.n_fresh, threads, self.largest, memory)

    def settle(self, one: Finished) -> None:
        """Keep a result, or decide between another attempt and an error."""
        self.n_in_flight -= 1
        if isinstance(one.unit, UnitBatch) and one.fate in ("killed", "failed"):
            self.take_apart(one, one.unit)
            return
        unit, tries = one.unit, self.queue.attempts[one.unit.number]
        if one.outcome is not None:
            self.queue.release(unit)
            self.keep(unit, one.outcome)
        elif one.fate == "killed" and isinstance(unit, Unit):
            if self.queue.alone is unit:
                raise killed(unit) from one.error
            self.queue.suspect(unit)
        elif one.fate == "lost" or (one.error is not None and is_transient(one.error)):
            if tries <= self.retries:
                logger.info("%s: attempt %d of %d failed", unit.name, tries, self.retries + 1)
                self.queue.retry(unit, monotonic())
            elif one.error is None or one.fate == "lost":
                raise lost(unit, tries) from one.error
            else:
                raise explain(one.error, unit, tries) from one.error
        else:
            error = one.error or RuntimeError("the task returned nothing")
            if isinstance(error, DistmomError):
                raise error
            raise explain(error, unit, tries) from error

    def take_apart(self, one: Finished, batch: UnitBatch) -> None:
        """Find out which of a batch's units is to blame: each is sent again by itself."""
        if isinstance(one.error, DistmomError):  # names its file already
            raise one.error
        for unit in batch.units:
            if one.fate == "killed":
                self.queue.suspect(unit)
            else:
                self.queue.retry(unit, monotonic())

    def keep(self, unit: Unit | UnitBatch, outcome: UnitOutcome) -> None:
        """Merge an outcome and report it."""
        if isinstance(unit, UnitBatch):
            self.n_done += len(unit.units)
            self.merger.add(outcome.state)
            self.largest = max(self.largest, *map(state_bytes, outcome.state.states), 0)
        else:
            self.n_done += 1
            self.merger.push(unit, outcome.state, skipped=bool(outcome.skipped))
            self.largest = max(self.largest, state_bytes(outcome.state))
        self.n_rows += outcome.n_rows
        self.n_bytes += outcome.n_bytes
        self.executor.account.check()
        if outcome.skipped:
            self.skipped[unit.number] = outcome.skipped
        if self.on_outcome is not None:
            self.on_outcome(unit, outcome)
        if self.progress is not None:
            self.progress.advance(outcome.n_rows, unit.n_bytes)

    def look_after(self, tasks: Tasks, finished: list[Finished]) -> None:
        """Check the cluster if no results come back, and give up once it has been away too long."""
        now = monotonic()
        if any(one.fate in ("done", "failed") for one in finished):
            self.asked, self.troubled_since = now, None
        elif now - self.asked >= self.poll:
            trouble = tasks.trouble()
            self.asked = now = monotonic()
            if self.progress is not None:
                self.progress.advance(0, 0)
            if trouble is None:
                self.troubled_since = None
            elif self.troubled_since is None:
                logger.warning("waiting for the cluster: %s", trouble)
                self.troubled_since = now
            elif now - self.troubled_since >= self.patience:
                raise stuck(trouble, self.patience)
