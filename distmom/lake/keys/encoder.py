"""Number the groups of rows: keys to codes 0, 1, 2, … by first appearance."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from distmom.lake.columns.convert import int64_array
from distmom.lake.keys.codes import ColumnCodes, Mask
from distmom.lake.keys.keyvalues import Key
from distmom.numerics.arrays import Ints


class KeyEncoder:
    """Codes of the keys of one unit of work, numbered by first appearance among the rows that count.

    The numbering depends on the rows alone, not on how they are cut into batches.

    Parameters
    ----------
    n_columns : int
        Number of ``by`` columns; with none, all rows are in one group, whose key is ``()``.
    known : sequence of key, optional
        Keys that have the first codes already.

    Notes
    -----
    About 3 ns a row for texts that the file holds as a dictionary, 10 ns or so for others, which have to be
    hashed, and for each further column.

    Examples
    --------
    >>> from distmom.lake import decode_key
    >>> encoder = KeyEncoder(1)
    >>> encoder.encode((pa.array(["b", None, "a", "b"]),), None)
    array([0, 1, 2, 0])
    >>> [decode_key(key) for key in encoder.keys]
    [('b',), (None,), ('a',)]
    """

    def __init__(self, n_columns: int, known: Sequence[Key] = ()) -> None:
        self._columns = [ColumnCodes() for _ in range(n_columns)]
        self._pairs = [ColumnCodes() for _ in range(n_columns - 1)]  # of left * 2**32 + right
        for key in known:
            codes = [column.code(value) for column, value in zip(self._columns, key, strict=True)]
            code = codes[0]
            for pair, right in zip(self._pairs, codes[1:], strict=True):
                code = pair.code((1, code << 32 | right))

    def encode(self, keys: Sequence[pa.Array], keep: Mask, n_rows: int | None = None) -> Ints:
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
            right = column.encode(array, keep)
            codes = pair.encode(int64_array(codes << 32 | right & 0xFFFF_FFFF), keep)
        return codes

    @property
    def n_keys(self) -> int:
        """Number of keys that have a code."""
        return len((self._pairs or self._columns)[-1].values) if self._columns else 1

    @property
    def keys(self) -> list[Key]:
        """The keys in the order of their codes; see `distmom.lake.keys.keyvalues`."""
        if not self._columns:
            return [()]
        keys: list[Key] = [(component,) for component in self._columns[0].values]
        for column, pair in zip(self._columns[1:], self._pairs, strict=True):
            places = (divmod(packed, 2**32) for _, packed in pair.values)
            keys = [(*keys[left], column.values[right]) for left, right in places]
        return keys
