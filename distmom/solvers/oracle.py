"""What a solver asks of the blocks of one step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from distmom.numerics.arrays import Bools, Floats


class Blocks(Protocol):
    """Losses and gradients of the blocks of one step."""

    @property
    def usable(self) -> Bools:
        """Blocks whose loss says something; the others are passed over."""
        ...

    def losses(self, x: Floats) -> Floats:
        """Loss of each block; NaN counts as infinite."""
        ...

    def gradients(self, x: Floats, blocks: Sequence[int]) -> Floats:
        """Gradients of the losses of some blocks, one a row."""
        ...
