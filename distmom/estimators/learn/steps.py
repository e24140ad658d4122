"""From the shuffled order to the blocks of one step after another, whatever the rows lie in."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np

from distmom.errors import NoAnswerError
from distmom.estimators.learn.prefetch import Ahead, Span
from distmom.estimators.learn.row_counts import Met, Place
from distmom.estimators.learn.rows import Fetched, TrainingRows
from distmom.estimators.learn.scale import Scale
from distmom.estimators.learn.shared import SharedBlocks, share
from distmom.numerics.arrays import Floats, Ints
from distmom.numerics.losses.block_risk import BlockRisk
from distmom.numerics.random.virtual_order import VirtualOrder
from distmom.solvers import RiskBlocks

if TYPE_CHECKING:
    from distmom.cluster.executors.crew import Crew

MOST_SHARED = 8_000_000
"""Bytes of blocks that go to one of a crew at once."""


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
    place : Place
        Where to begin.
    n_steps : int, optional
        Steps that will be taken at most; nothing is fetched ahead for more.
    first_pass : int
        The pass whose rows are counted as they are met: in further ones the same rows come again.

    Attributes
    ----------
    place : Place
        Where the next step begins.
    """

    def __init__(
        self,
        order: VirtualOrder,
        source: TrainingRows,
        n_blocks: int,
        block_size: int,
        place: Place = Place(),  # noqa: B008
        n_steps: int | None = None,
        first_pass: int = 0,
    ) -> None:
        self.order = order
        self.shape = (n_blocks, block_size)
        self.place = place
        self.first_pass = first_pass
        self._left = n_steps
        self._ahead = Ahead(order, source)
        self._at_once = source.at_once(n_blocks * block_size)
        self._fetched = place.row
        self._fates = np.zeros(0, np.uint8)  # of the rows from the place on that were fetched
        self._held = _Held(np.zeros((0, source.n_features)), np.zeros(0), np.zeros(0, np.int64))

    def take(self) -> tuple[Floats, Floats]:
        """Features (K, B, d) and targets (K, B) of the next step.

        Raises
        ------
        NoAnswerError
            If a whole pass has too few rows that count.
        """
        wanted = self.shape[0] * self.shape[1]
        begun = self.place.row > 0
        while not self._fill(wanted):
            if not begun:
                raise NoAnswerError(
                    f"{len(self._held.targets):,} rows that count are too few for a step of {self.shape[0]} "
                    f"blocks of {self.shape[1]}; take fewer or smaller blocks"
                )
            begun = False
            self.place = Place(self.place.number + 1, 0, self._met(self._fates.size))
            self._fetched = 0
            self._held = self._held.after(len(self._held.targets))
        held = self._held
        row = int(held.places[wanted - 1]) + 1
        self.place = Place(self.place.number, row, self._met(row - self.place.row))
        self._held = held.after(wanted)
        self._left = None if self._left is None else max(0, self._left - 1)
        features = held.features[:wanted].reshape(*self.shape, -1)
        return features, held.targets[:wanted].reshape(self.shape)

    def _fill(self, wanted: int) -> bool:
        """Fetch until so many rows are held; False if the pass ends before."""
        while len(self._held.targets) < wanted:
            span = self._span(self.place.number, self._fetched)
            if span.start >= span.stop:
                return False
            found = self._ahead.fetch(span, self._following(span, wanted))
            if span.number == self.first_pass:
                self._fates = np.concatenate([self._fates, found.fates_in_detail()])
            self._held = self._held.plus(found, span.start)
            self._fetched = span.stop
        return True

    def _met(self, n_rows: int) -> Met:
        """With so many rows more than at the place."""
        met, self._fates = self.place.met.plus(self._fates[:n_rows]), self._fates[n_rows:]
        return met

    @property
    def n_ready(self) -> int:
        """Further steps whose rows are here."""
        return len(self._held.targets) // (self.shape[0] * self.shape[1])

    def close(self) -> None:
        """Give up what is being fetched."""
        self._ahead.close()

    def _span(self, number: int, start: int) -> Span:
        return Span(number, start, min(start + self._at_once, self.order.n_pass))

    def _following(self, span: Span, wanted: int) -> Span | None:
        """What will be fetched after a span; None if the steps end before."""
        if self._left is not None and len(self._held.targets) + span.stop - span.start >= self._left * wanted:
            return None
        more = span.stop < self.order.n_pass
        return self._span(span.number, span.stop) if more else self._span(span.number + 1, 0)


@dataclass(frozen=True)
class _Held:
    """Rows that were fetched and wait, and their places in the pass."""

    features: Floats
    targets: Floats
    places: Ints

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


class Steps:
    """The blocks of the steps of a stream, with scaled rows: an iterator of what a descent asks.

    Where the blocks are computed elsewhere, those of all steps whose rows are here go there together.

    Parameters
    ----------
    stream : StepStream
    risk : BlockRisk
    scale : Scale
    crew : Crew, optional
        Those who compute the losses and gradients of blocks; by default the caller itself.

    Attributes
    ----------
    place : Place
        Where the step after the last one given begins.
    """

    def __init__(self, stream: StepStream, risk: BlockRisk, scale: Scale, crew: Crew | None = None) -> None:
        self.stream, self.risk, self.scale, self.crew = stream, risk, scale, crew
        self.place = stream.place
        self._waiting: deque[tuple[RiskBlocks | SharedBlocks, Place]] = deque()

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> RiskBlocks | SharedBlocks:
        if not self._waiting:
            self._refill()
        blocks, self.place = self._waiting.popleft()
        return blocks

    def _refill(self) -> None:
        """The blocks of the next step, or with a crew of as many as their rows are here for."""
        taken = [self._take()]
        if self.crew is None:
            self._waiting.extend(taken)
            return
        most = MOST_SHARED * self.crew.size // max(1, taken[0][0].rows.nbytes)
        taken += [self._take() for _ in range(min(self.stream.n_ready, most))]
        shared = share([blocks for blocks, _ in taken], self.crew)
        self._waiting.extend(zip(shared, (place for _, place in taken), strict=True))

    def _take(self) -> tuple[RiskBlocks, Place]:
        features, targets = self.stream.take()
        blocks = RiskBlocks(self.risk, self.scale.features(features), self.scale.targets(targets))
        return blocks, self.stream.place
