"""Which unit goes out next: fresh ones in plan order, failed ones after a pause, suspects alone."""

from __future__ import annotations

import heapq
import random
from collections import Counter, deque
from collections.abc import Sequence
from itertools import islice

from distmom.cluster.batch import UnitBatch, best_cut
from distmom.cluster.plan import Unit


class UnitQueue:
    """Units not yet done and not in flight.

    Parameters
    ----------
    units : sequence of Unit
        Numbered differently.
    pause : float
        Seconds before a unit's second attempt; doubled with each further one, times a random factor in
        [0.5, 1.5), so that units which failed together do not come back together.

    Attributes
    ----------
    attempts : Counter
        How often each number was handed out; a batch has that of its first unit.
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
        self._chance = random.Random()  # decides when a unit runs, never what it gives
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
        """Run ``unit`` once more with nothing beside it: a neighbour may have killed its workers."""
        self.n_again += 1
        self._suspects.append(unit)

    def release(self, unit: Unit | UnitBatch) -> None:
        """``unit`` is no longer in flight."""
        if self.alone is unit:
            self.alone = None

    def until_due(self, now: float) -> float:
        """Seconds until the next retry may start; infinity without one."""
        return max(0.0, self._again[0][0] - now) if self._again else float("inf")
