"""Codes 0, 1, 2, … of the values of one column, by first appearance.

Integers go through a table over their range, texts through a table of those met, everything else through
Arrow's dictionaries.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import types as patypes

from distmom.lake.columns.convert import int64_array, native_values, valid_rows
from distmom.lake.keys.first_seen import FirstSeen, Mask, sized
from distmom.lake.keys.keyvalues import NULL, Component, components
from distmom.lake.keys.text_numbers import TextNumbers
from distmom.numerics.arrays import Ints

MOST_TABLE_ENTRIES = 2**21  # 16 MB: integer keys of a smaller range are looked up, not hashed
SMALL_DICTIONARY = 4_096


def dictionary_places(array: pa.DictionaryArray) -> Ints:
    """Place in its dictionary of each row's value; behind the last one where the row is null."""
    places, valid = native_values(array.indices).astype(np.int64, copy=False), valid_rows(array)
    return places if valid is None else np.where(valid, places, len(array.dictionary))


def local_ids(
    scratch: Ints, values: NDArray[np.generic], base: int, array: pa.Array, null_id: int
) -> tuple[Ints, Ints]:
    """``values - base``, with ``null_id`` where the array is null, in memory that is used again.

    Returns
    -------
    scratch, ids : int64
        The memory to be handed in the next time, and the ids in it.
    """
    scratch, ids = sized(scratch, values.size)
    np.copyto(ids, values, casting="unsafe")
    if base:
        ids -= base
    valid = valid_rows(array)
    if valid is not None:
        ids[~valid] = null_id
    return scratch, ids


def _take(array: pa.Array, rows: Ints) -> pa.Array:
    return array.take(int64_array(rows))


def some_of(arrays: Sequence[pa.Array], rows: Ints) -> list[pa.Array] | None:
    """Some rows of each array; None for types that Arrow cannot take from."""
    try:
        return [_take(array, rows) for array in arrays]
    except pa.ArrowNotImplementedError:
        return None


def _index_in(values: pa.Array, among: pa.Array) -> pa.Int32Array | None:
    """Positions of values among others, null where they are not there; None for types Arrow cannot hash."""
    import pyarrow.compute as pc

    try:
        return pc.call_function("index_in", [values], pc.SetLookupOptions(among))
    except pa.ArrowNotImplementedError:
        return None


class SpanTable:
    """A table with an entry for each integer of a range, which grows with what is met.

    Parameters
    ----------
    empty : scalar
        Entry of what was not met yet.
    n_more : int
        Entries behind those of the range.
    """

    def __init__(self, empty: Any, n_more: int = 0) -> None:
        self.base, self._empty, self._n_more = 0, empty, n_more
        self.entries: NDArray[Any] = np.full(n_more, empty)

    @property
    def size(self) -> int:
        """Integers of the range."""
        return self.entries.size - self._n_more

    def cover(self, values: NDArray[np.generic], most: int) -> bool:
        """Make the range reach over all values, and as far again; False if it would exceed `most`."""
        if not values.size:
            return True
        low, high = int(values.min()), int(values.max())
        size = self.size
        if size and low >= self.base and high < self.base + size:
            return True
        if size:
            low, high = min(low, self.base), max(high, self.base + size - 1)
        needed = high - low + 1
        if needed > most or low < -(2**62) or high >= 2**62:
            return False
        room = min(needed, most - needed) // 2
        entries = np.full(needed + 2 * room + self._n_more, self._empty)
        start = self.base - (low - room)
        entries[start : start + size] = self.entries[:size]
        entries[needed + 2 * room :] = self.entries[size:]
        self.base, self.entries = low - room, entries
        return True


class DictionaryCodes:
    """Codes of dictionary arrays, whose dictionaries may change from batch to batch.

    Each row group, and each batch that had to be hashed, has a dictionary of its own, as a rule with many
    of the same values. A small one is looked up value by value, which is cheaper than to find out from the
    rows which values are new; of a large one, those seen in large ones before are found by Arrow.
    """

    def __init__(self, seen: FirstSeen[Component]) -> None:
        self._seen = seen
        self._dictionary: pa.Array | None = None
        self._codes = np.full(1, -1, np.int64)  # of the dictionary's values; the last one is that of null
        self._unrecorded = np.zeros(0, np.bool_)  # values of a large dictionary that are not recorded yet
        self._recorded: pa.Array | None = None
        self._recorded_codes = np.zeros(0, np.int64)
        self._scratch = np.empty(0, np.int64)

    def encode(self, array: pa.DictionaryArray, keep: Mask) -> Ints:
        """Codes of the rows of a batch; -1 for rows that ``keep`` drops."""
        dictionary = array.dictionary
        if patypes.is_string_view(dictionary.type) or patypes.is_binary_view(dictionary.type):
            text = patypes.is_string_view(dictionary.type)  # Arrow cannot take from views
            dictionary = dictionary.cast(pa.large_string() if text else pa.large_binary())
        if self._dictionary is None or not dictionary.equals(self._dictionary):
            self._record()
            self._dictionary = dictionary
            self._start(dictionary)
        n = len(dictionary)
        indices = native_values(array.indices)
        if valid_rows(array) is None:
            codes = self._seen.known(indices, 0, n, self._codes, keep)
            if codes is not None:
                return codes
        self._scratch, ids = local_ids(self._scratch, indices, 0, array, n)
        return self._seen.look_up(ids, self._codes, keep, self._components)

    def _components(self, fresh: Ints) -> list[Component]:
        dictionary = self._dictionary
        assert dictionary is not None
        n = len(dictionary)
        if n <= SMALL_DICTIONARY:  # without pyarrow.compute, whose import takes 70 ms
            every = [*components(dictionary), NULL]
            return [every[i] for i in fresh.tolist()]
        found = components(_take(dictionary, fresh[fresh < n]))
        if len(found) < fresh.size:
            found.insert(int(np.flatnonzero(fresh == n)[0]), NULL)
        return found

    def _start(self, dictionary: pa.Array) -> None:
        """Fill in the codes of values of a new dictionary that are known already."""
        n = len(dictionary)
        self._codes = np.full(n + 1, -1, np.int64)
        self._unrecorded = np.zeros(0, np.bool_)
        if n <= SMALL_DICTIONARY:
            if len(self._seen):
                self._codes[:-1] = [self._seen.get(value) for value in components(dictionary)]
                self._codes[-1] = self._seen.get(NULL)
            return
        self._unrecorded = np.ones(n, np.bool_)
        if self._recorded is None or self._recorded.type != dictionary.type:
            return
        positions = _index_in(dictionary, self._recorded)
        if positions is None:
            return
        known = valid_rows(positions)
        place = native_values(positions)
        rows = np.arange(n) if known is None else np.flatnonzero(known)
        self._codes[rows] = self._recorded_codes[place[rows]]
        self._unrecorded[rows] = False

    def _record(self) -> None:
        """Keep the values of a large dictionary that got codes, so that the next one finds them."""
        if self._unrecorded.size == 0 or self._dictionary is None:
            return
        rows = np.flatnonzero(self._unrecorded & (self._codes[:-1] >= 0))
        values = _take(self._dictionary, rows)
        if self._recorded is not None and self._recorded.type == values.type:
            self._recorded = pa.concat_arrays([self._recorded, values])
            self._recorded_codes = np.concatenate([self._recorded_codes, self._codes[rows]])
        else:
            self._recorded, self._recorded_codes = values, self._codes[rows]


class TextCodes:
    """Codes of texts by their numbers in a table of all that were met."""

    def __init__(self, seen: FirstSeen[Component]) -> None:
        self.numbers = TextNumbers()
        self._seen = seen
        self._start = -1
        self._codes = np.empty(0, np.int64)  # first that of null, then those of texts by their numbers
        self._scratch = np.empty(0, np.int64)

    def encode(self, array: pa.Array, keep: Mask) -> Ints | None:
        """Codes of the rows of a batch, -1 for rows that ``keep`` drops; None if there are no numbers."""
        found = self.numbers.of(array)
        if found is None:
            return None
        if found.start != self._start:
            self._start, self._codes = found.start, np.full(1, -1, np.int64)
        more = found.n + 1 - self._codes.size
        if more > 0:
            self._codes = np.concatenate([self._codes, np.full(max(more, self._codes.size), -1, np.int64)])
        if found.valid is None:
            codes = self._seen.known(found.numbers, -1, self._codes.size, self._codes, keep)
            if codes is not None:
                return codes
        self._scratch, ids = sized(self._scratch, found.numbers.size)
        np.add(found.numbers, 1, out=ids)
        if found.valid is not None:
            ids[~found.valid] = 0
        return self._seen.look_up(ids, self._codes, keep, lambda fresh: self._components(fresh, array.type))

    def _components(self, fresh: Ints, type_: pa.DataType) -> list[Component]:
        numbers = fresh[fresh > 0] - 1
        first = int(numbers.min(initial=self._codes.size))
        found = components(_take(self.numbers.texts(first, type_), numbers - first)) if numbers.size else []
        if len(found) < fresh.size:
            found.insert(int(np.flatnonzero(fresh == 0)[0]), NULL)
        return found


class ColumnCodes:
    """Codes of one column."""

    def __init__(self, *, compiled: bool = False) -> None:
        self.seen: FirstSeen[Component] = FirstSeen(compiled=compiled)
        self._span = SpanTable(np.int64(-1), 1)  # codes; behind them that of null
        self._dictionaries = DictionaryCodes(self.seen)
        self._texts = TextCodes(self.seen) if compiled else None
        self._scratch = np.empty(0, np.int64)

    @property
    def numbers(self) -> TextNumbers | None:
        """The numbers of texts, for others who need them too."""
        return None if self._texts is None else self._texts.numbers

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
            codes = None if self._texts is None else self._texts.encode(array, keep)
            if codes is not None:
                return codes
            array = array.dictionary_encode()
        return self._dictionaries.encode(array, keep)

    def _encode_span(self, array: pa.Array, keep: Mask) -> Ints | None:
        """Codes of integers by a table over their range; None where the range is too wide."""
        values, span = native_values(array), self._span
        valid = valid_rows(array)
        if valid is None:
            codes = self.seen.known(values, span.base, span.size, span.entries, keep)
            if codes is not None:
                return codes
        if not span.cover(values if valid is None else values[valid], MOST_TABLE_ENTRIES):
            return None
        n, base = span.size, span.base
        self._scratch, ids = local_ids(self._scratch, values, base, array, n)
        return self.seen.look_up(
            ids, span.entries, keep, lambda fresh: [NULL if i == n else (1, base + i) for i in fresh.tolist()]
        )
