"""Number the groups of rows: keys to codes 0, 1, 2, … by first appearance."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from distmom.lake.columns.convert import native_values
from distmom.lake.keys.codes import MOST_TABLE_ENTRIES, ColumnCodes
from distmom.lake.keys.first_seen import FirstSeen, Mask
from distmom.lake.keys.keyvalues import Key
from distmom.lake.keys.text_numbers import TextNumbers
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
    compiled : bool
        Use compiled kernels (same codes).

    Notes
    -----
    About 2 ns a row for integers whose range is below 2**21 and for texts that the file holds as a
    dictionary, 10 to 40 ns for other texts, more where Arrow hashes a batch; several columns add 2 ns each.

    Examples
    --------
    >>> from distmom.lake import decode_key
    >>> encoder = KeyEncoder(1)
    >>> encoder.encode((pa.array(["b", None, "a", "b"]),), None)
    array([0, 1, 2, 0])
    >>> [decode_key(key) for key in encoder.keys]
    [('b',), (None,), ('a',)]
    """

    def __init__(self, n_columns: int, known: Sequence[Key] = (), *, compiled: bool = False) -> None:
        self._columns = [ColumnCodes(compiled=compiled) for _ in range(n_columns)]
        self._pairs = [_PairCodes() for _ in range(n_columns - 1)]
        for key in known:
            codes = [column.seen.code(value) for column, value in zip(self._columns, key, strict=True)]
            code = codes[0]
            for pair, right in zip(self._pairs, codes[1:], strict=True):
                code = pair.seen.code((code, right))

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
    def numbers(self) -> list[TextNumbers | None]:
        """Of each column, the numbers of its texts, if there are any."""
        return [column.numbers for column in self._columns]

    @property
    def n_keys(self) -> int:
        """Number of keys that have a code."""
        if self._pairs:
            return len(self._pairs[-1].seen)
        return len(self._columns[0].seen) if self._columns else 1

    @property
    def keys(self) -> list[Key]:
        """The keys in the order of their codes; see `distmom.lake.keys.keyvalues`."""
        return self.keys_from(0)

    def keys_from(self, first: int) -> list[Key]:
        """The keys from that code on."""
        if not self._columns:
            return [] if first else [()]
        if not self._pairs:
            return [(component,) for component in self._columns[0].seen.values[first:]]
        return [self._key(len(self._pairs), code) for code in range(first, self.n_keys)]

    def _key(self, n_pairs: int, code: int) -> Key:
        """The key with a code among those of the first columns."""
        if not n_pairs:
            return (self._columns[0].seen.values[code],)
        left, right = self._pairs[n_pairs - 1].seen.values[code]
        return (*self._key(n_pairs - 1, left), self._columns[n_pairs].seen.values[right])


class _PairCodes:
    """Codes of pairs of codes."""

    def __init__(self) -> None:
        self.seen: FirstSeen[tuple[int, int]] = FirstSeen()
        self._width = 1  # entries of the table for each left code
        self._table = np.full(0, -1, np.int64)

    def encode(self, left: Ints, right: Ints, keep: Mask) -> Ints:
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

        def values_of(fresh: Ints) -> list[tuple[int, int]]:
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

    def _encode_sparse(self, left: Ints, right: Ints, keep: Mask) -> Ints:
        """Pairs too many for a table: hash those of the batch."""
        packed = (left << 32) | (right & 0xFFFF_FFFF)
        array = pa.Array.from_buffers(
            pa.int64(), packed.size, [None, pa.py_buffer(packed)]
        ).dictionary_encode()
        distinct = native_values(array.dictionary)
        ids = native_values(array.indices).astype(np.int64)

        def values_of(fresh: Ints) -> list[tuple[int, int]]:
            return [divmod(i, 2**32) for i in distinct[fresh].tolist()]

        return self.seen.look_up(ids, np.full(distinct.size, -1, np.int64), keep, values_of)
