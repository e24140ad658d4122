"""Pairwise losses of many candidates on whole blocks of rows, and the distances of requested pairs."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from distmom.numerics.arrays import Floats, Ints, Record
from distmom.numerics.kernels.evaluate import block_sums
from distmom.numerics.kernels.kernel import Kernel
from distmom.numerics.kernels.risk import Clustering
from distmom.numerics.losses.pair_gaps import discrepancy_means, pair_means
from distmom.reductions.accumulate.leaves import Rows
from distmom.reductions.losses.candidates import Candidate
from distmom.reductions.rows.block_kernel import KeptRows

COMPUTED = -1
"""Place of the number that a function or model returns."""


@dataclass(frozen=True)
class PairCandidate:
    """A candidate with a loss on pairs of rows, its kernel; picklable if its function or model is.

    The kernel takes the values of a row at some `places`; at `COMPUTED` is the number that the scorer
    returns.
    """

    name: str
    kernel: Kernel
    places: tuple[int, ...]
    scorer: Candidate | None = None

    def described(self, columns: Sequence[str]) -> list[str]:
        """What distinguishes it from others, as words that can be compared."""
        kernel = hashlib.blake2b(repr(self.kernel).encode(), digest_size=16).hexdigest()
        taken = [columns[i] if i != COMPUTED else "computed" for i in self.places]
        return [
            self.name,
            kernel,
            *taken,
            *(() if self.scorer is None else self.scorer.described(columns)[1:]),
        ]

    def sample(self, rows: Floats) -> Floats:
        """Rows of a block in the form that the kernel takes."""
        columns = np.ascontiguousarray(rows.T)
        score = None
        if self.scorer is not None:
            nothing = (None,) * len(columns)
            score = self.scorer.predict(Rows(0, rows.shape[0], tuple(columns), nothing, None, None), "")
        chosen = [score if place == COMPUTED else columns[place] for place in self.places]
        return self.kernel.as_sample(np.stack(chosen, axis=1))  # type: ignore[arg-type]


@dataclass(frozen=True)
class BlockLossTable(Record):
    """The result for B blocks; m candidates, p requested pairs of candidates.

    Attributes
    ----------
    sizes : ndarray of int64, shape (B,)
        Rows.
    losses : ndarray of float64, shape (B, m)
        Means over the pairs of a block; NaN if a block has none.
    roots : ndarray of float64, shape (B, m)
        Means of the roots; NaN if they were not requested.
    reach : ndarray of float64, shape (B, m)
        The largest root.
    missing : ndarray of int64, shape (B, m)
        Rows in which a value used by the candidate is not finite.
    gaps : ndarray of float64, shape (B, p)
        Mean distances of the roots.
    cells : ndarray of int64, shape (B, m)
        Cells of a partition that have rows in the block; 0 for other candidates.
    """

    sizes: Ints
    losses: Floats
    roots: Floats
    reach: Floats
    missing: Ints
    gaps: Floats
    cells: Ints


@dataclass(frozen=True)
class PairLosses:
    """Evaluates candidates on every block of some rows: their losses, or the requested distances.

    Means of the roots may be requested, too. A `drawn` block consists of drawn pairs: its first half is
    paired with its second half. `asked` are pairs of candidates whose distances are requested.
    """

    candidates: tuple[PairCandidate, ...]
    roots: bool = False
    drawn: bool = False
    asked: NDArray[np.int32] | None = None

    @property
    def kernel(self) -> Kernel:
        """One of them, for messages."""
        return self.candidates[0].kernel

    def __call__(self, kept: KeptRows, between: Callable[[], None] = lambda: None) -> BlockLossTable:
        """The result for the blocks; `between` is called before each block and may raise to stop the work."""
        found = []
        for cell in range(kept.n_cells):
            between()
            found.append(self._evaluate(kept.rows(cell)))
        return BlockLossTable(*(np.array(each) for each in zip(*found, strict=True)))

    def merge(self, left: BlockLossTable, right: BlockLossTable) -> BlockLossTable:
        """Blocks of both; `left` has the lower numbers."""
        each = (np.concatenate([getattr(left, f.name), getattr(right, f.name)]) for f in fields(left))
        return BlockLossTable(*each)

    def _evaluate(self, rows: Floats) -> tuple[Any, ...]:
        """The fields of the table for one block of rows, shape (n, columns)."""
        kernels = [c.kernel for c in self.candidates]
        samples = [c.sample(rows) for c in self.candidates]
        m, size = len(kernels), np.int64(rows.shape[0])
        nothing, none = np.full(m, np.nan), np.zeros(m, np.int64)
        if self.asked is not None:
            gaps = discrepancy_means(kernels, samples, self.asked, drawn=self.drawn)
            return size, nothing, nothing, np.zeros(m), none, gaps, none
        missing = np.array(
            [np.count_nonzero(~np.isfinite(s).all(axis=tuple(range(1, s.ndim)))) for s in samples]
        )
        if self.drawn or self.roots:
            losses, roots, reach = pair_means(kernels, samples, drawn=self.drawn)
        else:
            losses = np.array([_mean_loss(k, s) for k, s in zip(kernels, samples, strict=True)])
            roots, reach = nothing, np.zeros(m)
        cells = [
            np.unique(s[:, 0]).size if isinstance(c.kernel, Clustering) else 0
            for c, s in zip(self.candidates, samples, strict=True)
        ]
        return size, losses, roots, reach, missing, np.zeros(0), np.array(cells, np.int64)


def _mean_loss(kernel: Kernel, sample: Floats) -> float:
    """The complete U-statistic, by the kernel's fast form or compiled tiles."""
    if np.isnan(sample).any():
        return float(np.inf)
    return float(block_sums(kernel, sample, rows=False)[0].mean)
