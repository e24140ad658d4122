"""Compiled collecting of distinct pairs (unit, group); what it serves is in ``distinct.py``."""

# mypy: allow-untyped-defs, allow-untyped-calls

from __future__ import annotations

import numpy as np

from distmom.numerics._jit import njit

U = np.uint64


@njit
def add_pairs(hashes, groups, keep, bound, start, room, table_words, table_groups):
    """Add the pairs of rows `start` … that are not in the table, at most `room` of them.

    `keep` of size 0 means that all rows count; hashes from the bound on are passed over. The table's size is
    a power of two; word 0 stands for an empty slot. Returns the row to go on with, and the number added.
    """
    n = hashes.size
    some_dropped = keep.size > 0
    last = U(table_words.size - 1)
    added = 0
    for i in range(start, n):
        value = hashes[i]
        if value >= bound or (some_dropped and not keep[i]):
            continue
        word = value + U(groups[i]) * U(0x9E3779B97F4A7C15)
        slot = word & last
        while table_words[slot] != U(0) and table_words[slot] != word:
            slot = (slot + U(1)) & last
        if table_words[slot] == U(0):
            if added == room:
                return i, added
            table_words[slot] = word
            table_groups[slot] = groups[i]
            added += 1
    return n, added
