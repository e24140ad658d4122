"""Batches of any size in, exact leaves out, and what in a leaf counts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from distmom.numerics.leaf import LEAF_ROWS

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_] | None


@dataclass(slots=True)
class Rows:
    """Consecutive rows of one file: values and validity of each column, the filter's mask, group codes."""

    first_row: int
    n_rows: int
    values: tuple[Floats, ...]
    valid: tuple[Mask, ...]
    keep: Mask
    codes: NDArray[np.int64] | None

    def part(self, start: int, stop: int) -> Rows:
        """Rows start … stop - 1 of these, as views."""
        cut = slice(start, stop)
        return Rows(
            self.first_row + start,
            stop - start,
            tuple(v[cut] for v in self.values),
            tuple(None if v is None else v[cut] for v in self.valid),
            None if self.keep is None else self.keep[cut],
            None if self.codes is None else self.codes[cut],
        )


def join(pieces: list[Rows]) -> Rows:
    """Consecutive pieces as one; the piece itself where there is only one, so nothing is copied then."""
    if len(pieces) == 1:
        return pieces[0]
    values = tuple(np.concatenate(arrays) for arrays in zip(*(p.values for p in pieces), strict=True))
    return replace(_joined(pieces), values=values)


def _joined(pieces: list[Rows]) -> Rows:
    """All of consecutive pieces but their values."""
    first = pieces[0]
    codes = None if first.codes is None else np.concatenate([p.codes for p in pieces if p.codes is not None])
    return Rows(
        first.first_row,
        sum(p.n_rows for p in pieces),
        (),
        tuple(_join_masks([p.valid[c] for p in pieces], pieces) for c in range(len(first.valid))),
        _join_masks([p.keep for p in pieces], pieces),
        codes,
    )


def _join_masks(masks: list[Mask], pieces: list[Rows]) -> Mask:
    if all(m is None for m in masks):
        return None
    return np.concatenate(
        [np.ones(p.n_rows, np.bool_) if m is None else m for m, p in zip(masks, pieces, strict=True)]
    )


class LeafCutter:
    """Cuts the rows of one file into its leaves, whatever batches they come in.

    A leaf is valid until the next one is asked for. One that lies within a batch is a view of it; the pieces
    of others are copied, as they come, into the same memory again and again: that is faster than to hold the
    batches and join them, since fresh memory costs more than the copy.
    """

    def __init__(self) -> None:
        self._pieces: list[Rows] = []
        self._held = 0
        self._buffers: list[Floats] = []

    def add(self, rows: Rows) -> Iterator[Rows]:
        """Add the next rows of the file; yield the leaves they complete."""
        if rows.n_rows == LEAF_ROWS and not self._pieces:  # batches of the usual size
            yield rows
            return
        start = 0
        while start < rows.n_rows:
            stop = min(rows.n_rows, start + LEAF_ROWS - self._held)
            piece = rows.part(start, stop)
            start = stop
            if piece.n_rows == LEAF_ROWS:
                yield piece
            else:
                self._hold(piece)
                if self._held == LEAF_ROWS:
                    yield from self.flush()

    def _hold(self, piece: Rows) -> None:
        if not self._buffers:
            self._buffers = [np.empty(LEAF_ROWS) for _ in piece.values]
        for buffer, values in zip(self._buffers, piece.values, strict=True):
            buffer[self._held : self._held + piece.n_rows] = values
        # the array of codes is filled anew with the next batch, the masks are not
        codes = None if piece.codes is None else piece.codes.copy()
        self._pieces.append(replace(piece, values=(), codes=codes))
        self._held += piece.n_rows

    def flush(self) -> Iterator[Rows]:
        """Yield the last, incomplete leaf of the file, if there is one."""
        if not self._pieces:
            return
        leaf = _joined(self._pieces)
        self._pieces, self._held = [], 0
        yield replace(leaf, values=tuple(buffer[: leaf.n_rows] for buffer in self._buffers))


def missing_rows(valid: Mask, keep: Mask) -> tuple[Mask, Mask]:
    """Rows that do not enter whatever their value, and among those that passed the filter the nulls."""
    null = None if valid is None else ~valid
    if keep is None:
        return null, null
    if null is None:
        return ~keep, None
    return ~keep | null, null & keep


def strange_rows(x: Floats, gone: Mask) -> tuple[Mask, Mask]:
    """NaNs and infinities among the rows that are not gone; None where there are none."""
    strange = ~np.isfinite(x)
    if gone is not None:
        strange &= ~gone
    is_nan = np.isnan(x) & strange
    is_inf = strange & ~is_nan
    return (is_nan if is_nan.any() else None), (is_inf if is_inf.any() else None)
