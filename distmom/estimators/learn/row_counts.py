"""What became of the rows that a descent has met, whichever way they were read."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from distmom.reductions.rows.gather import ABSENT, NAN, NULL, USED

INFINITE = 4
"""Fate of a row that counts and has an infinite value, beside those of gathered rows."""


class Met(NamedTuple):
    """Rows that were met, each once.

    Attributes
    ----------
    n_used : int
        With all their values.
    n_null, n_nan : int
        With a value that is null, and of the others with one that is NaN.
    n_dropped : int
        That the filter drops, or whose file was left out.
    n_inf : int
        Those of the used ones that have an infinite value.
    """

    n_used: int = 0
    n_null: int = 0
    n_nan: int = 0
    n_dropped: int = 0
    n_inf: int = 0

    def plus(self, fates: NDArray[np.uint8]) -> Met:
        """With further rows."""
        counts = np.bincount(fates, minlength=INFINITE + 1).tolist()
        more = (counts[USED] + counts[INFINITE], *(counts[fate] for fate in (NULL, NAN, ABSENT, INFINITE)))
        return self.joined(Met(*more))

    def joined(self, other: Met) -> Met:
        """With those of another."""
        return Met(*(a + b for a, b in zip(self, other, strict=True)))


class Place(NamedTuple):
    """Where a step begins.

    Attributes
    ----------
    number : int
        Of the pass.
    row : int
        How many rows of it are behind.
    met : Met
        What became of the rows of the first pass up to there.
    """

    number: int = 0
    row: int = 0
    met: Met = Met()
