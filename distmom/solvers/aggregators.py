"""From the blocks of a step to one direction: the paper's median block, and others."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from distmom.numerics.arrays import Bools, Floats
from distmom.numerics.linalg.geometric_median import geometric_median
from distmom.numerics.median import lower_median
from distmom.solvers.blocks import BlockOracle


class Chosen(NamedTuple):
    """The basis of a step: the loss is infinite if too many blocks have a non-finite one.

    `block` is the number of the block whose gradient it is; -1 for a combination.
    """

    loss: float
    gradient: Floats
    block: int = -1


@dataclass(frozen=True)
class Aggregator:
    """The direction from blocks, at least one usable, and the objective that decreases along it.

    Without `combine`, the gradient of the block with the lower-median loss; ties go by number. Its
    expectation is not the gradient of the risk, since the block is selected by its loss: the target of the
    descent is the median-of-means risk.
    A `plain` one counts every block and minimises the mean of their losses: the mini-batch, of one block or
    of several taken together.
    """

    combine: Callable[[Floats], Floats] | None = (
        None  # maps gradients of blocks with a finite loss to a direction
    )
    plain: bool = False

    def choose(self, blocks: BlockOracle, x: Floats) -> Chosen:
        """The direction at a point."""
        losses, places, middle, loss = self._looked_at(blocks, x)
        nothing = Chosen(float("inf"), np.zeros_like(x))
        if not np.isfinite(loss):
            return nothing
        if self.combine is None:
            block = int(places[middle])
            return Chosen(loss, blocks.gradients(x, [block])[0], block)
        gradients = blocks.gradients(x, places[np.isfinite(losses)].tolist())
        finite = np.isfinite(gradients).all(axis=1)
        if finite.sum() < (places.size if self.plain else places.size // 2 + 1):
            return nothing
        alone = self.plain and places.size == 1
        return Chosen(loss, self.combine(gradients[finite]), int(places[0]) if alone else -1)

    def objective(self, blocks: BlockOracle, x: Floats) -> float:
        """The decreasing objective: the lower median of the losses of the usable blocks, or their mean."""
        return self._looked_at(blocks, x)[-1]

    def _looked_at(self, blocks: BlockOracle, x: Floats) -> tuple[Floats, NDArray[np.intp], int, float]:
        """Losses of the usable blocks, NaN as infinity, their numbers, the median one, and the objective."""
        places = np.flatnonzero(blocks.usable)
        losses = blocks.losses(x)[places]
        losses = np.where(np.isnan(losses), np.inf, losses)
        middle = int(np.argsort(losses, kind="stable")[(losses.size + 1) // 2 - 1])
        return losses, places, middle, float(losses.mean() if self.plain else losses[middle])


REACH = 3.0
"""Blocks up to this many lower-median distances from the middle are averaged."""


def within_reach(gradients: Floats) -> Bools:
    """Blocks at most `REACH` lower-median distances from the lower median of each coordinate."""
    away = gradients - lower_median(gradients, axis=0)
    with np.errstate(over="ignore"):
        distance = np.sqrt((away * away).sum(axis=1))
    return np.asarray(distance <= REACH * float(lower_median(distance)))


def _trimmed(gradients: Floats) -> Floats:
    """Mean of the blocks within reach: mostly of all, if rows are clean, so rare values count in full.

    More than half of the blocks are kept, and none further than three median distances: the error is at most
    a constant times that of a median of clean blocks (Prasad et al. 2020, J. R. Stat. Soc. B; Yin et al.
    2018, ICML).
    """
    return np.asarray(gradients[within_reach(gradients)].mean(axis=0))


def _geometric(gradients: Floats) -> Floats:
    return geometric_median(gradients).point


def _mean(gradients: Floats) -> Floats:
    return np.asarray(gradients.mean(axis=0))


AGGREGATORS: dict[str, Aggregator] = {
    "median_block": Aggregator(),
    "geometric_median": Aggregator(_geometric),
    "coordinatewise_median": Aggregator(partial(lower_median, axis=0)),
    "trimmed_mean": Aggregator(_trimmed),
    "plain": Aggregator(_mean, plain=True),
}
"""Aggregators by name."""
