"""Batches of any size in, exact leaves out; and which rows of a leaf count."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from distmom.errors import DataError
from distmom.numerics.arrays import Bools, Floats, Ints, Words
from distmom.numerics.blocks.labels import file_key
from distmom.numerics.blocks.leaf import LEAF_ROWS, Known, together

Mask = Bools | None


@dataclass(slots=True)
class Rows:
    """Consecutive rows of one file: values and validity of each column, the filter's mask, group codes.

    The values of a leaf may come in two arrays, the second in `rest`. `units` are the hashes of the units of
    the rows, if units were requested; `groups` are hashes of the keys if `codes` distinguish only the groups
    of a range of keys. `known` moments of a leaf are shared by the reductions that take it.
    """

    first_row: int
    n_rows: int
    values: tuple[Floats, ...]
    valid: tuple[Mask, ...]
    keep: Mask
    codes: Ints | None
    units: Words | None = None
    rest: tuple[Floats, ...] = ()
    groups: Ints | None = None
    known: Known | None = None

    def column(self, c: int) -> Floats:
        """Values of column c in one array."""
        return together(self.values[c], self.rest[c]) if self.rest else self.values[c]

    def whole(self) -> Rows:
        """The same with all values of a column in one array."""
        if not self.rest:
            return self
        return replace(self, values=tuple(map(together, self.values, self.rest)), rest=())

    def pieces(self) -> list[Rows]:
        """The rows of each array of the columns, as views."""
        if not self.rest:
            return [self]
        first = self.values[0].size
        return [self._of(slice(0, first), self.values), self._of(slice(first, self.n_rows), self.rest)]

    def part(self, start: int, stop: int) -> Rows:
        """Rows start … stop - 1 of a batch, as views."""
        cut = slice(start, stop)
        return self._of(cut, tuple([v[cut] for v in self.values]))

    def _of(self, cut: slice, values: tuple[Floats, ...]) -> Rows:
        """Some of the rows, with these values."""
        return Rows(
            self.first_row + cut.start,
            cut.stop - cut.start,
            values,
            tuple([None if v is None else v[cut] for v in self.valid]),
            None if self.keep is None else self.keep[cut],
            None if self.codes is None else self.codes[cut],
            None if self.units is None else self.units[cut],
            groups=None if self.groups is None else self.groups[cut],
        )


def join(pieces: list[Rows]) -> Rows:
    """Join consecutive pieces; all values but the first part are copied into one array."""
    first, *others = pieces
    if not others:
        return first
    parts = [part for p in pieces for part in (p.values, p.rest) if part][1:]
    rest = parts[0] if len(parts) == 1 else tuple(map(np.concatenate, zip(*parts, strict=True)))
    return Rows(
        first.first_row,
        sum([p.n_rows for p in pieces]),
        first.values,
        tuple([_join_masks(list(masks), pieces) for masks in zip(*[p.valid for p in pieces], strict=True)]),
        _join_masks([p.keep for p in pieces], pieces),
        None if first.codes is None else np.concatenate([p.codes for p in pieces if p.codes is not None]),
        None if first.units is None else np.concatenate([p.units for p in pieces if p.units is not None]),
        rest,
    )


def _join_masks(masks: list[Mask], pieces: list[Rows]) -> Mask:
    if all(m is None for m in masks):
        return None
    return np.concatenate(
        [np.ones(p.n_rows, np.bool_) if m is None else m for m, p in zip(masks, pieces, strict=True)]
    )


def stretches(rows: Rows, size: int) -> Iterator[tuple[Rows, bool]]:
    """Cut rows at the ends of stretches of `size` rows of the file; the flag marks where a stretch ends."""
    start = 0
    while start < rows.n_rows:
        stop = min(rows.n_rows, start + size - (rows.first_row + start) % size)
        yield rows.part(start, stop), (rows.first_row + stop) % size == 0
        start = stop


class KeyedFiles:
    """What accumulators know about the current file: its number in the unit, its path and its key."""

    _number, _path, _key = 0, "", np.uint64(0)

    def __init__(self, seed: int) -> None:
        self._seed = seed

    def start_file(self, number: int, path: str) -> None:
        """Begin a file."""
        self._number, self._path, self._key = number, path, file_key(self._seed, path)


class LeafCutter:
    """Cuts the rows of one file into leaves, whatever the batches."""

    def __init__(self) -> None:
        self._pieces: list[Rows] = []
        self._held = 0

    def add(self, rows: Rows) -> list[Rows]:
        """Add the next rows of the file; return the leaves that they complete."""
        if rows.n_rows == LEAF_ROWS and not self._pieces:  # as most batches are
            return [rows]
        leaves: list[Rows] = []
        start = 0
        while start < rows.n_rows:
            stop = min(rows.n_rows, start + LEAF_ROWS - self._held)
            piece = rows if stop - start == rows.n_rows else rows.part(start, stop)
            self._pieces.append(piece)
            self._held += stop - start
            start = stop
            if self._held == LEAF_ROWS:
                leaves += self.flush()
            elif piece.codes is not None:  # this array is reused for the next batch, the others are not
                self._pieces[-1] = replace(piece, codes=piece.codes.copy())
        return leaves

    def flush(self) -> list[Rows]:
        """The last, incomplete leaf of the file, if there is one."""
        if not self._pieces:
            return []
        leaf = join(self._pieces)
        self._pieces, self._held = [], 0
        return [leaf]


def shared_leaves(leaves: list[Rows]) -> list[Rows]:
    """Whole leaves for several reductions: one need not compute again what another has."""
    for leaf in leaves:
        leaf.known = {} if leaf.known is None else leaf.known
    return leaves


def all_of(masks: list[Mask]) -> Mask:
    """Rows marked by every mask; None marks all."""
    found: Mask = None
    last: Mask = None
    for mask in masks:
        if mask is not None and mask is not last:  # the elements of a list share their mask
            found = mask if found is None else found & mask
        last = mask
    return found


def any_of(first: Mask, second: Mask) -> Mask:
    """Rows marked by either of two masks; None marks none."""
    return second if first is None else first if second is None else first | second


def missing_rows(valid: Mask, keep: Mask) -> tuple[Mask, Mask]:
    """Rows excluded whatever their value, and the nulls among those that passed the filter."""
    null = None if valid is None else ~valid
    if keep is None:
        return null, null
    if null is None:
        return ~keep, None
    return ~keep | null, null & keep


def strange_rows(x: Floats, gone: Mask) -> tuple[Mask, Mask]:
    """NaNs and infinities among the remaining rows; None if there are none."""
    strange = ~np.isfinite(x)
    if gone is not None:
        strange &= ~gone
    is_nan = np.isnan(x) & strange
    is_inf = strange & ~is_nan
    return (is_nan if is_nan.any() else None), (is_inf if is_inf.any() else None)


def nan_refused(column: str | None, row: int, path: str) -> DataError:
    """The error for a NaN under ``nan="raise"``."""
    return DataError(
        f'{path or "data"}: column {column!r} is NaN in row {row}, and nan="raise" forbids it; '
        'use nan="omit" to leave NaN out (counted), or clean the file'
    )
