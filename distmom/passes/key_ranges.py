"""Many groups in little memory: the data is read once for each range of keys, and as many ranges as it takes.

What a process holds of a run are states: those that a unit fills and merges, those that wait for their
neighbours, and those on their way. Each is kept below a part of the memory by the number of its groups. So
the memory does not depend on how many groups or files there are; only the number of passes does.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING

from distmom.cluster.memory import in_words
from distmom.errors import ResourceError
from distmom.lake.keys.ranges import KeyRange
from distmom.reductions.keyed_pools import KEY_BYTES
from distmom.reductions.ranged import RangedState

if TYPE_CHECKING:
    from distmom.cluster import Executor
    from distmom.memory import Memory
    from distmom.reductions.state import Key

AT_WORK = 4
"""States' worth of memory of a unit: running sums, with room to grow, leaves and files on their way up, the
result."""

MERGING = 3
"""Of the process that merges: two states with their groups brought together, and the new one."""

IN_FLIGHT = 2
"""Units for each thread whose states have come back, or are about to."""

LEAST = 256
"""A pass is for so many groups at least."""

USABLE = 0.9
"""Of the memory that is left for groups; the rest is for what allocators hold back."""

RESULT_BYTES = 1_500
"""Of the answer in a group, of a column, and of its blocks: results are made of these when asked for."""

FILLED = 0.875
"""Of the groups that fit, that many are expected in a range that is known beforehand."""


def most_groups(
    executor: Executor, memory: Memory, group_bytes: int, n_units: int, n_done: int, n_columns: int
) -> int:
    """Groups that one pass may sum up: their states fit beside the rest and the results of `n_done` groups.

    Parameters
    ----------
    executor : Executor
    memory : Memory
        Of the pass; what is held whatever the groups is taken from the limit.
    group_bytes : int
        Of the state of one group.
    n_units : int
    n_done : int
    n_columns : int

    Raises
    ------
    ResourceError
        If there is no room for more groups.
    """
    threads = memory.busy(executor.threads_per_process)
    results = n_done * n_columns * RESULT_BYTES
    free = USABLE * (executor.memory - memory.sure.needed(threads) - results)
    done = n_units - min(n_units, threads)  # while the others are at work
    waiting = min(done, n_units.bit_length() + IN_FLIGHT * executor.threads)
    most = int(free / ((threads * AT_WORK + waiting + MERGING) * (group_bytes + KEY_BYTES)))
    if most < LEAST and n_done:
        raise ResourceError(
            f"by: the results of {n_done:,} groups take {in_words(results)} of the limit of "
            f"{in_words(executor.memory)}, and there are more groups; group by fewer values, filter with "
            "where, or allow more memory_limit"
        )
    return max(most, LEAST)


def next_range(found: RangedState, sampled: tuple[Key, ...], within: KeyRange, most: int) -> KeyRange:
    """The range behind one that was read; its end is where as many groups as fit are expected.

    The keys of the `sampled` rows, in order, tell how keys are spread, and the groups `found` how many there
    are for each of these.
    """
    start = 0 if within.low is None else bisect_left(sampled, within.low)
    stop = bisect_left(sampled, found.high)  # type: ignore[type-var]
    step = int(FILLED * most * (stop - start) / max(1, len(found.state.keys)))
    high = sampled[stop + step] if 0 < step < len(sampled) - stop else None
    return KeyRange(most, found.high, high)
