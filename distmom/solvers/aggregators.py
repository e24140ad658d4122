"""From the blocks of a step to one direction: the paper's median block, and others."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from distmom.numerics.arrays import Floats
from distmom.numerics.linalg.geometric_median import geometric_median
from distmom.numerics.median import lower_median
from distmom.solvers.blocks import BlockOracle


class Chosen(NamedTuple):
    """What a step goes by: the loss is infinite if too many blocks have no finite one.

    `block` is the number of the block whose gradient it is; -1 for a combination.
    """

    loss: float
    gradient: Floats
    block: int = -1


@dataclass(frozen=True)
class Aggregator:
    """How blocks, of which at least one is usable, become a direction; the objective that goes down on it."""

    choose: Callable[[BlockOracle, Floats], Chosen]
    objective: Callable[[BlockOracle, Floats], float]


def robust_loss(blocks: BlockOracle, x: Floats) -> float:
    """The lower median of the losses of the usable blocks: the objective of all robust aggregators."""
    losses, _ = _usable(blocks, x)
    return float(losses[_median_place(losses)])


def plain_loss(blocks: BlockOracle, x: Floats) -> float:
    """The mean of the losses of the usable blocks."""
    losses, _ = _usable(blocks, x)
    return float(losses.mean())


def median_block(blocks: BlockOracle, x: Floats) -> Chosen:
    """The gradient of the block with the lower-median loss; equal losses go by number.

    Its expectation is not the gradient of the risk, since the block is selected by its loss: the target of
    the descent is the median-of-means risk.
    """
    losses, places = _usable(blocks, x)
    place = _median_place(losses)
    block = int(places[place])
    if not np.isfinite(losses[place]):
        return Chosen(float("inf"), np.zeros_like(x), block)
    return Chosen(float(losses[place]), blocks.gradients(x, [block])[0], block)


def combined(blocks: BlockOracle, x: Floats, combine: Callable[[Floats], Floats]) -> Chosen:
    """What is made of the gradients of the blocks with a finite loss."""
    losses, places = _usable(blocks, x)
    loss = float(losses[_median_place(losses)])
    if not np.isfinite(loss):
        return Chosen(float("inf"), np.zeros_like(x))
    gradients = blocks.gradients(x, places[np.isfinite(losses)].tolist())
    finite = np.isfinite(gradients).all(axis=1)
    if 2 * int(finite.sum()) <= places.size:
        return Chosen(float("inf"), np.zeros_like(x))
    return Chosen(loss, combine(gradients[finite]))


def _geometric(gradients: Floats) -> Floats:
    return geometric_median(gradients).point


def plain_gradient(blocks: BlockOracle, x: Floats) -> Chosen:
    """The mean of all gradients: the plain mini-batch, of one block or of several taken together."""
    losses, places = _usable(blocks, x)
    loss = float(losses.mean())
    if not np.isfinite(loss):
        return Chosen(float("inf"), np.zeros_like(x))
    gradient = blocks.gradients(x, places.tolist()).mean(axis=0)
    return Chosen(loss, gradient, int(places[0]) if places.size == 1 else -1)


def _usable(blocks: BlockOracle, x: Floats) -> tuple[Floats, NDArray[np.intp]]:
    """Losses of the usable blocks, NaN as infinity, and their numbers."""
    losses = blocks.losses(x)
    places = np.flatnonzero(blocks.usable)
    losses = losses[places]
    return np.where(np.isnan(losses), np.inf, losses), places


def _median_place(losses: Floats) -> int:
    """Place of the lower median; equal losses are in the order of the blocks."""
    order = np.argsort(losses, kind="stable")
    return int(order[(losses.size + 1) // 2 - 1])


AGGREGATORS: dict[str, Aggregator] = {
    "median_block": Aggregator(median_block, robust_loss),
    "geometric_median": Aggregator(partial(combined, combine=_geometric), robust_loss),
    "coordinatewise_median": Aggregator(
        partial(combined, combine=partial(lower_median, axis=0)), robust_loss
    ),
    "plain": Aggregator(plain_gradient, plain_loss),
}
"""Aggregators by name."""
