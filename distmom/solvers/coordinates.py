"""Other coordinates for a descent, and the blocks that it skips."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from distmom.numerics.arrays import Bools, Floats
from distmom.solvers.blocks import RiskBlocks

Accused = Callable[[Floats, Floats], Bools]
"""Marks which rows, of shape (..., d) with their targets, are excluded from learning."""


@dataclass(frozen=True)
class Coordinates:
    """Parameters x = T v of a linear predictor, or of one for each class: steps are taken in v.

    A gradient step in v is a step along T T' times the gradient in x: if T T' is the inverse of the curvature
    it is a Newton step (Gauss-Newton for squares).
    """

    basis: Floats  # T, symmetric

    def point(self, v: Floats) -> Floats:
        """The parameters."""
        return np.asarray((v.reshape(-1, len(self.basis)) @ self.basis).ravel())

    def place(self, x: Floats) -> Floats:
        """The coordinates of these parameters."""
        found = np.linalg.solve(self.basis, x.reshape(-1, len(self.basis)).T)
        return np.asarray(found.T.ravel(), np.float64)

    def gradients(self, gradients: Floats) -> Floats:
        """Gradients with respect to v, one per row, from those with respect to x."""
        found = gradients.reshape(len(gradients), -1, len(self.basis)) @ self.basis
        return np.asarray(found.reshape(gradients.shape))


@dataclass(frozen=True)
class SeenBlocks:
    """Blocks in other coordinates, or unchanged; those that contain a flagged row are skipped."""

    blocks: RiskBlocks
    coordinates: Coordinates | None = None
    accused: Accused | None = None

    @cached_property
    def usable(self) -> Bools:
        """Blocks with an informative loss and without a flagged row."""
        blocks = self.blocks
        if self.accused is None:
            return blocks.usable
        return np.asarray(blocks.usable & ~self.accused(blocks.rows, blocks.targets).any(axis=1))

    @property
    def rows(self) -> Floats:
        """Features of the rows of all blocks."""
        return self.blocks.rows

    @property
    def targets(self) -> Floats:
        """Targets of the rows of all blocks."""
        return self.blocks.targets

    def losses(self, x: Floats) -> Floats:
        """Loss of each block."""
        return self.blocks.losses(self._point(x))

    def gradients(self, x: Floats, blocks: Sequence[int]) -> Floats:
        """Gradients of the losses of some blocks, one per row."""
        found = self.blocks.gradients(self._point(x), blocks)
        if self.coordinates is None:
            return found
        with np.errstate(over="ignore", invalid="ignore"):
            return self.coordinates.gradients(found)

    def _point(self, x: Floats) -> Floats:
        return x if self.coordinates is None else self.coordinates.point(x)
