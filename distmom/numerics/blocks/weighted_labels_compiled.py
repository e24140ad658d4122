"""Compiled weighted sums of rows that come with their blocks; the NumPy twin is in ``weighted_labels.py``."""

# mypy: allow-untyped-defs, allow-untyped-calls

from __future__ import annotations

from distmom.numerics._jit import njit


@njit
def add_labelled(x, w, gone, labels, shift, count, sums):
    """Add each row to the five sums of its block."""
    some_gone = gone.size > 0
    for i in range(x.size):
        if some_gone and gone[i]:
            continue
        k = labels[i]
        a = w[i]
        b = a * (x[i] - shift)
        count[k] += 1
        sums[0, k] += a
        sums[1, k] += b
        sums[2, k] += a * a
        sums[3, k] += a * b
        sums[4, k] += b * b
