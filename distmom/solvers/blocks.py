"""What a solver requests from the blocks of one step, and the rows of a step that provide it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from distmom.numerics.arrays import Bools, Floats
from distmom.numerics.losses.block_risk import BlockRisk


class BlockOracle(Protocol):
    """Losses and gradients of the blocks of one step."""

    @property
    def usable(self) -> Bools:
        """Blocks with an informative loss; the others are skipped."""
        ...

    def losses(self, x: Floats) -> Floats:
        """Loss of each block; NaN counts as infinite."""
        ...

    def gradients(self, x: Floats, blocks: Sequence[int]) -> Floats:
        """Gradients of the losses of some blocks, one per row."""
        ...


@dataclass(frozen=True)
class RiskBlocks:
    """K blocks of rows, of shape (K, B, d) and (K, B), and the risk evaluated on them."""

    risk: BlockRisk
    rows: Floats
    targets: Floats
    usable: Bools = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "usable", self.risk.usable(self.rows, self.targets))

    def losses(self, x: Floats) -> Floats:
        """Loss of each block."""
        return self.risk.losses(x, self.rows, self.targets)

    def gradients(self, x: Floats, blocks: Sequence[int]) -> Floats:
        """Gradients of the losses of some blocks, one per row."""
        with np.errstate(over="ignore", invalid="ignore"):
            return np.stack([self.risk.gradient(x, self.rows[k], self.targets[k]) for k in blocks])
