"""Ranks split bit by bit, from the highest bit down: the resulting groups, depth first."""

# mypy: allow-untyped-defs, allow-untyped-calls

from __future__ import annotations

import numpy as np

from distmom.numerics._jit import anew

SMALL = 32  # groups of at most this size are processed pair by pair
ONE_RANK, SMALL_GROUP = -1, -2


@anew
def groups(starts):
    """For each group of ranks that agree in their higher bits: its places, and how to process it.

    `starts[r]` places have a rank below r, so in the sorted order a group fills the places from the start of
    its lowest rank on. Yields its first place, the first one of the ranks that have the next bit, its end,
    that bit, and how often the group has been moved, modulo 2: ranks that lack the bit must be moved before
    the others. The bit is `ONE_RANK` if all ranks are equal, `SMALL_GROUP` if there are few places.
    """
    n_ranks = starts.size - 1
    bits = 0
    while (1 << bits) < n_ranks:
        bits += 1
    lows, levels, size = np.zeros(130, np.int64), np.zeros(130, np.int64), 1
    levels[0] = bits
    while size > 0:
        size -= 1
        low, level = lows[size], levels[size]
        first, last = starts[low], starts[min(low + (1 << level), n_ranks)]
        at = (bits - level) & 1
        if level == 0 or last - first <= SMALL:
            yield first, last, last, ONE_RANK if level == 0 else SMALL_GROUP, at
            continue
        half = low + (1 << (level - 1))
        yield first, starts[min(half, n_ranks)], last, level - 1, at
        lows[size], levels[size] = low, level - 1
        size += 1
        if half < n_ranks:
            lows[size], levels[size] = half, level - 1
            size += 1
