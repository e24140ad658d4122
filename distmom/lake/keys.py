"""Number the groups of rows: keys to codes 0, 1, 2, … by first appearance."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Generic, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import types as patypes

from distmom.lake.convert import native_values, valid_rows
from distmom.lake.keyvalues import NULL, Component, Key, components, decode_key

__all__ = ["KeyEncoder", "decode_key"]

Codes = NDArray[np.int64]
Value = TypeVar("Value", bound=Hashable)
ValuesOf = Callable[["Codes"], list[Value]]
Mask = NDArray[np.bool_] | None

MOST_TABLE_ENTRIES = 2**21  # 16 MB: integer keys of a smaller range are looked up, not hashed
SMALL_DICTIONARY = 4_096


class KeyEncoder:
    """Codes of the keys of one unit of work, numbered by first appearance among the rows that count.

    The numbering depends on the rows alone, not on how they are cut into batches.

    Parameters
    ----------
    n_columns : int
        Number of ``by`` columns; with none, all rows are in one group, whose key is ``()``.

    Notes
    -----
    About 2 ns a row for integers whose range is below 2**21 and for texts that the file holds as a
    dictionary, 10 ns or so where a batch has to be hashed; several columns add 2 ns each.

    Examples
    --------
    >>> encoder = KeyEncoder(1)
    >>> encoder.encode((pa.array(["b", None, "a", "b"]),), None)
    array([0, 1, 2, 0])
    >>> [decode_key(key) for key in encoder.keys]
    [('b',), (None,), ('a',)]
    """

    def __init__(self, n_columns: int) -> None:
        self._columns = [_ColumnCodes() for _ in range(n_columns)]
        self._pairs = [_PairCodes() for _ in range(n_columns - 1)]

    def encode(self, keys: Sequence[pa.Array], keep: Mask, n_rows: int | None = None) -> Codes:
        """Codes of the rows of a batch; -1 for rows that ``keep`` drops.

        Parameters
        ----------
        keys : sequence of pyarrow.Array
            The ``by`` columns of a batch.
        keep : (n_rows,) bool, optional
            Rows that count; None for all. Keys of the others get no code.
        n_rows : int, optional
            Number of rows, needed where there are neither columns nor ``keep``.

        Returns
        -------
        (n_rows,) int64
            In memory that the next call uses again: copy it to keep it.
        """
        if not keys:
            size = len(keep) if keep is not None else (n_rows or 0)
            return np.zeros(size, np.int64) if keep is None else np.where(keep, 0, -1)
        codes = self._columns[0].encode(keys[0], keep)
        for column, pair, array in zip(self._columns[1:], self._pairs, keys[1:], strict=True):
            codes = pair.encode(codes, column.encode(array, keep), keep)
        return codes

    @property
    def n_keys(self) -> int:
        """Number of keys that have a code."""
        if self._pairs:
            return len(self._pairs[-1].seen)
        return len(self._columns[0].seen) if self._columns else 1

    @property
    def keys(self) -> list[Key]:
        """The keys in the order of their codes; see `distmom.lake.keyvalues`."""
        if not self._columns:
            return [()]
        keys: list[Key] = [(component,) for component in self._columns[0].seen.values]
        for column, pair in zip(self._columns[1:], self._pairs, strict=True):
            keys = [(*keys[left], column.seen.values[right]) for left, right in pair.seen.values]
        return keys


class _Seen(Generic[Value]):
    """Values in the order of their first appearance."""

    def __init__(self) -> None:
        self.values: list[Value] = []
        self._codes: dict[Value, int] = {}
        self._scratch = np.empty(0, np.int64)

    def __len__(self) -> int:
        return len(self.values)

    def code(self, value: Value) -> int:
        code = self._codes.setdefault(value, len(self.values))
        if code == len(self.values):
            self.values.append(value)
        return code

    def get(self, value: Value) -> int:
        return self._codes.get(value, -1)

    def look_up(self, ids: Codes, table: Codes, keep: Mask, values_of: ValuesOf[Value]) -> Codes:
        """Codes of local ids by a table of the ids' codes, filled where an id appears first.

        All ids must be within the table. The result lies in memory that the next call uses again.
        """
        self._scratch, codes = _sized(self._scratch, ids.size)
        table.take(ids, out=codes, mode="clip")  # with "raise" NumPy would copy the result
        if codes.size and codes.min() < 0:
            rows = np.flatnonzero(codes < 0 if keep is None else (codes < 0) & keep)
            first = np.full(table.size, -1, np.int64)
            first[ids[rows[::-1]]] = rows[::-1]  # of equal ids the last one stays: the first row
            fresh = np.flatnonzero(first >= 0)
            fresh = fresh[np.argsort(first[fresh])]
            table[fresh] = [self.code(value) for value in values_of(fresh)]
            codes[rows] = table.take(ids[rows])
        if keep is not None:
            codes[~keep] = -1
        return codes


class _ColumnCodes:
    """Codes of one column."""

    def __init__(self) -> None:
        self.seen: _Seen[Component] = _Seen()
        self._base = 0
        self._span = np.full(1, -1, np.int64)  # code of base + i; the last entry is that of null
        self._dictionary: pa.Array | None = None
        self._of_dictionary = np.full(1, -1, np.int64)
        self._scratch = np.empty(0, np.int64)

    def encode(self, array: pa.Array, keep: Mask) -> Codes:
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
        return self._encode_dictionary(array, keep)

    def _ids(self, values: NDArray[np.generic], base: int, array: pa.Array, null_id: int) -> Codes:
        """``values - base``, with ``null_id`` where the array is null, in memory that is used again."""
        self._scratch, ids = _sized(self._scratch, values.size)
        np.copyto(ids, values, casting="unsafe")
        if base:
            ids -= base
        valid = valid_rows(array)
        if valid is not None:
            ids[~valid] = null_id
        return ids

    def _encode_dictionary(self, array: pa.DictionaryArray, keep: Mask) -> Codes:
        dictionary = array.dictionary
        if patypes.is_string_view(dictionary.type) or patypes.is_binary_view(dictionary.type):
            text = patypes.is_string_view(dictionary.type)  # Arrow cannot take from views
            dictionary = dictionary.cast(pa.large_string() if text else pa.large_binary())
        if self._dictionary is None or not dictionary.equals(self._dictionary):
            self._dictionary = dictionary
            self._of_dictionary = self._known_codes(dictionary)
        n = len(dictionary)
        ids = self._ids(native_values(array.indices), 0, array, n)

        def values_of(fresh: Codes) -> list[Component]:
            if n <= SMALL_DICTIONARY:  # without pyarrow.compute, whose import takes 70 ms
                every = [*components(dictionary), NULL]
                return [every[i] for i in fresh.tolist()]
            known = fresh[fresh < n]
            chosen = pa.Array.from_buffers(pa.int64(), known.size, [None, pa.py_buffer(known)])
            found = components(dictionary.take(chosen))
            if known.size < fresh.size:
                found.insert(int(np.flatnonzero(fresh == n)[0]), NULL)
            return found

        return self.seen.look_up(ids, self._of_dictionary, keep, values_of)

    def _known_codes(self, dictionary: pa.Array) -> Codes:
        """Codes of a dictionary's values, and of null after them; -1 where there is none yet.

        Each row group has a dictionary of its own, as a rule with the same values: looking up all of a small
        one at once is cheaper than to find out from the rows which of them are new.
        """
        codes = np.full(len(dictionary) + 1, -1, np.int64)
        if len(dictionary) <= SMALL_DICTIONARY and len(self.seen):
            codes[:-1] = [self.seen.get(value) for value in components(dictionary)]
            codes[-1] = self.seen.get(NULL)
        return codes

    def _encode_span(self, array: pa.Array, keep: Mask) -> Codes | None:
        """Codes of integers by a table over their range; None where the range is too wide."""
        values = native_values(array)
        valid = valid_rows(array)
        known = values if valid is None else values[valid]
        if known.size and not self._cover(int(known.min()), int(known.max())):
            return None
        n, base = self._span.size - 1, self._base
        ids = self._ids(values, base, array, n)
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


class _PairCodes:
    """Codes of pairs of codes."""

    def __init__(self) -> None:
        self.seen: _Seen[tuple[int, int]] = _Seen()
        self._width = 1  # entries of the table for each left code
        self._table = np.full(0, -1, np.int64)

    def encode(self, left: Codes, right: Codes, keep: Mask) -> Codes:
        n_left = int(left.max(initial=-1)) + 1
        n_right = int(right.max(initial=-1)) + 1
        if n_left == 0:
            return left  # every row is dropped
        width = self._width
        while width < n_right:
            width *= 2
        n_left = max(n_left, self._table.size // self._width)
        if n_left * width > MOST_TABLE_ENTRIES:
            return self._encode_sparse(left, right, keep)
        self._grow(n_left, width)
        ids = left  # the column's scratch, which is not needed any more
        ids *= width
        ids += right
        if keep is not None:
            ids[~keep] = 0

        def values_of(fresh: Codes) -> list[tuple[int, int]]:
            return [divmod(i, width) for i in fresh.tolist()]

        return self.seen.look_up(ids, self._table, keep, values_of)

    def _grow(self, n_left: int, width: int) -> None:
        if width == self._width and n_left * width <= self._table.size:
            return
        n_rows = max(n_left, min(2 * n_left, MOST_TABLE_ENTRIES // width))
        table = np.full((n_rows, width), -1, np.int64)
        old = self._table.reshape(-1, self._width)
        table[: old.shape[0], : self._width] = old
        self._table, self._width = table.ravel(), width

    def _encode_sparse(self, left: Codes, right: Codes, keep: Mask) -> Codes:
        """Pairs too many for a table: hash those of the batch."""
        packed = (left << 32) | (right & 0xFFFF_FFFF)
        array = pa.Array.from_buffers(
            pa.int64(), packed.size, [None, pa.py_buffer(packed)]
        ).dictionary_encode()
        distinct = native_values(array.dictionary)
        ids = native_values(array.indices).astype(np.int64)

        def values_of(fresh: Codes) -> list[tuple[int, int]]:
            return [divmod(i, 2**32) for i in distinct[fresh].tolist()]

        return self.seen.look_up(ids, np.full(distinct.size, -1, np.int64), keep, values_of)


def _sized(scratch: Codes, size: int) -> tuple[Codes, Codes]:
    """Scratch of at least ``size`` entries, and its first ``size`` ones."""
    if scratch.size < size:
        scratch = np.empty(size, np.int64)
    return scratch, scratch[:size]
