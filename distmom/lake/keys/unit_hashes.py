"""Hashes of the units that rows belong to: 64 bits keyed by the seed, from the values of one or more columns.

A hash depends on the seed and the values alone, not on their type's width, on dictionaries, batches or files;
nothing of one file is needed for the next. So tables here serve speed only, and are bounded.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import types as patypes

from distmom.lake.columns.convert import int64_array, native_values, valid_rows
from distmom.lake.keys.codes import SpanTable
from distmom.lake.keys.keybytes import Messages, component_bytes, key_bytes
from distmom.lake.keys.keyvalues import NULL
from distmom.lake.keys.text_numbers import TextNumbers
from distmom.numerics.arrays import Words
from distmom.numerics.random.keyed_hash import hash_messages, join_hashes, look_up_hashes

WIDEST_SPAN = 1 << 20
"""Integers within a range of so many are hashed once each and looked up (8 MB); others once a batch."""

TELLING_ROWS, DIRECT_BATCHES = 4_096, 15
"""If most values of a batch of so many rows occur once, so many batches are not searched for equal values."""

UNKNOWN = np.uint64(0)
"""Not hashed yet. (A value whose hash this is is hashed each time.)"""


class UnitHashes:
    """Hashes the units of batches of rows.

    Parameters
    ----------
    n_columns : int
        Columns whose values make a unit.
    seed : int
        128 bits.
    compiled : bool
        Use compiled kernels (same hashes).

    Notes
    -----
    A column's hash is the keyed BLAKE2b of `keybytes`; those of several columns are joined by mixing. About
    1 ns a row for integers of a narrow range and texts that the file holds as a dictionary, 10 to 40 ns for
    other texts and where a batch has to be searched for its distinct values; and 0.15 us for each distinct
    value, 0.6 us without compiled kernels.
    """

    def __init__(self, n_columns: int, seed: int, *, compiled: bool = False) -> None:
        self._columns = [ColumnHashes(seed, compiled) for _ in range(n_columns)]
        self._compiled = compiled

    def of(self, keys: Sequence[pa.Array]) -> Words:
        """Hash of the unit of each row; null is a unit of its own."""
        found = self._columns[0].of(keys[0])
        for column, array in zip(self._columns[1:], keys[1:], strict=True):
            found = join_hashes(found, column.of(array))
        return found


class ColumnHashes:
    """Hashes of the values of one column."""

    def __init__(self, seed: int, compiled: bool, numbers: TextNumbers | None = None) -> None:
        self._secret = seed.to_bytes(16, "little") + b"units"  # that of files is the seed alone
        self._compiled = compiled
        self._null = self._hash(Messages.of([component_bytes(NULL)]))[0]
        self._span = SpanTable(UNKNOWN)  # hashes of integers
        self._dictionary: pa.Array | None = None
        self._table = np.empty(0, np.uint64)  # hashes of the dictionary's values, last that of null
        self._numbers = TextNumbers() if compiled and numbers is None else numbers
        self._start, self._of_numbers = -1, np.empty(0, np.uint64)  # hashes of texts that have numbers
        self._direct = 0  # so many batches are hashed row by row

    def _hash(self, messages: Messages) -> Words:
        return hash_messages(*messages, self._secret, compiled=self._compiled)

    def of(self, array: pa.Array) -> Words:
        """Hash of each row's value."""
        if patypes.is_null(array.type):
            return np.full(len(array), self._null)
        if patypes.is_integer(array.type):
            found = self._of_span(array)
            if found is not None:
                return found
        if isinstance(array, pa.DictionaryArray):
            return self._of_dictionary(array)
        if self._direct > 0:
            self._direct -= 1
            return self._of_values(array)
        numbered = None if self._numbers is None else self._of_texts(array, self._numbers)
        if numbered is not None:
            return numbered
        coded = array.dictionary_encode()
        if len(array) >= TELLING_ROWS and 2 * len(coded.dictionary) > len(array):
            self._direct = DIRECT_BATCHES
        return self._of_dictionary(coded)

    def _of_values(self, array: pa.Array) -> Words:
        """Hashes of values, each by itself."""
        found = self._hash(key_bytes(array))
        valid = valid_rows(array)
        if valid is not None:
            found[~valid] = self._null
        return found

    def _of_texts(self, array: pa.Array, numbers: TextNumbers) -> Words | None:
        """Hashes of texts by their numbers; None where they have none."""
        coded = numbers.of(array)
        if coded is None:
            return None
        if coded.start != self._start:
            self._start, self._of_numbers = coded.start, self._of_numbers[:0]
        first = self._of_numbers.size
        if coded.n > first:
            fresh = self._of_values(numbers.texts(first, array.type))
            self._of_numbers = np.concatenate([self._of_numbers, fresh])
        found: Words = self._of_numbers.take(coded.numbers)
        if coded.valid is not None:
            found[~coded.valid] = self._null
        return found

    def _of_dictionary(self, array: pa.DictionaryArray) -> Words:
        dictionary = array.dictionary
        if self._dictionary is None or not dictionary.equals(self._dictionary):
            self._dictionary = dictionary
            self._table = np.append(self._of_values(dictionary), self._null)
        valid = valid_rows(array)
        places: NDArray[np.integer] = native_values(array.indices)  # type: ignore[assignment]
        if valid is not None:
            places = np.where(valid, places, len(dictionary))  # an index may be anything where it is null
        return self._table.take(places)

    def _of_span(self, array: pa.Array) -> Words | None:
        """Hashes of integers by a table over their range; None where the range is too wide."""
        values, span = native_values(array), self._span
        valid = valid_rows(array)
        if self._compiled and values.dtype in (np.int32, np.int64) and span.size:
            known = look_up_hashes(values, span.base, valid, self._null, span.entries)
            if known is not None:
                return known
        some = values if valid is None else values[valid]
        if not some.size:
            return np.full(len(array), self._null)
        if not span.cover(some, WIDEST_SPAN):
            return None
        places = values.astype(np.int64) - span.base
        unknown = span.entries.take(places, mode="clip") == UNKNOWN  # anything where it is null
        if valid is not None:
            unknown &= valid
        if unknown.any():
            met = np.zeros(span.entries.size, np.bool_)
            met[places[unknown]] = True
            new = np.flatnonzero(met)  # in less time than sorting takes
            span.entries[new] = self._hash(key_bytes(int64_array(new + span.base)))
        found: Words = span.entries.take(places, mode="clip")
        if valid is not None:
            found[~valid] = self._null
        return found
