"""The wanted rows of a range in few bytes: their numbers, or a bit for every row of the range."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from distmom.numerics.arrays import Ints


@dataclass(frozen=True, slots=True, eq=False)
class WantedRows:
    """Rows that a unit of work must find; small and picklable.

    Attributes
    ----------
    n_wanted : int
    file_starts : ndarray of int64, shape (files,)
        Number, among the rows of the unit, of row 0 of each of its files: negative for a part of a file
        that begins further down.
    packed : ndarray of int64, uint32 or uint8
        Numbers of the wanted rows among the rows of the unit, ascending; as uint8 one bit for each row from
        the first to the last wanted one.
    first : int
        Number of the row of the first bit.
    """

    n_wanted: int
    file_starts: Ints
    packed: NDArray[np.integer]
    first: int

    @classmethod
    def of(cls, rows: Ints, file_starts: Ints) -> WantedRows:
        """Pack the numbers of distinct rows, ascending, in whichever form takes fewer bytes."""
        first, span = (int(rows[0]), int(rows[-1] - rows[0]) + 1) if rows.size else (0, 0)
        narrow = rows.size == 0 or int(rows[-1]) < 1 << 32
        if span < 8 * rows.size * (4 if narrow else 8):
            bits = np.zeros(span, np.bool_)
            bits[rows - first] = True
            return cls(rows.size, file_starts, np.packbits(bits), first)
        return cls(rows.size, file_starts, rows.astype(np.uint32) if narrow else rows, first)

    def rows(self) -> Ints:
        """Numbers of the wanted rows among the rows of the unit, ascending."""
        if self.packed.dtype != np.uint8:
            return self.packed.astype(np.int64)
        return np.flatnonzero(np.unpackbits(self.packed.view(np.uint8))) + self.first

    def by_file(self) -> list[Ints]:
        """For each file the numbers of its wanted rows, counted from its first row."""
        rows = self.rows()
        ends = np.searchsorted(rows, self.file_starts[1:])
        return [part - start for part, start in zip(np.split(rows, ends), self.file_starts, strict=True)]


def distinct(numbers: Ints) -> Ints:
    """The numbers without repeats, ascending: by sorting, since `np.unique` hashes large arrays first."""
    ordered = np.sort(numbers, axis=None)
    new = np.ones(ordered.size, np.bool_)
    np.not_equal(ordered[1:], ordered[:-1], out=new[1:])
    return ordered[new]


def wanted_in(
    rows: Ints, first_rows: Ints, first_file: int, n_files: int, part: tuple[int, int] | None
) -> WantedRows:
    """The wanted rows of consecutive files, or of a part of one file.

    Parameters
    ----------
    rows : ndarray of int64
        Distinct row numbers in the whole lake, ascending.
    first_rows : ndarray of int64, shape (files of the lake + 1,)
        Number in the lake of the first row of each file, and last the number of all rows.
    first_file, n_files : int
        The files.
    part : (int, int) or None
        Relevant rows of the single file.
    """
    starts = first_rows[first_file : first_file + n_files]
    low, high = int(starts[0]), int(first_rows[first_file + n_files])
    if part is not None:
        low, high = low + part[0], low + part[1]
    begin, end = np.searchsorted(rows, [low, high])
    return WantedRows.of(rows[begin:end] - low, starts - low)
