"""From the shuffled order to the blocks of one step after another, whatever the rows lie in."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from distmom.errors import NoAnswerError
from distmom.estimators.learn.rows import Fetched, Floats, TrainingRows
from distmom.estimators.learn.scale import Scale
from distmom.numerics.block_risk import BlockRisk
from distmom.numerics.virtual_order import VirtualOrder
from distmom.solvers import RiskBlocks

Place = tuple[int, int]
"""Number of a pass, and how many rows of it are behind."""


class StepStream:
    """Blocks of rows, step after step.

    A step has the next K B rows of the order that count; what is left of a pass that is too short for a step
    is dropped. So the steps depend on nothing but the order, K, B, and which rows count: not on how many rows
    are fetched at once, nor on where they come from.

    Parameters
    ----------
    order : VirtualOrder
    source : TrainingRows
    n_blocks, block_size : int
        K and B.
    place : (int, int)
        Where to begin.

    Attributes
    ----------
    place : (int, int)
        Where the next step begins.
    n_unused : int
        Rows met that did not count.
    """

    def __init__(
        self,
        order: VirtualOrder,
        source: TrainingRows,
        n_blocks: int,
        block_size: int,
        place: Place = (0, 0),
    ) -> None:
        self.order = order
        self.source = source
        self.shape = (n_blocks, block_size)
        self.place = place
        self.n_unused = 0
        self._at_once = source.at_once(n_blocks * block_size)
        self._fetched = place[1]
        self._held = _Held(np.zeros((0, source.n_features)), np.zeros(0), np.zeros(0, np.int64))

    def take(self) -> tuple[Floats, Floats]:
        """Features (K, B, d) and targets (K, B) of the next step.

        Raises
        ------
        NoAnswerError
            If a whole pass has too few rows that count.
        """
        wanted = self.shape[0] * self.shape[1]
        begun = self.place[1] > 0
        while not self._fill(wanted):
            if not begun:
                raise NoAnswerError(
                    f"{len(self._held.targets):,} rows that count are too few for a step of {self.shape[0]} "
                    f"blocks of {self.shape[1]}; take fewer or smaller blocks"
                )
            begun = False
            self.place, self._fetched = (self.place[0] + 1, 0), 0
            self._held = self._held.after(len(self._held.targets))
        held = self._held
        self.place = (self.place[0], int(held.places[wanted - 1]) + 1)
        self._held = held.after(wanted)
        features = held.features[:wanted].reshape(*self.shape, -1)
        return features, held.targets[:wanted].reshape(self.shape)

    def _fill(self, wanted: int) -> bool:
        """Fetch until so many rows are held; False if the pass ends before."""
        while len(self._held.targets) < wanted:
            start, stop = self._fetched, min(self._fetched + self._at_once, self.order.n_pass)
            if start >= stop:
                return False
            found = self.source.fetch(self.order.rows(self.place[0], start, stop))
            self.n_unused += int(found.used.size - found.used.sum())
            self._held = self._held.plus(found, start)
            self._fetched = stop
        return True


@dataclass(frozen=True)
class _Held:
    """Rows that were fetched and wait, and their places in the pass."""

    features: Floats
    targets: Floats
    places: NDArray[np.int64]

    def plus(self, found: Fetched, start: int) -> _Held:
        keep = np.flatnonzero(found.used)
        every = keep.size == found.used.size
        features, targets = (
            (found.features, found.targets) if every else (found.features[keep], found.targets[keep])
        )
        if not self.targets.size:
            return _Held(features, targets, keep + start)
        return _Held(
            np.concatenate([self.features, features]),
            np.concatenate([self.targets, targets]),
            np.concatenate([self.places, keep + start]),
        )

    def after(self, count: int) -> _Held:
        return _Held(self.features[count:], self.targets[count:], self.places[count:])


def risk_blocks(stream: StepStream, risk: BlockRisk, scale: Scale) -> Iterator[RiskBlocks]:
    """The blocks of the steps of a stream, with scaled rows."""
    while True:
        features, targets = stream.take()
        yield RiskBlocks(risk, scale.features(features), scale.targets(targets))
