"""An endless shuffled order of rows: pass after pass, each a keyed permutation, computed on demand.

The row at a place of a pass is a pure function of seed, pass and place. So a step of a descent can be read
without the steps before it, and rows in memory, rows of a lake and a run continued from a checkpoint use the
same blocks. Some rows may be held out: they are in no pass.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from distmom.numerics.arrays import Ints, Words
from distmom.numerics.blocks.labels import COMPILE, mix
from distmom.numerics.random.philox import permutation, stream_key

EXACT = 1 << 16
"""Up to this many rows a pass is an exactly uniform permutation, kept in memory; beyond, a cipher's."""

ROUNDS = 12


@dataclass
class VirtualOrder:
    """Rows in a shuffled order, pass after pass.

    Attributes
    ----------
    seed : int
        128 bits.
    n_rows : int
        At least 1.
    n_held_out : int
        Rows that are in no pass; fewer than all.

    Notes
    -----
    Up to 65,536 rows: Fisher-Yates. Beyond: a Feistel network on the smallest grid with at least that many
    cells, with a 64-bit hash in each of 12 rounds, iterated past cells that are no rows: a few hundred
    nanoseconds per row, no memory. Not all n! orders are equally likely, but the position of each row is
    uniform, and so are the positions of pairs of rows.

    Examples
    --------
    >>> order = VirtualOrder(0, 5)
    >>> sorted(order.rows(0, 0, 5).tolist())
    [0, 1, 2, 3, 4]
    """

    seed: int
    n_rows: int
    n_held_out: int = 0
    _cached: tuple[int, Ints] | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if not 0 <= self.n_held_out < self.n_rows:
            raise ValueError(f"{self.n_held_out} rows of {self.n_rows} cannot be held out")

    @property
    def n_pass(self) -> int:
        """Rows of a pass."""
        return self.n_rows - self.n_held_out

    def held_out(self) -> Ints:
        """The rows that are in no pass, in an order of their own."""
        return self._base(np.arange(self.n_held_out, dtype=np.int64))

    def rows(self, number: int, start: int, stop: int) -> Ints:
        """Rows at the places ``[start, stop)`` of a pass."""
        places = np.arange(start, min(stop, self.n_pass), dtype=np.int64)
        if self.n_pass > EXACT:
            key = stream_key(self.seed, f"descent/pass/{number}")
            found = keyed_permutation(int(key), self.n_pass, places)
        else:
            if self._cached is None or self._cached[0] != number:
                key = stream_key(self.seed, "descent/pass")
                exact = permutation(key, number, self.n_pass, compiled=self.n_pass > COMPILE)
                self._cached = (number, exact)
            found = self._cached[1][places]
        return self._base(found + self.n_held_out) if self.n_held_out else found

    def _base(self, places: Ints) -> Ints:
        """The permutation of all rows, whose first ones are held out."""
        return keyed_permutation(int(stream_key(self.seed, "descent/held out")), self.n_rows, places)


def keyed_permutation(key: int, n: int, places: Ints) -> Ints:
    """Values at some places of a permutation of 0 ... n - 1 that a 64-bit key determines.

    Parameters
    ----------
    key : int
    n : int
        In [1, 2**62].
    places : ndarray of int64
        In [0, n).
    """
    width = int(np.ceil(np.sqrt(float(n)))) + (1 if n > 1 << 52 else 0)
    height = -(-n // width)
    at = places.astype(np.uint64)
    at = _rounds(key, width, height, at)
    outside = np.flatnonzero(at >= np.uint64(n))
    while outside.size:
        at[outside] = _rounds(key, width, height, at[outside])
        outside = outside[at[outside] >= np.uint64(n)]
    return at.astype(np.int64)


def _rounds(key: int, width: int, height: int, cells: Words) -> Words:
    """The Feistel network on a grid: row and column are shifted, in turn, by a hash of the other."""
    w, h = np.uint64(width), np.uint64(height)
    row, column = cells // w, cells % w
    for turn in range(ROUNDS):
        salt = np.uint64((key + 0x9E3779B97F4A7C15 * (turn + 1)) & 0xFFFFFFFFFFFFFFFF)
        if turn % 2:
            row = (row + _mixed(column ^ salt) % h) % h
        else:
            column = (column + _mixed(row ^ salt) % w) % w
    return row * w + column


def _mixed(z: Words) -> Words:
    """The finalizer of SplitMix64, twice with a constant between: a hash of 64 bits."""
    for _ in range(2):
        z = mix(z) + np.uint64(0xD1B54A32D192ED03)
    return z
