"""Numbers 0, 1, 2, … of the texts of one column, by first appearance, in one table for all batches.

Arrow makes a dictionary for each batch, whose values must be found again among those of the batches before.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import types as patypes

from distmom.lake.columns.convert import valid_rows
from distmom.numerics.arrays import Bools, Ints, read_only
from distmom.numerics.twins import compiled_twin

MOST_TEXTS, MOST_BYTES = 1 << 20, 1 << 25
"""A table that holds more than either before a batch starts anew."""

ROOM, ROOM_BYTES = 1 << 10, 1 << 14
"""Texts, and bytes of them, that a new table has room for."""

PLACE_BYTES = 48
"""Of a text in a table that has just been doubled: its end and two slots, each twice."""

_kernels = compiled_twin("distmom.numerics.texts")


class NumberedTexts(NamedTuple):
    """The numbers of a batch.

    Attributes
    ----------
    numbers : ndarray of int32
        Anything where the text is null.
    valid : ndarray of bool, optional
        Which rows are not null.
    n : int
        Texts that have numbers; those of the next batches are not below it.
    start : int
        How many times the numbers have started anew.
    """

    numbers: NDArray[np.int32]
    valid: Bools | None
    n: int
    start: int


def table_bytes(n_texts: int, n_bytes: int) -> int:
    """Bytes of the table of so many texts, which have so many bytes in all."""
    return PLACE_BYTES * min(n_texts, MOST_TEXTS) + 2 * min(n_bytes, MOST_BYTES)


class TextNumbers:
    """Numbers the texts, or bytes, of arrays that are no dictionaries; compiled only."""

    def __init__(self) -> None:
        self._start = -1
        self._last: tuple[pa.Array, NumberedTexts] | None = None
        self._begin()

    def _begin(self) -> None:
        self._start += 1
        self._n = 0
        self._slots = np.zeros(2 * ROOM, np.uint64)
        self._edges = np.zeros(ROOM + 1, np.int64)
        self._texts = np.zeros(ROOM_BYTES, np.uint8)

    def of(self, array: pa.Array) -> NumberedTexts | None:
        """Numbers of the texts; None where it is better to let Arrow do it: of other types, or to start with.

        The numbers of the array that was given last are not made again.
        """
        if self._last is not None and self._last[0] is array:
            return self._last[1]
        type_ = array.type
        wide = patypes.is_large_string(type_) or patypes.is_large_binary(type_)
        if not (wide or patypes.is_string(type_) or patypes.is_binary(type_)):
            return None
        _, offsets, buffer = array.buffers()
        if buffer is None or not len(array) or not _kernels.ready("number_texts", len(array)):
            return None
        if self._n > MOST_TEXTS or self._edges[self._n] > MOST_BYTES:
            self._begin()
        width = 8 if wide else 4
        edges = np.frombuffer(offsets, f"i{width}", len(array) + 1, array.offset * width)
        numbers = self._number(edges.astype(np.int64), np.frombuffer(buffer, np.uint8))
        found = NumberedTexts(numbers, valid_rows(array), self._n, self._start)
        self._last = array, found
        return found

    def _number(self, edges: Ints, data: NDArray[np.uint8]) -> NDArray[np.int32]:
        numbers = np.empty(edges.size - 1, np.int32)
        row = 0
        edges, data = read_only(edges), read_only(data)
        while True:
            table = self._slots, self._edges, self._texts, self._n
            row, self._n = _kernels.number_texts(edges, data, row, *table, numbers)
            if row == numbers.size:
                return numbers
            self._make_room(int(edges[row + 1] - edges[row]))

    def _make_room(self, n_bytes: int) -> None:
        """Room for twice as many texts, or bytes, whichever there is no room for."""
        if self._n == self._edges.size - 1:
            self._edges = np.concatenate([self._edges, np.zeros(self._n, np.int64)])
            self._slots = np.zeros(2 * self._slots.size, np.uint64)
            _kernels.place_texts(self._slots, self._edges, self._texts, self._n)
        used = int(self._edges[self._n])
        if used + n_bytes > self._texts.size:
            self._texts = np.concatenate([self._texts, np.zeros(max(used, n_bytes), np.uint8)])

    def texts(self, first: int, type_: pa.DataType) -> pa.Array:
        """The texts with the numbers from `first` on, in an array of the wide form of this type."""
        text = patypes.is_string(type_) or patypes.is_large_string(type_)
        edges = self._edges[first : self._n + 1]
        low, high = edges[[0, -1]].tolist()
        buffers = [None, pa.py_buffer(edges - low), pa.py_buffer(self._texts[low:high].copy())]
        return pa.Array.from_buffers(
            pa.large_string() if text else pa.large_binary(), edges.size - 1, buffers
        )
