"""Codes of the values of dictionary arrays."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import types as patypes

from distmom.lake.columns.convert import native_values, valid_rows
from distmom.lake.keys.codes import FirstSeen, Mask, sized
from distmom.lake.keys.keyvalues import NULL, Component, components
from distmom.numerics.arrays import Ints

SMALL_DICTIONARY = 4_096


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
    return array.take(pa.Array.from_buffers(pa.int64(), rows.size, [None, pa.py_buffer(rows)]))


def _index_in(values: pa.Array, among: pa.Array) -> pa.Int32Array | None:
    """Positions of values among others, null where they are not there; None for types Arrow cannot hash."""
    import pyarrow.compute as pc

    try:
        return pc.call_function("index_in", [values], pc.SetLookupOptions(among))
    except pa.ArrowNotImplementedError:
        return None
