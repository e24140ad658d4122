"""Compiled look-up of integers in a table; the NumPy twin is ``lake.keys.first_seen.FirstSeen.look_up``."""

# mypy: allow-untyped-defs, allow-untyped-calls

from __future__ import annotations

import numpy as np

from distmom.numerics._jit import entry

U = np.uint64
CHUNK = 2_048  # rows checked and looked up at a time: they stay in the nearest cache


@entry("=i4[] i8 i8 i8[] i8[]", "=i8[] i8 i8 i8[] i8[]")
def look_up_all(values, base, n, table, out):
    """``table[value - base]`` of all values; False if one is outside the first n places, or negative.

    Both inner loops are without branches, so that several rows are processed at once.
    """
    for start in range(0, values.size, CHUNK):
        part = values[start : start + CHUNK]
        outside = np.int64(0)
        for i in range(part.size):
            outside |= np.int64(U(np.int64(part[i]) - base) >= U(n))
        if outside > 0:
            return False
        codes = out[start : start + CHUNK]
        least = np.int64(0)
        for i in range(part.size):
            code = table[U(np.int64(part[i]) - base)]
            codes[i] = code
            least |= code
        if least < 0:
            return False
    return True
