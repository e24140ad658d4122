"""Codes 0, 1, 2, … of the values of one column, by first appearance.

Integers go through a table over their range, everything else through Arrow's dictionaries.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any, Generic, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import types as patypes

from distmom.lake.columns.convert import int64_array, native_values, valid_rows
from distmom.lake.keys.keyvalues import NULL, Component, components
from distmom.numerics.arrays import Bools, Ints, read_only
from distmom.numerics.twins import compiled_twin

MOST_TABLE_ENTRIES = 2**21  # 16 MB: integer keys of a smaller range are looked up, not hashed
SMALL_DICTIONARY = 4_096
FEW_IDS = 32

_kernels = compiled_twin("distmom.numerics.lookup")

Mask = Bools | None
Value = TypeVar("Value", bound=Hashable)
ValuesOf = Callable[[Ints], list[Value]]


def dictionary_places(array: pa.DictionaryArray) -> Ints:
    """Place in its dictionary of each row's value; behind the last one where the row is null."""
    places, valid = native_values(array.indices).astype(np.int64, copy=False), valid_rows(array)
    return places if valid is None else np.where(valid, places, len(array.dictionary))


class FirstSeen(Generic[Value]):
    """Values in the order of their first appearance."""

    def __init__(self, *, compiled: bool = False) -> None:
        self.values: list[Value] = []
        self._compiled = compiled
        self._codes: dict[Value, int] = {}
        self._scratch = np.empty(0, np.int64)

    def __len__(self) -> int:
        return len(self.values)

    def code(self, value: Value) -> int:
        """Code of a value, a new one where it has none."""
        code = self._codes.setdefault(value, len(self.values))
        if code == len(self.values):
            self.values.append(value)
        return code

    def get(self, value: Value) -> int:
        """Code of a value, -1 where it has none."""
        return self._codes.get(value, -1)

    def known(self, values: NDArray[np.generic], base: int, n: int, table: Ints, keep: Mask) -> Ints | None:
        """Codes of ``values - base`` by the first n entries of a table of codes, where all values have one.

        None if one has none, or without compiled kernels: then `look_up` has to see to it. The result lies in
        the same memory as that of `look_up`.
        """
        if not self._compiled or values.dtype not in (np.int32, np.int64) or not values.size:
            return None
        self._scratch, codes = sized(self._scratch, values.size)
        if not _kernels.look_up_all(read_only(values), base, n, table, codes):
            return None
        if keep is not None:
            codes[~keep] = -1
        return codes

    def look_up(self, ids: Ints, table: Ints, keep: Mask, values_of: ValuesOf[Value]) -> Ints:
        """Codes of local ids by a table of the ids' codes, filled where an id appears first.

        All ids must be within the table. The result lies in memory that the next call uses again.
        """
        self._scratch, codes = sized(self._scratch, ids.size)
        table.take(ids, out=codes, mode="clip")  # with "raise" NumPy would copy the result
        if codes.size and codes.min() < 0:
            rows = np.flatnonzero(codes < 0 if keep is None else (codes < 0) & keep)
            fresh = _distinct(ids[rows], table.size)
            table[fresh] = [self.code(value) for value in values_of(fresh)]
            codes[rows] = table.take(ids[rows])
        if keep is not None:
            codes[~keep] = -1
        return codes


def _distinct(ids: Ints, n: int) -> Ints:
    """Distinct ids below n, in the order of their first appearance."""
    if FEW_IDS * ids.size < n:  # sorting them takes less time than a table of all
        distinct, first = np.unique(ids, return_index=True)
        return distinct[np.argsort(first)]
    first = np.full(n, -1, np.int64)
    first[ids[::-1]] = np.arange(ids.size)[::-1]  # of equal ids the last one stays: the first row
    distinct = np.flatnonzero(first >= 0)
    return distinct[np.argsort(first[distinct])]


def sized(scratch: Ints, size: int) -> tuple[Ints, Ints]:
    """Scratch of at least ``size`` entries, and its first ``size`` ones."""
    if scratch.size < size:
        scratch = np.empty(size, np.int64)
    return scratch, scratch[:size]


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


class ColumnCodes:
    """Codes of one column."""

    def __init__(self, *, compiled: bool = False) -> None:
        self.seen: FirstSeen[Component] = FirstSeen(compiled=compiled)
        self._span = SpanTable(np.int64(-1), 1)  # codes; behind them that of null
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
