"""Gathering rows by their numbers: other rows are not kept and, if possible, not read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from distmom.numerics.arrays import Bools, Floats, Ints, Record
from distmom.numerics.samples.wanted_rows import WantedRows
from distmom.reductions import Accumulator
from distmom.reductions.accumulate.leaves import Mask, Rows, all_of, nan_refused
from distmom.reductions.block_means import NanPolicy
from distmom.reductions.state import Key

USED, NULL, NAN, ABSENT = 0, 1, 2, 3
"""Fate of a wanted row: it counts; a value is missing; a value is NaN; the filter drops it, or its file was
skipped."""


@dataclass(frozen=True, slots=True, eq=False)
class GatheredRows(Record):
    """Wanted rows in the order of their numbers.

    Attributes
    ----------
    values : ndarray of float64, shape (rows, columns)
        Arbitrary if a row does not count.
    fates : ndarray of uint8, shape (rows,) or (rows, columns)
        `USED`, `NULL`, `NAN` or `ABSENT`; for the row, or for each of its values.
    """

    values: Floats
    fates: NDArray[np.uint8]

    @property
    def used(self) -> Bools:
        """Rows that count."""
        return np.equal(self.fates, USED)

    def column(self, c: int) -> GatheredRows:
        """One of several columns that are gathered separately."""
        return GatheredRows(self.values[:, c : c + 1], self.fates[:, c])


@dataclass(frozen=True)
class GatherRows:
    """The wanted rows of some columns; a row counts with all its values or not at all, unless `separate`.

    The window of a unit is a `WantedRows`.

    Attributes
    ----------
    columns : tuple of str
        Names for errors.
    nan : {"omit", "raise", "keep"}
        How to handle NaN in the wanted rows; other rows are not checked.
    needed : int, optional
        The one column whose value a row needs in order to count; nulls in other columns become NaN.
    separate : bool
        A row counts in each column in which it has a value. Cannot be combined with `needed`.
    """

    columns: tuple[str, ...]
    nan: NanPolicy = "omit"
    needed: int | None = None
    separate: bool = False

    def rows(self, n: int) -> GatheredRows:
        """Room for `n` rows, all absent at first."""
        shape = (n, len(self.columns))
        return GatheredRows(np.zeros(shape), np.full(shape if self.separate else n, ABSENT, np.uint8))

    def begin(self, n_files: int, window: Any = None) -> RowGatherer:
        """An accumulator for a unit of `n_files` files."""
        return RowGatherer(self, window)

    def merge(self, left: GatheredRows, right: GatheredRows) -> GatheredRows:
        """The rows of both; those of `left` come first in the lake."""
        return GatheredRows(
            np.concatenate([left.values, right.values]), np.concatenate([left.fates, right.fates])
        )


def fates_of(values: Floats, valid: Mask, keep: Mask, nan_is_missing: bool) -> NDArray[np.uint8]:
    """Fates of rows, from their values, the rows with all values, and the rows that pass the filter."""
    fates = np.full(len(values), USED, np.uint8)
    if nan_is_missing:
        fates[np.isnan(values).any(axis=1)] = NAN
    if valid is not None:
        fates[~valid] = NULL
    if keep is not None:
        fates[~keep] = ABSENT
    return fates


class RowGatherer(Accumulator):
    """The `Accumulator` of `GatherRows`."""

    def __init__(self, spec: GatherRows, window: WantedRows) -> None:
        self._spec = spec
        self._by_file = window.by_file()
        self._starts = np.concatenate([[0], np.cumsum([rows.size for rows in self._by_file])])
        self._rows = spec.rows(window.n_wanted)
        self._number, self._path = 0, ""

    @property
    def wanted(self) -> Ints:
        """Numbers of the wanted rows of the current file, ascending."""
        return self._by_file[self._number]

    def start_file(self, number: int, path: str) -> None:  # noqa: D102
        self._number, self._path = number, path

    def add(self, rows: Rows, n_groups: int) -> None:  # noqa: D102
        wanted = self.wanted
        low, high = np.searchsorted(wanted, [rows.first_row, rows.first_row + rows.n_rows])
        if low == high:
            return
        inside = wanted[low:high] - rows.first_row
        place = slice(self._starts[self._number] + low, self._starts[self._number] + high)
        values = self._rows.values[place]
        for c, column in enumerate(rows.values):
            values[:, c] = column[inside]
        fates = self._rows.fates[place]
        keep = None if rows.keep is None else rows.keep[inside]
        for told, looked, valid in self._judged(rows, inside, values, fates):
            there = None if valid is None else valid[inside]
            told[:] = fates_of(looked, there, keep, self._spec.nan != "keep")
        if self._spec.nan == "raise" and (fates == NAN).any():
            found = (fates == NAN).reshape(fates.shape[0], -1).any(axis=1)
            bad = int(np.argmax(found))
            name = self._spec.columns[int(np.argmax(np.isnan(values[bad])))]
            raise nan_refused(name, wanted[low + bad], self._path)

    def _judged(
        self, rows: Rows, inside: Ints, values: Floats, fates: NDArray[np.uint8]
    ) -> list[tuple[NDArray[np.uint8], Floats, Mask]]:
        """Fates to be determined together, with the values and valid rows that decide them."""
        if self._spec.separate:
            return [(fates[:, c], values[:, c : c + 1], there) for c, there in enumerate(rows.valid)]
        needed = self._spec.needed
        if needed is None:
            return [(fates, values, all_of(list(rows.valid)))]
        for c, there in enumerate(rows.valid):
            if there is not None:
                values[~there[inside], c] = np.nan
        return [(fates, values[:, needed : needed + 1], rows.valid[needed])]

    def result(self, keys: list[Key]) -> GatheredRows:
        """All wanted rows of the unit."""
        return self._rows
