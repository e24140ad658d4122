"""Codes 0, 1, 2, … of the values of one column, by first appearance, by way of Arrow's dictionaries."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from pyarrow import types as patypes

from distmom.lake.columns.convert import int64_array, native_values, valid_rows
from distmom.lake.keys.keyvalues import NULL, Component, components
from distmom.numerics.arrays import Bools, Ints

SMALL_DICTIONARY, ALIGNED = 4_096, 2_048

Mask = Bools | None


def dictionary_places(array: pa.DictionaryArray) -> Ints:
    """Place in its dictionary of each row's value; behind the last one where the row is null."""
    places = native_values(array.indices).astype(np.int64)
    valid = valid_rows(array)
    if valid is not None:
        places[~valid] = len(array.dictionary)  # an index may be anything there
    return places


def _near_integers(array: pa.Array) -> tuple[pa.Array, Ints] | None:
    """A narrow range of integers as their dictionary, which spares a search; None of other integers."""
    values, valid = native_values(array), valid_rows(array)
    some = values if valid is None else values[valid]
    low = int(some.min()) // ALIGNED * ALIGNED if some.size else 0
    if not some.size or int(some.max()) >= low + SMALL_DICTIONARY or not -(2**62) < low < 2**62:
        return None
    places = values.astype(np.int64) - low
    if valid is not None:
        places[~valid] = SMALL_DICTIONARY
    return int64_array(np.arange(low, low + SMALL_DICTIONARY)), places


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
        near = _near_integers(array) if patypes.is_integer(array.type) else None
        if near is None and patypes.is_null(array.type):
            array = pa.nulls(len(array), pa.int8())
        if near is None and not isinstance(array, pa.DictionaryArray):
            array = array.dictionary_encode()
        dictionary, places = near or (array.dictionary, dictionary_places(array))
        if patypes.is_string_view(dictionary.type) or patypes.is_binary_view(dictionary.type):
            text = patypes.is_string_view(dictionary.type)  # Arrow cannot take from views
            dictionary = dictionary.cast(pa.large_string() if text else pa.large_binary())
        if self._dictionary is None or not dictionary.equals(self._dictionary):
            self._record()
            self._dictionary = dictionary
            self._start(dictionary)
        codes = self._codes.take(places)
        if codes.min(initial=0) < 0:
            rows = np.flatnonzero(codes < 0 if keep is None else (codes < 0) & keep)
            fresh, first = np.unique(places[rows], return_index=True)
            fresh = fresh[np.argsort(first)]
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
