"""Codes of the values of one column: by a table over a range of integers, or by Arrow's dictionaries."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from pyarrow import types as patypes

from distmom.lake.columns.convert import native_values, valid_rows
from distmom.lake.keys.codes import FirstSeen, Mask
from distmom.lake.keys.dictionary_codes import DictionaryCodes, local_ids
from distmom.lake.keys.keyvalues import NULL, Component
from distmom.numerics.arrays import Ints

MOST_TABLE_ENTRIES = 2**21  # 16 MB: integer keys of a smaller range are looked up, not hashed


class ColumnCodes:
    """Codes of one column."""

    def __init__(self, *, compiled: bool = False) -> None:
        self.seen: FirstSeen[Component] = FirstSeen(compiled=compiled)
        self._base = 0
        self._span = np.full(1, -1, np.int64)  # code of base + i; the last entry is that of null
        self._dictionaries = DictionaryCodes(self.seen)
        self._scratch = np.empty(0, np.int64)

    def encode(self, array: pa.Array, keep: Mask) -> Ints:
        """Codes of the rows of a batch; -1 for rows that ``keep`` drops."""
        type_ = array.type
        if patypes.is_integer(type_):
            codes = self._encode_span(array, keep)
            if codes is not None:
                return codes
        if patypes.is_null(type_):
            ids, table = np.zeros(len(array), np.int64), np.full(1, -1, np.int64)
            return self.seen.look_up(ids, table, keep, lambda fresh: [NULL] * fresh.size)
        if not isinstance(array, pa.DictionaryArray):
            array = array.dictionary_encode()
        return self._dictionaries.encode(array, keep)

    def _encode_span(self, array: pa.Array, keep: Mask) -> Ints | None:
        """Codes of integers by a table over their range; None where the range is too wide."""
        values = native_values(array)
        valid = valid_rows(array)
        if valid is None:
            codes = self.seen.known(values, self._base, self._span.size - 1, self._span, keep)
            if codes is not None:
                return codes
        known = values if valid is None else values[valid]
        if known.size and not self._cover(int(known.min()), int(known.max())):
            return None
        n, base = self._span.size - 1, self._base
        self._scratch, ids = local_ids(self._scratch, values, base, array, n)
        return self.seen.look_up(
            ids, self._span, keep, lambda fresh: [NULL if i == n else (1, base + i) for i in fresh.tolist()]
        )

    def _cover(self, low: int, high: int) -> bool:
        """Make the table reach from low to high, with room for more; False if it would be too large."""
        size = self._span.size - 1
        if size and low >= self._base and high < self._base + size:
            return True
        if size:
            low, high = min(low, self._base), max(high, self._base + size - 1)
        needed = high - low + 1
        if needed > MOST_TABLE_ENTRIES or low < -(2**62) or high >= 2**62:
            return False
        room = min(needed, MOST_TABLE_ENTRIES - needed) // 2
        span = np.full(needed + 2 * room + 1, -1, np.int64)
        base = low - room
        if size:
            span[self._base - base : self._base - base + size] = self._span[:-1]
        span[-1] = self._span[-1]
        self._base, self._span = base, span
        return True
