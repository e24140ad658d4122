"""Block losses of many candidates in one pass, and block means of the quantities that measure distances."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from distmom.numerics.arrays import Bools, Floats, Ints, Record
from distmom.numerics.losses.cell_sums import ABREAST, add_losses, add_measures, padded
from distmom.numerics.losses.table import LossFunction
from distmom.reductions import Accumulator
from distmom.reductions.accumulate.leaves import Rows, missing_rows
from distmom.reductions.losses.candidates import Candidate, RowLoss
from distmom.reductions.parts import Cells, Parts, PartSums

PIECE = 8_192
"""Rows whose losses are computed at a time, so that they stay in the nearest caches."""

N_ROWS, NULLS, NANS, INFS = range(4)
"""Rows that passed the filter, and how many of these have a null, NaN or infinite target."""


OF_CANDIDATES = ("losses", "measures", "reach", "missing")
"""Fields of a state with one entry per candidate."""


@dataclass(frozen=True)
class BlockLossState(Record):
    """Sums over the cells of all parts.

    Attributes
    ----------
    tally : ndarray of int64, shape (4,)
    counts : ndarray of int64, shape (cells,)
        Rows whose losses are in the sums.
    losses : ndarray of float64, shape (m, cells)
        Sums of losses; infinite or NaN if a loss was.
    measures : ndarray of float64, shape (m, n_blocks)
        Sums, over the blocks of the first part, of predictions or of roots of losses.
    reach : ndarray of float64, shape (m,)
        Largest absolute value among those.
    missing : ndarray of int64, shape (m,)
        Rows without a finite prediction.
    """

    tally: Ints
    counts: Ints
    losses: Floats
    measures: Floats
    reach: Floats
    missing: Ints


def of_some(state: BlockLossState, chosen: slice) -> BlockLossState:
    """The state of some of the candidates."""
    return replace(state, **{name: getattr(state, name)[chosen] for name in OF_CANDIDATES})


def beside(left: BlockLossState, right: BlockLossState) -> BlockLossState:
    """States of other candidates on the same rows."""
    both = {name: np.concatenate([getattr(left, name), getattr(right, name)]) for name in OF_CANDIDATES}
    return replace(left, **both)


@dataclass(frozen=True)
class BlockLosses:
    """Declaration of the block losses of candidates.

    The distance between candidates is that of their predictions, or of the roots of their losses. `target` is
    the place of the target among the values of a row.
    """

    candidates: tuple[Candidate, ...]
    loss: RowLoss
    distance: str
    parts: Parts
    target: int = 0
    compiled: bool = False

    def begin(self, n_files: int, window: Any = None) -> Accumulator:
        """An accumulator for a unit of `n_files` files."""
        whole = any(c.computed for c in self.candidates)
        return PartSums(lambda: _LeafLosses(self), self.merge, n_files, self.parts.seed, whole=whole)

    def merge(self, left: BlockLossState, right: BlockLossState) -> BlockLossState:
        """Sums of both; `left` has the rows that come first."""
        with np.errstate(over="ignore", invalid="ignore"):
            both = {name: np.add(mine, getattr(right, name)) for name, mine in vars(left).items()}
        return BlockLossState(**{**both, "reach": np.maximum(left.reach, right.reach)})

    def state_bytes(self) -> int:
        """Bytes of a state."""
        cells, blocks = self.parts.n_cells, self.parts.n_blocks
        return len(self.candidates) * 8 * (cells + blocks + 2) + 8 * cells

    @property
    def named(self) -> tuple[LossFunction, float] | None:
        """The loss for the compiled kernels, if these are used."""
        return self.loss.compiled if self.compiled else None

    def measure(self, truth: Floats, predicted: Floats) -> Floats:
        """The quantity that measures a candidate's distance to others."""
        if self.distance == "prediction":
            return predicted
        return np.sqrt(self.loss(truth, predicted))


class _LeafLosses:
    """The sums of one leaf."""

    def __init__(self, spec: BlockLosses) -> None:
        self._spec = spec
        m, parts = len(spec.candidates), spec.parts
        self._tally = np.zeros(4, np.int64)
        self._counts = np.zeros(parts.n_cells + 1, np.int64)
        # the last cell is for rows that do not count; a column for each candidate
        self._losses = np.zeros((parts.n_cells + 1, padded(m)))
        self._measures = np.zeros((parts.n_blocks, padded(m)))
        self._reach = np.zeros(padded(m))
        self._missing = np.zeros(m, np.int64)

    def state(self) -> BlockLossState:
        """The sums."""
        m = self._missing.size
        losses, measures = (np.ascontiguousarray(one.T[:m]) for one in (self._losses[:-1], self._measures))
        counts, reach = self._counts[:-1].copy(), self._reach[:m].copy()
        return BlockLossState(self._tally, counts, losses, measures, reach, self._missing)

    def add(self, rows: Rows, key: np.uint64, path: str) -> None:
        """Add rows of the leaf; functions and models see all of it at once."""
        whole = any(one.computed for one in self._spec.candidates)
        for part in [rows.whole()] if whole else rows.pieces():
            self._add(part, key, path)

    def _add(self, rows: Rows, key: np.uint64, path: str) -> None:
        spec = self._spec
        cells = spec.parts.cells(rows, key)
        truth, cells = self._truths(rows, cells)
        self._counts += np.bincount(cells, minlength=self._counts.size)
        size = rows.n_rows if spec.named is not None else PIECE  # compiled kernels keep no arrays meanwhile
        pieces = [slice(a, min(a + size, rows.n_rows)) for a in range(0, rows.n_rows, max(size, 1))]
        first = [np.flatnonzero(cells[piece] < spec.parts.n_blocks) for piece in pieces]
        counted = cells < spec.parts.n_cells
        for c in range(0, len(spec.candidates), ABREAST):
            some = [one.predict(rows, path, counted) for one in spec.candidates[c : c + ABREAST]]
            for piece, those in zip(pieces, first, strict=True):
                self._piece(c, truth[piece], [one[piece] for one in some], cells[piece], those)
            self._count_missing(c, some, counted)

    def _truths(self, rows: Rows, cells: Cells) -> tuple[Floats, Cells]:
        """The targets, and the cells with rows that do not count in the last one."""
        spec = self._spec
        gone, null = missing_rows(rows.valid[spec.target], rows.keep)
        truth = rows.values[spec.target]
        kept = rows.n_rows if rows.keep is None else np.count_nonzero(rows.keep)
        self._tally[N_ROWS] += kept
        if null is not None:
            self._tally[NULLS] += np.count_nonzero(null)
        strange = ~np.isfinite(truth)
        if gone is not None:
            strange &= ~gone
        if strange.any():
            nan = np.isnan(truth) & strange
            self._tally[NANS] += np.count_nonzero(nan)
            self._tally[INFS] += np.count_nonzero(strange & ~nan)
            gone = nan if gone is None else gone | nan
        if gone is not None:
            cells[gone] = spec.parts.n_cells
            truth = np.where(gone, 0.0, truth)
        return truth, cells

    def _piece(self, c: int, truth: Floats, some: list[Floats], cells: Cells, those: Ints) -> None:
        spec = self._spec
        add_losses(truth, some, cells, c, self._losses, spec.loss, spec.named)
        root, sums = spec.distance != "prediction", (self._measures, self._reach)
        add_measures(truth, some, cells[those], those, c, *sums, spec.measure, spec.named, root=root)

    def _count_missing(self, first: int, predicted: list[Floats], counted: Bools) -> None:
        """Count the non-finite predictions; searched for only if a sum shows some."""
        finite = np.isfinite(self._losses[:-1, first : first + len(predicted)]).all(axis=0)
        for c in np.flatnonzero(~finite):
            self._missing[first + c] += np.count_nonzero(~np.isfinite(predicted[c]) & counted)
