"""Compiled stable sorting of whole numbers by their digits; the twin is ``numpy.argsort``."""

# mypy: allow-untyped-defs, allow-untyped-calls

from __future__ import annotations

import numpy as np

from distmom.numerics._jit import entry, njit

BITS = 11
BUCKETS = 1 << BITS  # the places of a pass stay in the nearest cache


@njit
def sort_by_digit(numbers, shift, order, to_order, places):
    """Sort an order by the digit of its numbers above some bits, stably."""
    places[:] = 0
    for i in order:
        places[(numbers[i] >> shift) & (BUCKETS - 1)] += 1
    before = np.int64(0)
    for digit in range(BUCKETS):
        n = places[digit]
        places[digit] = before
        before += n
    for i in order:
        digit = (numbers[i] >> shift) & (BUCKETS - 1)
        to_order[places[digit]] = i
        places[digit] += 1


@njit
def sort_order(numbers, order):
    """Sort an order by its numbers of at least 0, stably; the array given is used up."""
    other = np.empty(numbers.size, np.int64)
    places = np.empty(BUCKETS, np.int64)
    most = np.int64(0)
    for number in numbers:
        most = max(most, number)
    shift = 0
    while most >> shift:
        sort_by_digit(numbers, shift, order, other, places)
        order, other = other, order
        shift += BITS
    return order


@entry("i8[]", pays=2e7)
def stable_order(numbers):
    """The stable order of numbers of at least 0."""
    return sort_order(numbers, np.arange(numbers.size))
