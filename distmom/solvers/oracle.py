"""What a solver asks of the blocks of one step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


class Blocks(Protocol):
    """Losses and gradients of the blocks of one step."""

    @property
    def usable(self) -> NDArray[np.bool_]:
        """Blocks whose loss says something; the others are passed over."""
        ...

    def losses(self, x: Floats) -> Floats:
        """Loss of each block; NaN counts as infinite."""
        ...

    def gradients(self, x: Floats, blocks: Sequence[int]) -> Floats:
        """Gradients of the losses of some blocks, one a row."""
        ...
