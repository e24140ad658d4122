"""Pairwise losses of many candidates on whole blocks of rows, and the distances of asked pairs of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from distmom.numerics.arrays import Floats
from distmom.numerics.kernels.evaluate import block_sums
from distmom.numerics.kernels.kernel import Kernel
from distmom.numerics.kernels.risk import Clustering
from distmom.numerics.losses.pair_gaps import gap_means, pair_means
from distmom.reductions.accumulate.leaves import Rows
from distmom.reductions.losses.block_by_block import BlockByBlock
from distmom.reductions.losses.candidates import Candidate

COMPUTED = -1
"""Place of the number that a function or model gives."""


@dataclass(frozen=True)
class PairCandidate:
    """Something that has a loss on pairs of rows; picklable if its function or model is.

    Attributes
    ----------
    name : str
    kernel : Kernel
        The loss of a pair.
    places : tuple of int
        Which values of a row the kernel takes, `COMPUTED` where the scorer gives it.
    scorer : Candidate, optional
        A function or model that gives one number a row.
    """

    name: str
    kernel: Kernel
    places: tuple[int, ...]
    scorer: Candidate | None = None

    def sample(self, rows: Floats) -> Floats:
        """Rows of a block as the kernel takes them."""
        columns = np.ascontiguousarray(rows.T)
        score = None
        if self.scorer is not None:
            nothing = (None,) * len(columns)
            score = self.scorer.predict(Rows(0, rows.shape[0], tuple(columns), nothing, None, None), "")
        chosen = [score if place == COMPUTED else columns[place] for place in self.places]
        return self.kernel.as_sample(np.stack(chosen, axis=1))  # type: ignore[arg-type]


@dataclass(frozen=True)
class PairLosses(BlockByBlock):
    """Evaluates candidates on every block of some rows: their losses, or else the distances that are asked.

    Attributes
    ----------
    candidates : tuple of PairCandidate
    roots : bool
        Means of the roots are wanted, too.
    drawn : bool
        A block is drawn pairs: its first half paired with its second one.
    asked : ndarray of int32, shape (p, 2), optional
        Pairs of candidates whose distances are asked.
    """

    candidates: tuple[PairCandidate, ...]
    roots: bool = False
    drawn: bool = False
    asked: NDArray[np.int32] | None = None

    @property
    def kernel(self) -> Kernel:
        """One of them, for messages."""
        return self.candidates[0].kernel

    def evaluate(self, rows: Floats, /) -> tuple[Any, ...]:  # noqa: D102
        kernels = [c.kernel for c in self.candidates]
        samples = [c.sample(rows) for c in self.candidates]
        m, size = len(kernels), np.int64(rows.shape[0])
        nothing, none = np.full(m, np.nan), np.zeros(m, np.int64)
        if self.asked is not None:
            gaps = gap_means(kernels, samples, self.asked, drawn=self.drawn)
            return size, nothing, nothing, np.zeros(m), none, gaps, none
        missing = np.array([np.count_nonzero(~np.isfinite(s.reshape(size, -1)).all(axis=1)) for s in samples])
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
