"""Codes of values in the order of their first appearance, looked up in tables."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from distmom.numerics.arrays import Bools, Ints, read_only
from distmom.numerics.twins import compiled_twin

FEW_IDS = 32

_kernels = compiled_twin("distmom.numerics.lookup")

Mask = Bools | None
Value = TypeVar("Value", bound=Hashable)
ValuesOf = Callable[[Ints], list[Value]]


class FirstSeen(Generic[Value]):
    """Values in the order of their first appearance."""

    def __init__(self, *, compiled: bool = False) -> None:
        self.values: list[Value] = []
        self._compiled = compiled
        self._codes: dict[Value, int] = {}
        self._scratch = np.empty(0, np.int64)

    def __len__(self) -> int:
        return len(self.values)

    def code(self, value: Value) -> int:
        """Code of a value, a new one where it has none."""
        code = self._codes.setdefault(value, len(self.values))
        if code == len(self.values):
            self.values.append(value)
        return code

    def get(self, value: Value) -> int:
        """Code of a value, -1 where it has none."""
        return self._codes.get(value, -1)

    def known(self, values: NDArray[np.generic], base: int, n: int, table: Ints, keep: Mask) -> Ints | None:
        """Codes of ``values - base`` by the first n entries of a table of codes, where all values have one.

        None if one has none, or without compiled kernels: then `look_up` has to see to it. The result lies in
        the same memory as that of `look_up`.
        """
        if not self._compiled or values.dtype not in (np.int32, np.int64) or not values.size:
            return None
        self._scratch, codes = sized(self._scratch, values.size)
        if not _kernels.look_up_all(read_only(values), base, n, table, codes):
            return None
        if keep is not None:
            codes[~keep] = -1
        return codes

    def look_up(self, ids: Ints, table: Ints, keep: Mask, values_of: ValuesOf[Value]) -> Ints:
        """Codes of local ids by a table of the ids' codes, filled where an id appears first.

        All ids must be within the table. The result lies in memory that the next call uses again.
        """
        self._scratch, codes = sized(self._scratch, ids.size)
        table.take(ids, out=codes, mode="clip")  # with "raise" NumPy would copy the result
        if codes.size and codes.min() < 0:
            rows = np.flatnonzero(codes < 0 if keep is None else (codes < 0) & keep)
            fresh = _distinct(ids[rows], table.size)
            table[fresh] = [self.code(value) for value in values_of(fresh)]
            codes[rows] = table.take(ids[rows])
        if keep is not None:
            codes[~keep] = -1
        return codes


def _distinct(ids: Ints, n: int) -> Ints:
    """Distinct ids below n, in the order of their first appearance."""
    if FEW_IDS * ids.size < n:  # sorting them takes less time than a table of all
        distinct, first = np.unique(ids, return_index=True)
        return distinct[np.argsort(first)]
    first = np.full(n, -1, np.int64)
    first[ids[::-1]] = np.arange(ids.size)[::-1]  # of equal ids the last one stays: the first row
    distinct = np.flatnonzero(first >= 0)
    return distinct[np.argsort(first[distinct])]


def sized(scratch: Ints, size: int) -> tuple[Ints, Ints]:
    """Scratch of at least ``size`` entries, and its first ``size`` ones."""
    if scratch.size < size:
        scratch = np.empty(size, np.int64)
    return scratch, scratch[:size]
