"""Ranges of 64-bit hashes: half a range contains about half of the hashed items, whatever they are."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from distmom.numerics.arrays import Bools, Words

ALL_WORDS = 2**64

FILLED = 0.875
"""Share of the available room that is filled when a range is chosen: more may follow later."""


@dataclass(frozen=True)
class HashRange:
    """Hashes from `low` on and below `high`.

    Examples
    --------
    >>> HashRange(8, 16).narrowed(0.5)
    HashRange(low=8, high=12)
    """

    low: int = 0
    high: int = ALL_WORDS

    @property
    def last(self) -> bool:
        """Whether no hash follows it."""
        return self.high >= ALL_WORDS

    @property
    def width(self) -> int:
        """Number of hashes in it."""
        return self.high - self.low

    def holds(self, hashes: Words) -> Bools:
        """Whether each of these is in the range."""
        inside = hashes >= np.uint64(self.low) if self.low else np.ones(hashes.size, np.bool_)
        return inside if self.last else inside & (hashes < np.uint64(self.high))

    def slice_of(self, hashes: Words) -> slice:
        """Position of its hashes among ascending ones."""
        first = np.searchsorted(hashes, np.uint64(self.low))
        stop = hashes.size if self.last else np.searchsorted(hashes, np.uint64(self.high))
        return slice(int(first), int(stop))

    def ending(self, high: int) -> HashRange:
        """The start of the range, up to `high`."""
        return replace(self, high=high)

    def narrowed(self, share: float) -> HashRange:
        """The start of the range, with this share of its width."""
        return self.ending(self.low + max(1, int(self.width * share)))

    def next(self, width: float) -> HashRange:
        """The following range, about `width` wide."""
        return HashRange(self.high, min(ALL_WORDS, self.high + max(1, int(width))))
