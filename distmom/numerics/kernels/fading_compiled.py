"""Compiled sums that fade from row to row; the NumPy twin with the same bits is in ``fading.py``."""

# mypy: allow-untyped-defs, allow-untyped-calls

from __future__ import annotations

from distmom.numerics._jit import entry


@entry("f8[] f8[] f8[]")
def fade(factors, mass, sums):
    """Add to `sums` at each place the mass of all other places, faded by the factors between."""
    passed = 0.0
    for i in range(factors.size):
        passed = (passed + mass[i]) * factors[i]
        sums[i + 1] += passed
    passed = 0.0
    for i in range(factors.size - 1, -1, -1):
        passed = (passed + mass[i + 1]) * factors[i]
        sums[i] += passed
