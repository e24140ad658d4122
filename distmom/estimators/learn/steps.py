"""From the shuffled order to the blocks of one step after another, whatever the rows lie in."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple, Self

import numpy as np

from distmom.cluster.interrupts import interrupts
from distmom.errors import NoAnswerError
from distmom.estimators.learn.prefetch import Ahead, RowRange
from distmom.estimators.learn.rows import Fetched, Met, TrainingRows
from distmom.estimators.learn.scale import Scale
from distmom.estimators.learn.shared import SharedBlocks, share
from distmom.numerics.arrays import Floats
from distmom.numerics.losses.block_risk import BlockRisk
from distmom.numerics.random.virtual_order import VirtualOrder
from distmom.solvers.blocks import RiskBlocks
from distmom.solvers.state import DescentState

if TYPE_CHECKING:
    from distmom.cluster.executors.crew import Crew

MOST_SHARED = 8_000_000
"""Bytes of blocks that go to one of a crew at once."""


class StepPosition(NamedTuple):
    """Where a step begins: in which pass, behind how many of its rows, what became of those of the first."""

    number: int = 0
    row: int = 0
    met: Met = Met()


class StepStream:
    """Blocks of rows, step after step.

    A step has the next K B rows of the order that count; what is left of a pass that is too short for a step
    is dropped. So the steps depend on nothing but the order, K, B, and which rows count: not on how many rows
    are fetched at once, nor on where they come from.

    Parameters
    ----------
    place : StepPosition
        Where the next step begins, an attribute too.
    n_steps : int, optional
        Steps that will be taken at most; nothing is fetched ahead for more.
    first_pass : int
        The pass whose rows are counted as they are met: in further ones the same rows come again.
    """

    def __init__(
        self,
        order: VirtualOrder,
        source: TrainingRows,
        n_blocks: int,
        block_size: int,
        place: StepPosition = StepPosition(),  # noqa: B008
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
        self._nothing = Fetched(np.zeros((0, source.n_features)), np.zeros(0), np.zeros(0, np.uint8))
        self._begin()

    def _begin(self) -> None:
        """Hold nothing: `held` are rows from place `first` of the pass on, of which `keep` are to come."""
        self._held, self._first, self._keep = self._nothing, self.place.row, np.zeros(0, np.intp)

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
                    f"{self._keep.size:,} rows that count are too few for a step of {self.shape[0]} "
                    f"blocks of {self.shape[1]}; take fewer or smaller blocks"
                )
            begun = False
            self._pass_by(self._first + self._held.targets.size)
            self.place = StepPosition(self.place.number + 1, 0, self.place.met)
            self._begin()
        rows, self._keep = self._keep[:wanted], self._keep[wanted:]
        self._pass_by(self._first + int(rows[-1]) + 1)
        self._left = None if self._left is None else max(0, self._left - 1)
        return self._held.features[rows].reshape(*self.shape, -1), self._held.targets[rows].reshape(
            self.shape
        )

    def _pass_by(self, row: int) -> None:
        """Let the place be before this row; count those up to there if they are met for the first time."""
        number, begin, met = self.place
        if number == self.first_pass:
            met = met.plus(self._held.part(begin - self._first, row - self._first))
        self.place = StepPosition(number, row, met)

    def _fill(self, wanted: int) -> bool:
        """Fetch until so many rows are held; False if the pass ends before."""
        while self._keep.size < wanted:
            left = self._held.part(self.place.row - self._first)
            span = self._span(self.place.number, self.place.row + left.targets.size)
            if span.start >= span.stop:
                return False
            held = left.then(self._ahead.fetch(span, self._following(span, wanted)))
            self._held, self._first, self._keep = held, self.place.row, np.flatnonzero(held.used)
        return True

    @property
    def n_ready(self) -> int:
        """Steps whose rows are held already."""
        return self._keep.size // (self.shape[0] * self.shape[1])

    def close(self) -> None:
        """Give up what is being fetched."""
        self._ahead.close()

    def _span(self, number: int, start: int) -> RowRange:
        return RowRange(number, start, min(start + self._at_once, self.order.n_pass))

    def _following(self, span: RowRange, wanted: int) -> RowRange | None:
        """What will be fetched after a span; None if the steps end before."""
        if self._left is not None and self._keep.size + span.stop - span.start >= self._left * wanted:
            return None
        more = span.stop < self.order.n_pass
        return self._span(span.number, span.stop) if more else self._span(span.number + 1, 0)


class Steps:
    """The blocks of the steps of a stream, with scaled rows: an iterator of what a descent asks.

    Where the blocks are computed elsewhere, those of all steps whose rows are here go there together. To be
    called after each step.

    Attributes
    ----------
    place : StepPosition
        Where the step after the last complete one begins, also if that one fails half way.
    coming : StepPosition
        Where the step after the last one given begins.
    note : callable, optional
        Called after each step, as is `watch`, which takes the state.
    """

    def __init__(
        self,
        stream: StepStream,
        risk: BlockRisk,
        scale: Scale,
        crew: Crew | None = None,
        watch: Callable[[DescentState], None] | None = None,
    ) -> None:
        self.stream, self.risk, self.scale, self.crew, self.watch = stream, risk, scale, crew, watch
        self.place = self.coming = stream.place
        self.note: Callable[[], None] | None = None
        self._waiting: deque[tuple[RiskBlocks | SharedBlocks, StepPosition]] = deque()

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> RiskBlocks | SharedBlocks:
        if not self._waiting:
            self._refill()
        blocks, self.coming = self._waiting.popleft()
        return blocks

    def __call__(self, state: DescentState) -> None:
        """What happens after a step."""
        self.place = self.coming
        if self.note is not None:
            self.note()
        interrupts.check()
        if self.watch is not None:
            self.watch(state)

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

    def _take(self) -> tuple[RiskBlocks, StepPosition]:
        features, targets = self.stream.take()
        blocks = RiskBlocks(self.risk, self.scale.features(features), self.scale.targets(targets))
        return blocks, self.stream.place
