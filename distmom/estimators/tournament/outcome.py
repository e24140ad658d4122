"""What the rounds of a tournament leave behind, of rows or of pairs."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from distmom.numerics.arrays import Floats, Ints
from distmom.solvers.tournament import Decided, Pair

if TYPE_CHECKING:
    from distmom.cluster.work import SkippedFile


@dataclass(frozen=True)
class Outcome:
    """What the rounds leave behind.

    Attributes
    ----------
    decided : Decided
    rows : tuple of int
        Rows that passed the filter, that are used, and of the former the nulls, NaNs and infinities.
    plain : ndarray of float64, shape (m,)
        Plain risks.
    missing : ndarray of int64, shape (m,)
        Rows without a finite prediction.
    skipped : tuple of SkippedFile
        Files that were left out.
    disagree : tuple of (str or None)
        For each candidate what blocks of whole files say against those of rows.
    intervals : bool
        Whether blocks are independent, so that the spread between them tells how far the risk may be off.
    cells : ndarray of int64, shape (m,), or None
        Most cells of each partition in a block, where candidates are partitions.
    """

    decided: Decided
    rows: tuple[int, int, int, int, int]
    plain: Floats
    missing: Ints
    skipped: tuple[SkippedFile, ...]
    disagree: tuple[str | None, ...]
    intervals: bool = True
    cells: Ints | None = None


def round_of(kind: str, pairs: Sequence[Pair]) -> str:
    """Name of the round that asks for just these pairs."""
    return f"{kind} {hashlib.blake2b(np.array(pairs, np.int32).tobytes(), digest_size=8).hexdigest()}"


def numbered(pairs: Sequence[Pair]) -> tuple[list[int], NDArray[np.int32]]:
    """The candidates of some pairs, and the places of each pair's among these."""
    chosen, places = np.unique(np.array(pairs, np.int32).reshape(-1, 2), return_inverse=True)
    return chosen.tolist(), places.reshape(-1, 2).astype(np.int32)
