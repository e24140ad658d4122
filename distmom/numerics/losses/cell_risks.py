"""Risks of dividing rows into cells around centres: of single rows, and of pairs with soft membership."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from distmom.numerics.arrays import Floats
from distmom.numerics.losses.block_risk import BlockRisk, few_blocks
from distmom.numerics.losses.row_risks import softmax


@dataclass(frozen=True)
class CellRisk(BlockRisk):
    """A risk of centres, one after the other."""

    n_cells: int

    def n_parameters(self, n_features: int) -> int:  # noqa: D102
        return self.n_cells * n_features

    def centres(self, parameters: Floats) -> Floats:
        """The centres, one per row."""
        return parameters.reshape(self.n_cells, -1)


@dataclass(frozen=True)
class QuantisationRisk(CellRisk):
    """Mean squared distance of the rows of a block to their nearest centres: the objective of k-means.

    A row beyond the `cap` costs the cap, and attracts no centre. The parameters are the centres times the
    `units`, if these are given: if they are roots of the shares of the cells, a small cell moves as fast as a
    large one.
    """

    cap: float = np.inf
    units: tuple[float, ...] = ()

    def centres(self, parameters: Floats) -> Floats:  # noqa: D102
        found = super().centres(parameters)
        return found / np.array(self.units)[:, None] if self.units else found

    def parameters(self, centres: Floats) -> Floats:
        """The parameters of given centres."""
        return np.ravel(centres * np.array(self.units)[:, None] if self.units else centres)

    def losses(self, parameters: Floats, rows: Floats, targets: Floats) -> Floats:  # noqa: D102
        squares = squared_to_centres(rows, self.centres(parameters))
        return np.asarray(np.minimum(squares.min(axis=-1), self.cap).mean(axis=-1))

    def gradient(self, parameters: Floats, rows: Floats, targets: Floats) -> Floats:  # noqa: D102
        centres = self.centres(parameters)
        squares = squared_to_centres(rows, centres)
        cell = squares.argmin(axis=1)
        near = squares[np.arange(len(cell)), cell] <= self.cap
        member = np.zeros((int(near.sum()), self.n_cells))
        member[np.arange(len(member)), cell[near]] = 1.0
        away = member.sum(axis=0)[:, None] * centres - member.T @ rows[near]
        by_centre = 2.0 / rows.shape[0] * away
        return np.ravel(by_centre / np.array(self.units)[:, None] if self.units else by_centre)


@dataclass(frozen=True)
class SoftCellRisk(CellRisk):
    """Mean over the pairs of a block of their squared distance times the probability of a common cell.

    A row belongs to the cell of centre c with probability proportional to ``exp(-||x - c||^2 /
    temperature)``, independently of the others; low temperatures give the risk of a partition.
    """

    temperature: float = 1.0
    pairwise: ClassVar[bool] = True

    def losses(self, parameters: Floats, rows: Floats, targets: Floats) -> Floats:  # noqa: D102
        centres = self.centres(parameters)
        n = rows.shape[1]
        found = []
        for part in few_blocks(*rows.shape[:2]):
            with np.errstate(over="ignore", invalid="ignore"):
                share = self._membership(rows[part], centres)
                together = (share @ share.transpose(0, 2, 1)) * _squares(rows[part])
                found.append(together.sum(axis=(1, 2)) / (n * (n - 1)))
        return np.concatenate(found)

    def gradient(self, parameters: Floats, rows: Floats, targets: Floats) -> Floats:  # noqa: D102
        centres = self.centres(parameters)
        n = rows.shape[0]
        share = self._membership(rows, centres)
        by_share = 2.0 / (n * (n - 1)) * (_squares(rows[None])[0] @ share)
        by_logit = share * (by_share - (share * by_share).sum(axis=1, keepdims=True))
        pull = by_logit.T @ rows - by_logit.sum(axis=0)[:, None] * centres
        return np.asarray(2.0 / self.temperature * pull).ravel()

    def _membership(self, rows: Floats, centres: Floats) -> Floats:
        return softmax(-squared_to_centres(rows, centres) / self.temperature)


def squared_to_centres(rows: Floats, centres: Floats) -> Floats:
    """Squared distances of rows (…, d) to centres (k, d), shape (…, k)."""
    with np.errstate(over="ignore", invalid="ignore"):
        away = [((rows - centre) ** 2).sum(axis=-1) for centre in centres]
    return np.stack(away, axis=-1)


def _squares(rows: Floats) -> Floats:
    """Squared distances between the rows of each block."""
    gram = rows @ rows.transpose(0, 2, 1)
    size = np.diagonal(gram, axis1=1, axis2=2)
    return np.maximum(size[:, :, None] + size[:, None, :] - 2.0 * gram, 0.0)
