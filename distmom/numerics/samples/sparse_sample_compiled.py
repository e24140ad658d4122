"""Compiled sorting and merging of sampled rows; the NumPy twin is in ``sparse_sample.py``."""

# mypy: allow-untyped-defs, allow-untyped-calls

from __future__ import annotations

import numpy as np

from distmom.numerics._jit import entry
from distmom.numerics.ranks.digits_compiled import BITS, sort_order

SCALE = 2.0 ** (2 * BITS)  # two digits of a key


@entry("i8[] f8[] f8[] i8[] f8[] f8[]", pays=5e6)
def sort_rows(groups, keys, values, to_groups, to_keys, to_values):
    """Sort rows by group and key, stably.

    Keys are uniform in [0, 1): their first bits nearly sort them.
    """
    n = groups.size
    digits = np.empty(n, np.int64)
    for i in range(n):
        digits[i] = np.int64(keys[i] * SCALE)
    order = sort_order(groups, sort_order(digits, np.arange(n)))
    for place in range(n):
        i = order[place]
        group = groups[i]
        key = keys[i]
        to = place
        while to > 0 and to_groups[to - 1] == group and to_keys[to - 1] > key:
            to_groups[to] = group
            to_keys[to] = to_keys[to - 1]
            to_values[to] = to_values[to - 1]
            to -= 1
        to_groups[to] = group
        to_keys[to] = key
        to_values[to] = values[i]


@entry("i8[] f8[] f8[] i8[] f8[] f8[] i8 i8[] f8[] f8[]", pays=5e6)
def merge_rows(groups, keys, values, others, other_keys, other_values, size, to_groups, to_keys, to_values):
    """Merge sorted rows; of equal keys the first ones come first. At most `size` rows of a group are kept.

    Returns how many rows are left.
    """
    i = j = n = rank = np.int64(0)
    last = np.int64(-1)
    while i < groups.size or j < others.size:
        first = j == others.size or (
            i < groups.size
            and (groups[i] < others[j] or (groups[i] == others[j] and keys[i] <= other_keys[j]))
        )
        group = groups[i] if first else others[j]
        rank = rank + 1 if group == last else np.int64(0)
        last = group
        if rank < size:
            to_groups[n] = group
            to_keys[n] = keys[i] if first else other_keys[j]
            to_values[n] = values[i] if first else other_values[j]
            n += 1
        if first:
            i += 1
        else:
            j += 1
    return n
