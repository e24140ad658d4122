"""Roots of pairwise losses, and distances between those of several candidates, over the pairs of a block.

The losses of every candidate are computed once for a piece of the pairs; the distances follow from them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from distmom.errors import DataError
from distmom.numerics.arrays import Floats
from distmom.numerics.kernels.kernel import Kernel

Places = NDArray[np.intp]

PIECE = 1 << 14
"""Pairs whose losses are computed together: they stay in the nearest caches."""


def all_pairs(n: int) -> Iterator[tuple[Places, Places]]:
    """All pairs of n rows, in pieces: some rows with all that follow them."""
    step = max(1, PIECE // max(n, 1))
    for start in range(0, n - 1, step):
        first, second = np.nonzero(np.arange(n)[None, :] > np.arange(start, min(start + step, n))[:, None])
        yield first + start, second


def drawn_pairs(n: int) -> Iterator[tuple[Places, Places]]:
    """The first of n rows with the first one of their second half, and so on."""
    half = n // 2
    for start in range(0, half, PIECE):
        first = np.arange(start, min(start + PIECE, half))
        yield first, first + half


def losses_of(kernel: Kernel, prepared: Floats, first: Places, second: Places) -> Floats:
    """Losses of pairs of prepared rows; NaN counts as infinite.

    Raises
    ------
    DataError
        If one is negative.
    """
    with np.errstate(all="ignore"):
        found = np.asarray(kernel.prepared_value(prepared[first], prepared[second]), np.float64)
    if found.size and np.nanmin(found, initial=0.0) < 0.0:
        raise DataError(f"loss: {kernel.name} is negative for some pairs; give a kernel that is at least 0")
    return np.where(np.isnan(found), np.inf, found)


def _losses(kernels: Sequence[Kernel], samples: Sequence[Floats], drawn: bool) -> Iterator[list[Floats]]:
    """Losses of each candidate, piece by piece of the pairs."""
    prepared = [kernel.prepare(sample) for kernel, sample in zip(kernels, samples, strict=True)]
    for pairs in (drawn_pairs if drawn else all_pairs)(samples[0].shape[0]):
        yield [losses_of(kernel, rows, *pairs) for kernel, rows in zip(kernels, prepared, strict=True)]


def pair_means(
    kernels: Sequence[Kernel], samples: Sequence[Floats], *, drawn: bool = False
) -> tuple[Floats, Floats, Floats]:
    """Over the pairs of a block, for each candidate: mean loss, mean root of it, and the largest root.

    Parameters
    ----------
    kernels, samples
        The loss of a pair and the rows of the block for each candidate, as `Kernel.as_sample` gives them.
    drawn : bool
        Pairs of the two halves (`drawn_pairs`), not all.
    """
    m, n_pairs = len(kernels), 0
    losses, roots, reach = np.zeros(m), np.zeros(m), np.zeros(m)
    for piece in _losses(kernels, samples, drawn):
        n_pairs += piece[0].size
        for c, loss in enumerate(piece):
            root = np.sqrt(loss)
            with np.errstate(over="ignore"):
                losses[c] += loss.sum()
                roots[c] += root.sum()
            reach[c] = max(reach[c], float(root.max(initial=0.0)))
    if not n_pairs:
        return np.full(m, np.nan), np.full(m, np.nan), reach
    return losses / n_pairs, roots / n_pairs, reach


def discrepancy_means(
    kernels: Sequence[Kernel], samples: Sequence[Floats], asked: NDArray[np.int32], *, drawn: bool = False
) -> Floats:
    """Means over the pairs of a block of the distance of two candidates' roots of losses.

    If both losses are infinite the distance is 0; if one is, it is infinite.

    Parameters
    ----------
    kernels, samples, drawn
        As for `pair_means`.
    asked : ndarray of int32, shape (p, 2)
        Numbers of candidates.

    Returns
    -------
    ndarray of float64, shape (p,)
    """
    sums, n_pairs = np.zeros(len(asked)), 0
    for piece in _losses(kernels, samples, drawn):
        n_pairs += piece[0].size
        roots = [np.sqrt(loss) for loss in piece]
        for place, (f, g) in enumerate(asked.tolist()):
            with np.errstate(invalid="ignore", over="ignore"):
                gap = np.abs(roots[f] - roots[g])
                if not math.isfinite(total := float(gap.sum())):
                    total = float(np.where(np.isnan(gap), 0.0, gap).sum())
                sums[place] += total
    return sums / n_pairs if n_pairs else np.full(len(asked), np.nan)
