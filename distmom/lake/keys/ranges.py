"""Codes of the keys whose hashes lie in a range: where all groups are too many, these are told apart."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from distmom.lake.keys.codes import some_of
from distmom.lake.keys.encoder import KeyEncoder
from distmom.lake.keys.first_seen import Mask
from distmom.lake.keys.key_hashes import KeyHashes
from distmom.lake.keys.keyvalues import Key
from distmom.numerics.arrays import Bools, Ints, Words
from distmom.numerics.hash_ranges import HashRange

FEW = 2
"""Rows of a range are taken out of a batch where they are less than one of so many."""


class RangeEncoder:
    """Codes of the keys of a range, by first appearance. All rows of other keys are in one group more.

    Parameters
    ----------
    encoder : KeyEncoder
        Numbers the keys of the range.
    hashes : KeyHashes
    within : HashRange
        May be narrowed between batches.
    n_known : int
        Keys that the encoder knows already: their codes stay; the group of the others is next.
    """

    def __init__(self, encoder: KeyEncoder, hashes: KeyHashes, within: HashRange, n_known: int) -> None:
        self.within = within
        self._encoder, self._hashes, self.others = encoder, hashes, n_known
        self._met = np.zeros(n_known + 1, np.uint64)
        self._is_met = np.zeros(n_known + 1, np.bool_)

    @property
    def n_keys(self) -> int:
        """Number of codes."""
        return self._encoder.n_keys + 1

    @property
    def hashes(self) -> Words:
        """Hash of each code's key; anything where it has not been met."""
        return self._met[: self.n_keys]

    @property
    def inside(self) -> Bools:
        """Whether the key of each code has been met, and lies in the range."""
        found = self._is_met[: self.n_keys] & self.within.holds(self.hashes)
        found[self.others] = False
        return found

    def keys_of(self, codes: Ints) -> list[Key]:
        """The keys with these codes, of which none is that of the others."""
        keys = self._encoder.keys_from(0)
        return [keys[code] for code in (codes - (codes > self.others)).tolist()]

    def encode(self, keys: Sequence[pa.Array], keep: Mask) -> tuple[Ints, Words]:
        """Codes and hashes of the rows of a batch; the code is -1 for rows that `keep` drops."""
        hashes = self._hashes.of(keys)
        inside = self.within.holds(hashes)
        if keep is not None:
            inside &= keep
        rows = np.flatnonzero(inside)
        codes = np.full(inside.size, self.others)
        mine = self._codes(keys, rows, inside)
        mine += mine >= self.others
        self._note(mine, hashes[rows])
        codes[rows] = mine
        if keep is not None:
            codes[~keep] = -1
        return codes, hashes

    def _codes(self, keys: Sequence[pa.Array], rows: Ints, inside: Bools) -> Ints:
        """Those rows' codes by the encoder of the range."""
        some = some_of(keys, rows) if FEW * rows.size < inside.size else None
        if some is None:
            return self._encoder.encode(keys, inside)[rows]
        return self._encoder.encode(some, None, rows.size).copy()

    def _note(self, codes: Ints, hashes: Words) -> None:
        """Keep the hashes of the keys that are met for the first time."""
        more = self.n_keys - self._met.size
        if more > 0:
            room = max(more, self._met.size)
            self._met, self._is_met = np.pad(self._met, (0, room)), np.pad(self._is_met, (0, room))
        fresh = np.flatnonzero(~self._is_met[codes])
        self._met[codes[fresh]] = hashes[fresh]
        self._is_met[codes[fresh]] = True
