"""Runs of equal values in a sorted sample: the most frequent value of a part, and values that repeat."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from distmom.numerics.arrays import Floats, Ints

REPEATED = 3
"""A value that this many rows have counts as repeated."""

TOP = 5
"""This many of the repeated values are shown."""


@dataclass(frozen=True)
class Runs:
    """Where each value of a sorted sample starts, and how many rows have it."""

    y: Floats
    start: Ints
    count: Ints

    @classmethod
    def of(cls, y: Floats) -> Runs:
        """Find the runs of a sorted sample."""
        new = np.ones(y.size, np.bool_)
        np.not_equal(y[1:], y[:-1], out=new[1:])
        start = np.flatnonzero(new)
        return cls(y, start, np.diff(start, append=y.size))

    def mode(self, first: int, last: int) -> tuple[float, int]:
        """Most frequent value of y[first:last] (which cuts no run), the least if tied, and its count."""
        if last <= first:
            return 0.0, 0
        a, b = np.searchsorted(self.start, [first, last])
        at = int(a + np.argmax(self.count[a:b]))
        return float(self.y[self.start[at]]), int(self.count[at])

    def repeated(self, least: int = REPEATED) -> tuple[tuple[float, int], ...]:
        """Up to `TOP` values that at least `least` rows have, with their counts, the most frequent first."""
        often = np.flatnonzero(self.count >= least)
        often = often[np.argsort(-self.count[often], kind="stable")][:TOP]
        return tuple((float(self.y[self.start[i]]), int(self.count[i])) for i in often)
