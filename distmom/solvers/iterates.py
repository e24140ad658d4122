"""The last half of the iterates in bounded memory: sums of consecutive ones, of doubling length."""

from __future__ import annotations

import numpy as np

from distmom.numerics.arrays import Floats
from distmom.numerics.linalg.geometric_median import geometric_median

MOST_CHUNKS = 32
"""Sums kept; with half of them full, the last half of the iterates is known up to one part in 16."""


class Iterates:
    """Sums of consecutive iterates, each of `length` of them, a power of two; `count` in all."""

    def __init__(self, sums: list[Floats] | None = None, length: int = 1, count: int = 0) -> None:
        self.sums = sums or []
        self.length = length
        self.count = count

    def add(self, x: Floats) -> None:
        """One more iterate."""
        if self.count % self.length == 0:
            if len(self.sums) == MOST_CHUNKS:
                self.sums = [a + b for a, b in zip(self.sums[::2], self.sums[1::2], strict=True)]
                self.length *= 2
            self.sums.append(x.copy())
        else:
            self.sums[-1] = self.sums[-1] + x
        self.count += 1

    def last_half(self, how: str) -> Floats:
        """Mean or geometric median of the last half of the iterates.

        Sums that begin in the first half are left out, unless there are no others; the median is that of
        the means of the sums.
        """
        sizes = np.full(len(self.sums), float(self.length))
        sizes[-1] = self.count - self.length * (len(self.sums) - 1)
        first = min(-(-(self.count // 2) // self.length), len(self.sums) - 1)
        sums, sizes = np.stack(self.sums[first:]), sizes[first:]
        if how == "mean":
            return np.asarray(sums.sum(axis=0) / sizes.sum())
        return geometric_median(sums / sizes[:, None], sizes).point
