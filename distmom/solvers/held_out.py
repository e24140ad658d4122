"""Stopping: a fixed set of held-out blocks, and the median of differences paired by block.

The loss of the block that a step has chosen is selected, and so biased low; losses of new blocks in each
step vary by more than a step gains. Differences on the same blocks avoid both problems.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from distmom.numerics.arrays import Floats
from distmom.numerics.losses.duels import differences
from distmom.numerics.median import lower_median
from distmom.solvers.blocks import RiskBlocks
from distmom.solvers.coordinates import SeenBlocks
from distmom.solvers.optimality import NEGLIGIBLE, most_ratio, noise_ratio


@dataclass(frozen=True)
class HeldOut:
    """When to look at the held-out blocks, and when to stop."""

    blocks: RiskBlocks | SeenBlocks  # the same at every look
    every: int = 25  # steps between looks
    patience: int = 5  # looks in a row without improvement that end the descent
    tolerance: float = 1e-3  # a fall of the loss by less than this share of the best loss is no improvement
    # gradients, one per row, in the coordinates in which they are tested; without it they are not
    judged_in: Callable[[Floats], Floats] | None = None
    recorded: bool = True  # whether the history records the looks: rows that steps also use are not held out
    persistent: bool = False  # whether to go on if the loss no longer falls but the gradient is not noise

    @property
    def rows(self) -> tuple[Floats, Floats]:
        """Features and targets of the rows of all blocks."""
        rows, targets = self.blocks.rows, self.blocks.targets
        return rows.reshape(targets.size, -1), targets.ravel()

    def losses(self, x: Floats) -> Floats:
        """Losses of the usable blocks; NaN counts as infinite."""
        losses = self.blocks.losses(x)[self.blocks.usable]
        return np.where(np.isnan(losses), np.inf, losses)

    def optimal(self, x: Floats) -> bool:
        """Whether the gradient is no more than its noise, or is not tested, or nothing is lost."""
        return self.at_rest(x) or self.lossless(x)

    def lossless(self, x: Floats) -> bool:
        """Whether the loss of each block is negligible, so that nothing is left to gain.

        Slopes of a loss with a kink do not become small, even if targets have no noise.
        """
        losses = self.losses(x)
        return bool(losses.size) and bool((losses <= NEGLIGIBLE).all())

    def at_rest(self, x: Floats) -> bool:
        """Whether the gradient is no more than its noise; also if it is not tested."""
        if self.judged_in is None:
            return True
        places = np.flatnonzero(self.blocks.usable).tolist()
        if not places:
            return False
        with np.errstate(over="ignore", invalid="ignore"):
            gradients = self.judged_in(self.blocks.gradients(x, places))
            ratio = noise_ratio(gradients)
        return not ratio > most_ratio(gradients.shape[1])

    def improved(self, losses: Floats, best: Floats | None) -> bool:
        """Whether the losses are below the best ones, in the median over the blocks."""
        middle = float(lower_median(losses))
        if best is None or not np.isfinite(best).any():
            return bool(np.isfinite(middle))
        change = differences(losses, best)
        needed = self.tolerance * abs(float(lower_median(best)))
        # upper and lower median both: with ties of an even number of blocks nothing counts as improvement
        return bool(-float(lower_median(-change)) < -needed)
