"""Ranges of keys: where groups are too many for memory, those of one range are summed up at a time."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from distmom.lake.keys.codes import Mask
from distmom.lake.keys.encoder import KeyEncoder
from distmom.lake.keys.keyvalues import Key
from distmom.numerics.arrays import Ints


@dataclass(frozen=True)
class KeyRange:
    """Keys from `low` on and below `high` (None: without an end), of which at most so many fit.

    Examples
    --------
    >>> within = KeyRange(2, low=((1, 3),))
    >>> within.holds(((1, 2),)), within.holds(((1, 3),))
    (False, True)
    >>> within.narrowed([((1, 3),), ((1, 9),), ((1, 5),)]).high
    ((1, 5),)
    """

    most: int
    low: Key | None = None
    high: Key | None = None

    def holds(self, key: Key) -> bool:
        """Whether a key lies in the range."""
        return (self.low is None or key >= self.low) and (self.high is None or key < self.high)

    def narrowed(self, keys: Iterable[Key]) -> KeyRange:
        """The range with seven eighths of the keys that fit, of these: more may be met later."""
        return replace(self, high=sorted(keys)[max(1, 7 * self.most // 8)])


class TooManyKeys(Exception):
    """A unit of work has met more keys than fit; `within` is a range of which it has met fewer."""

    def __init__(self, within: KeyRange) -> None:
        super().__init__(within)
        self.within = within


class RangeEncoder:
    """Codes of the keys of a range, by first appearance. All rows of other keys are in one group more.

    Parameters
    ----------
    encoder : KeyEncoder
        Numbers all keys.
    within : KeyRange
    n_known : int
        Keys of the range that the encoder knows already: their codes stay; the group of the others is next.

    Attributes
    ----------
    keys : list of Key or None
        In the order of the codes; None of the others.
    """

    def __init__(self, encoder: KeyEncoder, within: KeyRange, n_known: int) -> None:
        self.encoder, self.within = encoder, within
        self.keys: list[Key | None] = [*encoder.keys_from(0), None]
        self._others = n_known
        self._places = np.arange(n_known)

    @property
    def n_keys(self) -> int:
        """Number of codes."""
        return len(self.keys)

    def encode(self, keys: Sequence[pa.Array], keep: Mask) -> tuple[Ints, Ints]:
        """Codes in the range, and among all keys, of the rows of a batch; -1 for rows that `keep` drops.

        TooManyKeys if more keys of the range have been met than fit.
        """
        every = self.encoder.encode(keys, keep)
        if self.encoder.n_keys > self._places.size:
            self._take_up(self.encoder.keys_from(self._places.size))
        codes = self._places.take(every, mode="wrap") if self._places.size else every.copy()
        if keep is not None:
            codes[~keep] = -1
        return codes, every

    def _take_up(self, fresh: list[Key]) -> None:
        places = np.full(len(fresh), self._others)
        for i, key in enumerate(fresh):
            if self.within.holds(key):
                places[i] = len(self.keys)
                self.keys.append(key)
        self._places = np.concatenate([self._places, places])
        if len(self.keys) - 1 > self.within.most:
            raise TooManyKeys(self.within.narrowed(key for key in self.keys if key is not None))
