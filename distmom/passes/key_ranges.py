"""Many groups in little memory: the data is read once for each range of keys, in as many ranges as needed.

A process holds states: those that a unit fills, those in transit, those that wait for their neighbours, and
those of a merge. Ranges are cut by hashes of keys, which are uniform. If states become too large while they
are filled or merged, the groups with the largest hashes are left for the next pass. So memory does not depend
on the number of groups or files; only the number of passes does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from distmom.cluster import UnitMerger
from distmom.cluster.memory import in_words
from distmom.errors import ResourceError
from distmom.numerics.blocks.sparse_cells import ROWS_TOGETHER
from distmom.numerics.hash_ranges import FILLED, HashRange
from distmom.reductions.keyed_pools import KEY_BYTES

if TYPE_CHECKING:
    from collections.abc import Callable

    from distmom.cluster import Executor
    from distmom.memory import Memory
    from distmom.reductions.block_means import BlockMeans
    from distmom.reductions.ranged import RangedState

AT_WORK = 4
"""Memory of a unit, in states: running sums with room to grow, leaves and files still to be merged, the
result."""

MERGING = 3
"""Memory of the merging process, in states: two states with aligned groups, and the new one."""

IN_FLIGHT = 2
"""Units per thread whose states have come back, or are about to."""

LEAST = 256
"""Fewest groups for which a pass is worthwhile."""

AIMED = 0.85
"""Usable share of a limit: the rest is for memory held back by allocators, and for pages of libraries, of
which some systems map more than others."""

USABLE = 0.9
"""Share of what is left for groups; if results leave too little for the fewest groups, the run ends."""

LEAST_USED = 0.5
"""Share of what a small limit leaves for groups that is used in any case."""

ROW_BYTES = 128
"""Bytes per row that waits to enter its cell and its group's sample, or is entering them."""

OF_UNITS = 0.4
"""Share of the memory for groups that is for units at work and in transit; the rest is for their merge."""

WITH_SECOND = 4
"""States as large as the merged one: a merge, which copies, besides the state of a first pass."""

ANSWERING = 5
"""Copies of sums with all their blocks when no unit is at work: those of both passes, and the inputs of
answers."""

ANSWERED_BYTES = 1 << 25
"""Most bytes of such sums that are answered at a time."""

UNASKED = 4
"""Without a limit, groups take one part in this many of the machine's memory."""


def memory_for(executor: Executor) -> float:
    """Bytes available to a process that has groups."""
    limited = executor.far or executor.account.limit is not None
    return executor.memory / (1 if limited else UNASKED)


def free_for_groups(executor: Executor, held: float) -> float:
    """Bytes that groups may take besides what is held."""
    limit = memory_for(executor)
    return max(AIMED * limit - held, LEAST_USED * (limit - held))


def most_groups(executor: Executor, memory: Memory, group_bytes: int, n_units: int) -> int:
    """Number of groups whose states fit with all their blocks, filled or not; they are summed in one pass.

    Parameters
    ----------
    executor : Executor
    memory : Memory
        Memory of the pass; what it holds whatever the groups is subtracted from the limit.
    group_bytes : int
        Bytes of the state of one group.
    n_units : int
    """
    threads = memory.busy(executor.threads_per_process)
    free = free_for_groups(executor, memory.sure.needed(threads))
    done = n_units - min(n_units, threads)  # while the others are at work
    waiting = min(done, n_units.bit_length() + IN_FLIGHT * executor.threads)
    most = int(free / ((threads * AT_WORK + waiting + MERGING) * (group_bytes + KEY_BYTES)))
    return max(most, LEAST)


class Room(NamedTuple):
    """Bytes that groups may take: in a unit, in all states in the merging process, and when answered."""

    unit: float
    merged: float
    answered: float = ANSWERED_BYTES


def room_for_groups(
    executor: Executor, memory: Memory, means: BlockMeans, n_done: int, results: float
) -> Room:
    """The room left besides everything else and the results of `n_done` groups.

    Raises
    ------
    ResourceError
        If no further groups fit.
    """
    threads = memory.busy(executor.threads_per_process)
    rows = threads * len(means.columns) * ROWS_TOGETHER * ROW_BYTES
    held = memory.sure.needed(threads) + rows
    free = free_for_groups(executor, held if executor.far else held + results)
    left = memory_for(executor) - (0.0 if executor.far else held)  # workers hold none of the results
    least = LEAST * (means.state_bytes() + KEY_BYTES)
    if USABLE * (left - results) < least <= USABLE * left:
        raise ResourceError(
            f"by: the results of {n_done:,} groups take {in_words(results)} of the "
            f"{in_words(memory_for(executor))} for groups, and there are more groups; group by fewer values, "
            "filter with where, or allow more memory_limit"
        )
    unit = OF_UNITS * free / (threads * (AT_WORK + IN_FLIGHT))
    of_merge = free if executor.far else (1 - OF_UNITS) * free  # workers' states meet elsewhere
    merged = max(of_merge / WITH_SECOND, least / AT_WORK)
    answered = min(max(OF_UNITS * free, least) / ANSWERING, ANSWERED_BYTES)
    return Room(max(unit, least / AT_WORK), merged, answered)


class RangeMerger(UnitMerger["RangedState"]):
    """Merges the states of units, and drops groups that would take more than `most` bytes."""

    def __init__(
        self, n_files: int, merge: Callable[[Any, Any], Any], within: HashRange, most: float
    ) -> None:
        super().__init__(n_files, merge)
        self._within, self._most = within, most
        self.largest = 0
        """Largest number of bytes taken by the remaining groups."""

    def push(self, unit: Any, state: RangedState | None, *, skipped: bool = False) -> None:  # noqa: D102
        super().push(unit, None if state is None else state.below(self._within.high), skipped=skipped)
        self._fit()

    def add(self, merged: Any) -> None:  # noqa: D102
        super().add(merged)
        self._fit()

    def _fit(self) -> None:
        states = self.merged().states
        high = min((state.high for state in states), default=self._within.high)
        within = self._within.ending(high)
        held = sum(state.of_groups for state in states)
        if held > self._most:
            within = within.narrowed(FILLED * self._most / held)
            for tree in (self._files, *self._parts.values()):
                tree.change(lambda state: state.below(within.high))
            self.largest, held = 0, sum(state.of_groups for state in self.merged().states)
        self._within, self.largest = within, max(self.largest, held)


def next_range(within: HashRange, largest: int, room: Room) -> HashRange:
    """The range after one whose groups took `largest` bytes, chosen to fill the room."""
    return within.next(within.width * FILLED * room.merged / max(largest, 1))
