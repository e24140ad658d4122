"""Ranges of hashes of 64 bits: a range that is half as wide has half of what is hashed, whatever that is."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from distmom.numerics.arrays import Bools, Words

ALL_WORDS = 2**64

FILLED = 0.875
"""Of what fits, so much is filled where a range is chosen: more may be met later."""


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
        """Whether no hash lies behind it."""
        return self.high >= ALL_WORDS

    @property
    def width(self) -> int:
        """How many hashes there are."""
        return self.high - self.low

    def holds(self, hashes: Words) -> Bools:
        """Whether each of these lies in the range."""
        inside = hashes >= np.uint64(self.low) if self.low else np.ones(hashes.size, np.bool_)
        return inside if self.last else inside & (hashes < np.uint64(self.high))

    def slice_of(self, hashes: Words) -> slice:
        """Where its hashes are among ascending ones."""
        first = np.searchsorted(hashes, np.uint64(self.low))
        stop = hashes.size if self.last else np.searchsorted(hashes, np.uint64(self.high))
        return slice(int(first), int(stop))

    def ending(self, high: int) -> HashRange:
        """The start of it, up to there."""
        return replace(self, high=high)

    def narrowed(self, share: float) -> HashRange:
        """The start of it, of such a share of its width."""
        return self.ending(self.low + max(1, int(self.width * share)))

    def next(self, width: float) -> HashRange:
        """The range behind it, about so wide."""
        return HashRange(self.high, min(ALL_WORDS, self.high + max(1, int(width))))
