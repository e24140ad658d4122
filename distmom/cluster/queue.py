"""Which unit is sent next: fresh ones in plan order, failed ones after a pause, suspects alone."""

from __future__ import annotations

import heapq
import random
from collections import Counter, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from distmom.cluster.merge import UnitMerger
from distmom.cluster.outcome import UnitOutcome, Work
from distmom.cluster.plan import Unit
from distmom.errors import AccessError


class UnitQueue:
    """Units not yet done and not in flight.

    Parameters
    ----------
    units : sequence of Unit
        Numbered differently.
    pause : float
        Seconds before a unit's second attempt; doubled with each further one, times a random factor in
        [0.5, 1.5), so that units that failed together are not retried together.

    Attributes
    ----------
    attempts : Counter
        How often each number was handed out; a batch has the number of its first unit.
    n_again : int
        Units handed out again, each time counted.
    alone : Unit or None
        The suspect that is in flight by itself.
    """

    def __init__(self, units: Sequence[Unit], pause: float) -> None:
        self._fresh = deque(units)
        self._again: list[tuple[float, int, Unit | UnitBatch]] = []  # heap of (due time, number, unit)
        self._suspects: deque[Unit] = deque()
        self._pause = pause
        self._chance = random.Random()  # affects when a unit runs, never its result
        self.attempts: Counter[int] = Counter()
        self.n_again = 0
        self.alone: Unit | None = None

    @property
    def n_fresh(self) -> int:
        """Units that were never handed out."""
        return len(self._fresh)

    def take(self, now: float, n_in_flight: int, window: int, most: int = 1) -> Unit | UnitBatch | None:
        """The unit to start now, if any, or a batch of at most `most` fresh ones."""
        unit: Unit | UnitBatch | None = None
        if self._suspects or self.alone:
            if n_in_flight == 0 and self._suspects:
                unit = self.alone = self._suspects.popleft()
        elif n_in_flight < window:
            if self._again and self._again[0][0] <= now:
                unit = heapq.heappop(self._again)[2]
            elif self._fresh:
                n = best_cut(tuple(islice(self._fresh, most))) if most > 1 else 1
                units = tuple(self._fresh.popleft() for _ in range(n))
                unit = UnitBatch(units) if n > 1 else units[0]
        if unit is not None:
            self.attempts[unit.number] += 1
        return unit

    def retry(self, unit: Unit | UnitBatch, now: float) -> None:
        """Give ``unit`` another attempt after its pause."""
        self.n_again += len(unit.units) if isinstance(unit, UnitBatch) else 1
        tries = self.attempts[unit.number]
        due = now + self._pause * 2 ** (tries - 1) * (0.5 + self._chance.random())
        heapq.heappush(self._again, (due, unit.number, unit))
        self.release(unit)

    def suspect(self, unit: Unit) -> None:
        """Run ``unit`` once more by itself: a neighbour may have killed its workers."""
        self.n_again += 1
        self._suspects.append(unit)

    def release(self, unit: Unit | UnitBatch) -> None:
        """Note that ``unit`` is no longer in flight."""
        if self.alone is unit:
            self.alone = None

    def until_due(self, now: float) -> float:
        """Seconds until the next retry may start; infinity without one."""
        return max(0.0, self._again[0][0] - now) if self._again else float("inf")


LARGE_STATE = 1_000_000
"""Bytes above which states are merged on workers."""

MOST_UNITS = 16
"""Most units of a batch, so that a lost worker costs only a few seconds of work."""


@dataclass(frozen=True, slots=True)
class UnitBatch:
    """Consecutive units of a plan. It has the number of its first unit."""

    units: tuple[Unit, ...]

    @property
    def number(self) -> int:
        """Position in the plan of the first unit."""
        return self.units[0].number

    @property
    def name(self) -> str:
        """The batch's name in messages."""
        return f"{self.units[0].name} to {self.units[-1].name}"

    @property
    def n_bytes(self) -> int:
        """Estimated bytes read."""
        return sum(unit.n_bytes for unit in self.units)


@dataclass(frozen=True)
class BatchWork:
    """The work of units or batches; picklable if its parts are.

    Attributes
    ----------
    work : callable
        The work of a unit.
    merge : callable
        ``merge(left, right) -> state``.
    n_files : int
        Files of the whole listing.
    """

    work: Work
    merge: Callable[[Any, Any], Any]
    n_files: int

    @property
    def step(self) -> str:
        """The step of a unit's work."""
        return getattr(self.work, "step", "compute")

    def __call__(self, task: Unit | UnitBatch) -> UnitOutcome:
        """The outcome of a unit, or of all units of a batch with their merged states, a `Merged`."""
        try:
            return self._run(task)
        except AccessError as error:  # the client had access, or there would be no task
            from distributed import get_worker

            raise AccessError(f"on worker {get_worker().address}: {error}") from error

    def _run(self, task: Unit | UnitBatch) -> UnitOutcome:
        if isinstance(task, Unit):
            return self.work(task)
        merger: UnitMerger[Any] = UnitMerger(self.n_files, self.merge)
        n_rows = n_bytes = 0
        skipped: tuple[Any, ...] = ()
        for unit in task.units:
            outcome = self.work(unit)
            merger.push(unit, outcome.state, skipped=bool(outcome.skipped))
            n_rows, n_bytes = n_rows + outcome.n_rows, n_bytes + outcome.n_bytes
            skipped += outcome.skipped
        return UnitOutcome(merger.merged(), n_rows, n_bytes, skipped)


def state_bytes(state: Any) -> int:
    """Bytes of a state that reports its size; 0 for others."""
    return int(getattr(state, "nbytes", 0))


def batch_size(n_left: int, threads: int, state: int, memory: int) -> int:
    """Units of the next batch.

    Parameters
    ----------
    n_left : int
        Units that have not been sent.
    threads : int
        Threads that share them: towards the end batches become smaller, so that all finish together.
    state : int
        Bytes of the largest state so far. A batch holds one state per bit of its number of units.
    memory : int
        Bytes that may be used for these states.
    """
    depth = min(memory // state, MOST_UNITS.bit_length() - 1) if state else 0
    return max(1, min(1 << depth, n_left // max(1, threads)))


def best_cut(units: Sequence[Unit]) -> int:
    """How many of these units to take so that the fewest states remain: up to the most even place."""
    return max(range(1, len(units) + 1), key=lambda n: (*_evenness(units[n - 1]), n))


def _evenness(unit: Unit) -> tuple[bool, int]:
    """Evenness of the place after a unit: whether a file ends there, how often its number can be halved."""
    if unit.rows is None:
        place = unit.first_file + len(unit.files)
        return True, place & -place
    place = (unit.leaf_index + 1) << unit.leaf_level
    if place >= unit.n_leaves:
        return True, (unit.index + 1) & -(unit.index + 1)
    return False, place & -place
