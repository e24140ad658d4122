"""The rows of a step as the blocks that a solver asks."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from distmom.numerics.block_risk import BlockRisk
from distmom.solvers.oracle import Floats


@dataclass(frozen=True)
class RiskBlocks:
    """Blocks of rows and the risk that is taken of them.

    Attributes
    ----------
    risk : BlockRisk
    rows : ndarray, shape (K, B, d)
    targets : ndarray, shape (K, B)
    usable : ndarray of bool, shape (K,)
    """

    risk: BlockRisk
    rows: Floats
    targets: Floats
    usable: NDArray[np.bool_] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "usable", self.risk.usable(self.rows, self.targets))

    def losses(self, x: Floats) -> Floats:
        """Loss of each block."""
        return self.risk.losses(x, self.rows, self.targets)

    def gradient(self, x: Floats, block: int) -> Floats:
        """Gradient of one block's loss."""
        with np.errstate(over="ignore", invalid="ignore"):
            return self.risk.gradient(x, self.rows[block], self.targets[block])
