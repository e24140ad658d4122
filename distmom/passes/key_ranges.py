"""Many groups in little memory: the data is read once for each range of keys, and as many ranges as it takes.

What a process holds of a run are states: those that a unit fills, those on their way, those that wait for
their neighbours, and a merge. Ranges are cut by hashes of keys, which are uniform: where states become too
large while they are filled or merged, the last groups by their hashes are left out, for the next pass. So the
memory does not depend on how many groups or files there are; only the number of passes does.
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
"""States' worth of memory of a unit: running sums, with room to grow, leaves and files on their way up, the
result."""

MERGING = 3
"""Of the process that merges: two states with their groups brought together, and the new one."""

IN_FLIGHT = 2
"""Units for each thread whose states have come back, or are about to."""

LEAST = 256
"""Groups for which a pass is worth its while."""

AIMED = 0.85
"""Of a limit: the rest is for what allocators hold back, and for pages of libraries, of which some systems
map more than others."""

USABLE = 0.9
"""Of all that is left for groups: if that is too little for the fewest, the run ends."""

LEAST_USED = 0.5
"""Of what a small limit leaves for groups, so much is used in any case."""

ROW_BYTES = 128
"""Of a row that waits to be taken to its cell and its group's sample, and while it is."""

OF_UNITS = 0.4
"""Of the memory for groups, so much is for units at work and on their way; the rest for their merge."""

WITH_SECOND = 4
"""States as large as the merged one: a merge, which copies, beside the state of a first pass."""

ANSWERING = 5
"""Of sums with all their blocks: those of both passes, and what answers are made of, when no unit is at
work."""

ANSWERED_BYTES = 1 << 25
"""Of such sums at most so many are answered at a time."""

UNASKED = 4
"""Of the machine's memory groups take one part of so many, where nobody set a limit."""


def memory_for(executor: Executor) -> float:
    """Bytes of a process that has groups."""
    limited = executor.far or executor.account.limit is not None
    return executor.memory / (1 if limited else UNASKED)


def free_for_groups(executor: Executor, held: float) -> float:
    """Bytes that groups may take beside what is held."""
    limit = memory_for(executor)
    return max(AIMED * limit - held, LEAST_USED * (limit - held))


def most_groups(executor: Executor, memory: Memory, group_bytes: int, n_units: int) -> int:
    """Groups whose states fit with all their blocks, filled or not: so many are summed up in one pass.

    Parameters
    ----------
    executor : Executor
    memory : Memory
        Of the pass; what is held whatever the groups is taken from the limit.
    group_bytes : int
        Of the state of one group.
    n_units : int
    """
    threads = memory.busy(executor.threads_per_process)
    free = free_for_groups(executor, memory.sure.needed(threads))
    done = n_units - min(n_units, threads)  # while the others are at work
    waiting = min(done, n_units.bit_length() + IN_FLIGHT * executor.threads)
    most = int(free / ((threads * AT_WORK + waiting + MERGING) * (group_bytes + KEY_BYTES)))
    return max(most, LEAST)


class Room(NamedTuple):
    """Bytes that groups may take: in a unit, in all states where they are merged, and when answered."""

    unit: float
    merged: float
    answered: float = ANSWERED_BYTES


def room_for_groups(
    executor: Executor, memory: Memory, means: BlockMeans, n_done: int, results: float
) -> Room:
    """The room beside all else, and beside the results of `n_done` groups, of so many bytes.

    Raises
    ------
    ResourceError
        If there is no room for more groups.
    """
    threads = memory.busy(executor.threads_per_process)
    rows = threads * len(means.columns) * ROWS_TOGETHER * ROW_BYTES
    held = memory.sure.needed(threads) + rows
    free = free_for_groups(executor, held if executor.far else held + results)
    left = memory_for(executor) - results - (0.0 if executor.far else held)  # none of them lie on workers
    least = LEAST * (means.state_bytes() + KEY_BYTES)
    if USABLE * left < least and n_done:
        raise ResourceError(
            f"by: the results of {n_done:,} groups take {in_words(results)} of the "
            f"{in_words(memory_for(executor))} for groups, and there are more groups; group by fewer values, "
            "filter with where, or allow more memory_limit"
        )
    unit = OF_UNITS * free / (threads * (AT_WORK + IN_FLIGHT))
    merged = max((1 - OF_UNITS) * free / WITH_SECOND, least / AT_WORK)
    answered = min(max(OF_UNITS * free, least) / ANSWERING, ANSWERED_BYTES)
    return Room(max(unit, least / AT_WORK), merged, answered)


class RangeMerger(UnitMerger["RangedState"]):
    """Merges the states of units, and leaves groups out where they would take more than `most` bytes."""

    def __init__(
        self, n_files: int, merge: Callable[[Any, Any], Any], within: HashRange, most: float
    ) -> None:
        super().__init__(n_files, merge)
        self._within, self._most = within, most
        self.largest = 0
        """Bytes that the groups which are left took at most."""

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
    """The range behind one that was read, whose groups took `largest` bytes; it is to fill the room."""
    return within.next(within.width * FILLED * room.merged / max(largest, 1))
