"""Codes 0, 1, 2, … of the values of one column, by first appearance, by way of Arrow's dictionaries."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from pyarrow import types as patypes

from distmom.lake.columns.convert import int64_array, native_values, valid_rows
from distmom.lake.keys.keyvalues import NULL, Component, components
from distmom.numerics.arrays import Bools, Ints

SMALL_DICTIONARY = 4_096

Mask = Bools | None


def dictionary_places(array: pa.DictionaryArray) -> Ints:
    """Place in its dictionary of each row's value; behind the last one where the row is null."""
    places, valid = native_values(array.indices).astype(np.int64, copy=False), valid_rows(array)
    return places if valid is None else np.where(valid, places, len(array.dictionary))


def _near(array: pa.Array) -> pa.DictionaryArray:
    """Integers as places among all from the least to the greatest, without hashes where these are few.

    Batches with the same ends have the same dictionary.
    """
    values = native_values(array)
    most = 0 if array.null_count else min(SMALL_DICTIONARY, values.size // 16)
    n = int(values.max()) - int(values.min()) + 1 if most else 0
    if not 0 < n <= most:
        return array.dictionary_encode()
    least = values.min().astype(np.int64)  # differences are right also where 64 bits without a sign wrap
    data = pa.py_buffer((np.arange(n) + least).astype(values.dtype))
    every = pa.Array.from_buffers(array.type, n, [None, data])  # pa.array would import pandas
    return pa.DictionaryArray.from_arrays(int64_array(values.astype(np.int64) - least), every, safe=False)


class ColumnCodes:
    """Codes of the values of one column.

    Each row group, and each batch that had to be hashed, has a dictionary of its own, as a rule with many
    of the same values. A small one is looked up value by value, which is cheaper than to find out from the
    rows which values are new; of a large one, those seen in large ones before are found by Arrow.

    Attributes
    ----------
    values : list of Component
        In the order of their first appearance.
    """

    def __init__(self) -> None:
        self.values: list[Component] = []
        self._code_of: dict[Component, int] = {}
        self._dictionary: pa.Array | None = None
        self._codes = np.full(1, -1, np.int64)  # of the dictionary's values; the last one is that of null
        self._unrecorded = np.zeros(0, np.bool_)  # values of a large dictionary that are not recorded yet
        self._recorded: pa.Array | None = None
        self._recorded_codes = np.zeros(0, np.int64)

    def code(self, value: Component) -> int:
        """Code of a value, a new one where it has none."""
        code = self._code_of.setdefault(value, len(self.values))
        if code == len(self.values):
            self.values.append(value)
        return code

    def encode(self, array: pa.Array, keep: Mask) -> Ints:
        """Codes of the rows of a batch; -1 for rows that ``keep`` drops."""
        if patypes.is_null(array.type):
            array = pa.nulls(len(array), pa.int8())
        if not isinstance(array, pa.DictionaryArray):
            array = _near(array) if patypes.is_integer(array.type) else array.dictionary_encode()
        dictionary = array.dictionary
        if patypes.is_string_view(dictionary.type) or patypes.is_binary_view(dictionary.type):
            text = patypes.is_string_view(dictionary.type)  # Arrow cannot take from views
            dictionary = dictionary.cast(pa.large_string() if text else pa.large_binary())
        if self._dictionary is None or not dictionary.equals(self._dictionary):
            self._record()
            self._dictionary = dictionary
            self._start(dictionary)
        places = dictionary_places(array)
        codes = self._codes.take(places)
        if codes.min(initial=0) < 0:
            rows = np.flatnonzero(codes < 0 if keep is None else (codes < 0) & keep)
            first = np.full(self._codes.size, len(array))
            first[places[rows[::-1]]] = rows[::-1]  # of equal places the last one written stays
            fresh = np.flatnonzero(first < len(array))
            fresh = fresh[np.argsort(first[fresh])]
            self._codes[fresh] = [self.code(value) for value in self._components(dictionary, fresh)]
            codes[rows] = self._codes.take(places[rows])
        if keep is not None:
            codes[~keep] = -1
        return codes

    def _components(self, dictionary: pa.Array, fresh: Ints) -> list[Component]:
        n = len(dictionary)
        if n <= SMALL_DICTIONARY:  # without pyarrow.compute, whose import takes 70 ms
            every = [*components(dictionary), NULL]
            return [every[i] for i in fresh.tolist()]
        found = components(dictionary.take(int64_array(fresh[fresh < n])))
        if len(found) < fresh.size:
            found.insert(int(np.flatnonzero(fresh == n)[0]), NULL)
        return found

    def _start(self, dictionary: pa.Array) -> None:
        """Fill in the codes of values of a new dictionary that are known already."""
        n = len(dictionary)
        self._codes = np.full(n + 1, -1, np.int64)
        self._codes[-1] = self._code_of.get(NULL, -1)
        self._unrecorded = np.zeros(0, np.bool_)
        if n <= SMALL_DICTIONARY:
            if self.values:
                self._codes[:-1] = [self._code_of.get(value, -1) for value in components(dictionary)]
            return
        self._unrecorded = np.ones(n, np.bool_)
        if self._recorded is None or self._recorded.type != dictionary.type:
            return
        import pyarrow.compute as pc

        try:
            positions = pc.call_function("index_in", [dictionary], pc.SetLookupOptions(self._recorded))
        except pa.ArrowNotImplementedError:  # a type that Arrow cannot hash
            return
        known = valid_rows(positions)
        rows = np.arange(n) if known is None else np.flatnonzero(known)
        self._codes[rows] = self._recorded_codes[native_values(positions)[rows]]
        self._unrecorded[rows] = False

    def _record(self) -> None:
        """Keep the values of a large dictionary that got codes, so that the next one finds them."""
        if self._unrecorded.size == 0 or self._dictionary is None:
            return
        rows = np.flatnonzero(self._unrecorded & (self._codes[:-1] >= 0))
        values = self._dictionary.take(int64_array(rows))
        if self._recorded is not None and self._recorded.type == values.type:
            self._recorded = pa.concat_arrays([self._recorded, values])
            self._recorded_codes = np.concatenate([self._recorded_codes, self._codes[rows]])
        else:
            self._recorded, self._recorded_codes = values, self._codes[rows]
