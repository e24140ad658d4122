"""Several consecutive units as one task, whose states are merged where they arise.

A unit's state goes to the client while it is small. States of many groups are not: sent one by one they would
fill the client's memory and network. Once one of more than a megabyte has come, workers get up to sixteen
units at a time and give back what the dyadic rule makes of them, as a rule a single state. On a worker it
holds one state per bit of that number.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from distmom.cluster.merge import UnitMerger
from distmom.cluster.outcome import UnitOutcome, Work
from distmom.cluster.plan import Unit
from distmom.errors import AccessError

LARGE_STATE = 1_000_000
"""Bytes above which states are merged on workers."""

MOST_UNITS = 16
"""Units of a batch: what is lost with a worker stays a few seconds of work."""


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
        """How messages call the batch."""
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

    def __call__(self, task: Unit | UnitBatch) -> UnitOutcome:
        """The outcome of a unit, or of all units of a batch with their merged states, a `Merged`."""
        try:
            return self._run(task)
        except AccessError as error:  # the client got in, or there would be no task
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
    """Bytes of a state that knows them; 0 for others."""
    return int(getattr(state, "nbytes", 0))


def batch_size(n_left: int, threads: int, state: int, memory: int) -> int:
    """Units of the next batch.

    Parameters
    ----------
    n_left : int
        Units that have not been sent.
    threads : int
        Threads that share them: near the end batches become smaller, so that all finish together.
    state : int
        Bytes of the largest state so far. A batch holds one for each bit of its number of units.
    memory : int
        Bytes that may be used for them.
    """
    depth = min(memory // state, MOST_UNITS.bit_length() - 1) if state else 0
    return max(1, min(1 << depth, n_left // max(1, threads)))


def best_cut(units: Sequence[Unit]) -> int:
    """How many of these units to take so that their states merge to the fewest: up to the most even place."""
    return max(range(1, len(units) + 1), key=lambda n: (*_evenness(units[n - 1]), n))


def _evenness(unit: Unit) -> tuple[bool, int]:
    """Of the place behind a unit: whether a file ends there, and how often its number can be halved."""
    if unit.rows is None:
        place = unit.first_file + len(unit.files)
        return True, place & -place
    place = (unit.leaf_index + 1) << unit.leaf_level
    if place >= unit.n_leaves:
        return True, (unit.index + 1) & -(unit.index + 1)
    return False, place & -place
