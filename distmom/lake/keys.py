"""Number the groups of rows: keys to codes 0, 1, 2, … by first appearance."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Generic, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import types as patypes

from distmom.lake.convert import bit_values, native_values, valid_rows
from distmom.lake.keyvalues import NULL, Component, Key, component_function, decode_key

__all__ = ["KeyEncoder", "decode_key"]

Codes = NDArray[np.int64]
Value = TypeVar("Value", bound=Hashable)
Mask = NDArray[np.bool_] | None

MOST_TABLE_ENTRIES = 2**21  # 16 MB: integer keys of a smaller range are looked up, not hashed


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

    def __len__(self) -> int:
        return len(self.values)

    def code(self, value: Value) -> int:
        code = self._codes.setdefault(value, len(self.values))
        if code == len(self.values):
            self.values.append(value)
        return code

    def look_up(
        self, ids: NDArray[np.int64], table: Codes, keep: Mask, value_of: Callable[[int], Value]
    ) -> Codes:
        """Codes of local ids by a table of the ids' codes, filled where an id appears first."""
        codes: Codes = table.take(ids)
        if codes.size and codes.min() < 0:
            rows = np.flatnonzero(codes < 0 if keep is None else (codes < 0) & keep)
            first = np.full(table.size, -1, np.int64)
            first[ids[rows[::-1]]] = rows[::-1]  # the last of equal ones stays: the first row
            fresh = np.flatnonzero(first >= 0)
            for local in fresh[np.argsort(first[fresh])].tolist():
                table[local] = self.code(value_of(local))
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

    def encode(self, array: pa.Array, keep: Mask) -> Codes:
        type_ = array.type
        if patypes.is_integer(type_):
            codes = self._encode_span(array, keep)
            if codes is not None:
                return codes
        if patypes.is_boolean(type_):
            ids = bit_values(array).astype(np.int64)
            return self._finish(ids, 2, array, keep, lambda i: (3, i == 1))
        if patypes.is_null(type_):
            return self._finish(np.zeros(len(array), np.int64), 0, array, keep, lambda _: NULL)
        if not isinstance(array, pa.DictionaryArray):
            array = array.dictionary_encode()
        return self._encode_dictionary(array, keep)

    def _finish(
        self, ids: NDArray[np.int64], n_ids: int, array: pa.Array, keep: Mask, value_of: Callable[[int], Component]
    ) -> Codes:
        """Look up ids below ``n_ids`` without a table that lasts; null is the id after them."""
        _mark_nulls(ids, array, n_ids)
        table = np.full(n_ids + 1, -1, np.int64)
        return self.seen.look_up(ids, table, keep, lambda i: NULL if i == n_ids else value_of(i))

    def _encode_dictionary(self, array: pa.DictionaryArray, keep: Mask) -> Codes:
        dictionary = array.dictionary
        if self._dictionary is None or not dictionary.equals(self._dictionary):
            self._dictionary = dictionary
            self._of_dictionary = np.full(len(dictionary) + 1, -1, np.int64)
        convert = component_function(dictionary.type)
        n = len(dictionary)
        ids = native_values(array.indices).astype(np.int64)
        _mark_nulls(ids, array, n)
        return self.seen.look_up(
            ids, self._of_dictionary, keep, lambda i: NULL if i == n else convert(dictionary[i])
        )

    def _encode_span(self, array: pa.Array, keep: Mask) -> Codes | None:
        """Codes of integers by a table over their range; None where the range is too wide."""
        values = native_values(array)
        valid = valid_rows(array)
        known = values if valid is None else values[valid]
        if known.size and not self._cover(int(known.min()), int(known.max())):
            return None
        ids = values.astype(np.int64)
        ids -= self._base
        n = self._span.size - 1
        _mark_nulls(ids, array, n)
        base = self._base
        return self.seen.look_up(ids, self._span, keep, lambda i: NULL if i == n else (1, base + i))

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
        ids = left * width
        ids += right
        if keep is not None:
            ids[~keep] = 0
        return self.seen.look_up(ids, self._table, keep, lambda i: divmod(i, width))

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
        array = pa.Array.from_buffers(pa.int64(), packed.size, [None, pa.py_buffer(packed)]).dictionary_encode()
        distinct = native_values(array.dictionary)
        ids = native_values(array.indices).astype(np.int64)
        table = np.full(distinct.size, -1, np.int64)

        def pair(local: int) -> tuple[int, int]:
            return divmod(int(distinct[local]), 2**32)

        return self.seen.look_up(ids, table, keep, pair)


def _mark_nulls(ids: NDArray[np.int64], array: pa.Array, null_id: int) -> None:
    valid = valid_rows(array)
    if valid is not None:
        ids[~valid] = null_id
