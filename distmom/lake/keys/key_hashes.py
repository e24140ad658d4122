"""Hashes of the keys of groups, which say in what range a key lies: equal where the keys are, in any type.

Numbers are mixed, which takes a few nanoseconds and gives different integers different hashes; other values
are hashed by their bytes, as units are.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import types as patypes

from distmom.lake.columns.convert import native_values, valid_rows
from distmom.lake.keys.keybytes import Messages, component_bytes
from distmom.lake.keys.keyvalues import NAN
from distmom.lake.keys.text_numbers import TextNumbers
from distmom.lake.keys.unit_hashes import ColumnHashes
from distmom.numerics.arrays import Floats, Words
from distmom.numerics.blocks.labels import GOLDEN, mix
from distmom.numerics.hash_ranges import ALL_WORDS
from distmom.numerics.random.keyed_hash import join_hashes

NUMBER_BYTES, INT64 = 9, 2.0**63
"""Of the message of a number: a letter, and the number."""


class KeyHashes:
    """Hashes the keys of batches of rows; `seed` has 128 bits, `numbers` are those of a `KeyEncoder`.

    Examples
    --------
    >>> hashes = KeyHashes(1, 0)
    >>> a, b = (hashes.of([pa.array([1, 2, None], type_)]) for type_ in (pa.int8(), pa.float64()))
    >>> bool((a == b).all()), len(set(a.tolist()))
    (True, 3)
    """

    def __init__(
        self,
        n_columns: int,
        seed: int,
        *,
        compiled: bool = False,
        numbers: Sequence[TextNumbers | None] | None = None,
    ) -> None:
        shared = numbers or [None] * n_columns
        self._columns = [_KeyColumn(seed, compiled, own) for own in shared]

    def of(self, keys: Sequence[pa.Array]) -> Words:
        """Hash of the key of each row."""
        found = self._columns[0].of(keys[0])
        for column, array in zip(self._columns[1:], keys[1:], strict=True):
            found = join_hashes(found, column.of(array))
        return found


class _KeyColumn(ColumnHashes):
    """Hashes of the values of one column."""

    def __init__(self, seed: int, compiled: bool, numbers: TextNumbers | None) -> None:
        self._key = np.uint64(seed % ALL_WORDS)
        super().__init__(seed, compiled, numbers)
        self._nan = self._hash(Messages.of([component_bytes(NAN)]))[0]

    def of(self, array: pa.Array) -> Words:
        """Hash of each row's value."""
        found = None
        if patypes.is_integer(array.type):
            found = self._integers(native_values(array))
        elif patypes.is_floating(array.type):
            found = self._floats(native_values(array).astype(np.float64))
        if found is None:
            return super().of(array)
        valid = valid_rows(array)
        if valid is not None:
            found[~valid] = self._null
        return found

    def _mixed(self, numbers: NDArray[np.generic], key: np.uint64) -> Words:
        with np.errstate(over="ignore"):
            return mix(numbers.view(np.uint64) * GOLDEN + key)

    def _integers(self, values: NDArray[np.generic]) -> Words | None:
        """Integers within int64."""
        if values.dtype == np.uint64 and values.size and int(values.max()) >= INT64:
            return None
        return self._mixed(values.astype(np.int64, copy=False), self._key)

    def _floats(self, values: Floats) -> Words:
        """Whole numbers as integers."""
        whole = (np.trunc(values) == values) & (values >= -INT64) & (values < INT64)
        integers = np.where(whole, values, 0.0).astype(np.int64)
        found = np.where(whole, self._mixed(integers, self._key), self._mixed(values, ~self._key))
        found[np.isnan(values)] = self._nan
        return found

    def _hash(self, messages: Messages) -> Words:
        """As `of` hashes the values that these are messages of."""
        found = super()._hash(messages)
        data, edges = messages
        starts = edges[:-1][np.diff(edges) == NUMBER_BYTES]
        rows = np.flatnonzero(np.diff(edges) == NUMBER_BYTES)
        if not rows.size:
            return found
        letters = data[starts]
        numbers = data[starts[:, None] + np.arange(1, NUMBER_BYTES)].copy().view("<i8")[:, 0]
        for letter, key in (("i", self._key), ("f", ~self._key)):
            mine = letters == ord(letter)
            found[rows[mine]] = self._mixed(numbers[mine].astype(np.int64), key)
        return found
