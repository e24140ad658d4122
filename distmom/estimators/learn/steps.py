"""From the shuffled order to the rows of one step after another, wherever they are."""

from __future__ import annotations

import threading
from collections.abc import Generator, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import closing
from typing import NamedTuple

import numpy as np

from distmom.cluster.interrupts import interrupts
from distmom.errors import NoAnswerError
from distmom.estimators.learn.rows import ArrayRows, Met, TrainingRows
from distmom.numerics.arrays import Floats
from distmom.numerics.random.virtual_order import VirtualOrder
from distmom.stopping import EVERY


class StepPosition(NamedTuple):
    """Where a step begins: its pass, the rows before it, and the fates of rows in the first pass."""

    number: int = 0
    row: int = 0
    met: Met = Met()


class RowRange(NamedTuple):
    """Places ``[start, stop)`` of a pass."""

    number: int
    start: int
    stop: int


def step_rows(
    order: VirtualOrder,
    source: TrainingRows,
    n_blocks: int,
    block_size: int,
    place: StepPosition = StepPosition(),  # noqa: B008
    n_steps: int | None = None,
    first_pass: int = 0,
) -> Generator[tuple[Floats, Floats, StepPosition]]:
    """Features (K, B, d) and targets (K, B), step after step, and the place after them.

    A step has the next K B rows of the order that count; a remainder of a pass too short for a step is
    dropped. So the steps depend only on the order, K, B, and which rows count: not on how many rows are
    fetched at once, nor on where they come from.

    The first step begins at `place`; nothing is fetched ahead for more than `n_steps`. Rows are counted only
    in `first_pass`: later passes read the same rows again.

    NoAnswerError if a whole pass has too few rows that count.
    """
    wanted, taken = n_blocks * block_size, 0
    spans = _spans(order.n_pass, place, source.at_once(wanted))
    span, nothing = next(spans), ArrayRows(np.zeros((0, source.n_features)))
    held, first, keep = nothing, place.row, np.zeros(0, np.intp)  # rows from `first` of the pass on, to come

    def behind(row: int) -> StepPosition:
        """The place there; rows up to it are counted if this is their first pass."""
        passed = held.part(place.row - first, row - first)
        return StepPosition(
            place.number, row, place.met.plus(passed) if place.number == first_pass else place.met
        )

    with closing(_Ahead(order, source)) as ahead:
        while True:
            if span.number != place.number:
                if not place.row:
                    raise NoAnswerError(
                        f"{keep.size:,} usable rows are too few for a step of {n_blocks} "
                        f"blocks of {block_size}; take fewer or smaller blocks"
                    )
                place = StepPosition(span.number, 0, behind(first + held.n_rows).met)
                held, first = nothing, 0
            following = next(spans)
            enough = n_steps is not None and (
                keep.size + span.stop - span.start >= (n_steps - taken) * wanted
            )
            held = held.part(place.row - first).then(ahead.rows(span, None if enough else following))
            span, first, keep = following, place.row, np.flatnonzero(held.used)
            while keep.size >= wanted:
                rows, keep = keep[:wanted], keep[wanted:]
                place, taken = behind(first + int(rows[-1]) + 1), taken + 1
                features = held.features[rows].reshape(n_blocks, block_size, -1)
                yield features, held.targets[rows].reshape(n_blocks, block_size), place


def first_span(
    order: VirtualOrder,
    source: TrainingRows,
    step_rows: int,
    place: StepPosition = StepPosition(),  # noqa: B008
) -> RowRange:
    """What is fetched first for steps of this size from a place on."""
    return next(_spans(order.n_pass, place, source.at_once(step_rows)))


def _spans(n_pass: int, place: StepPosition, at_once: int) -> Iterator[RowRange]:
    """What is fetched together, from a place on, pass after pass."""
    number, start = place.number, place.row
    while True:
        while start < n_pass:
            yield RowRange(number, start, min(start + at_once, n_pass))
            start += at_once
        number, start = number + 1, 0


class _Ahead:
    """Fetches rows; if that is slow, those of the next steps while the present ones run."""

    def __init__(self, order: VirtualOrder, source: TrainingRows) -> None:
        self._order, self._source = order, source
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="distmom-ahead")
        self._coming: Future[ArrayRows] | None = None
        self._stop = threading.Event()

    def rows(self, span: RowRange, following: RowRange | None) -> ArrayRows:
        """The rows of a span; those of `following` are fetched in the meantime, as they come next."""
        if self._coming is None:
            found = self._source.fetch(self._order.rows(*span))
        else:
            while not wait([self._coming], EVERY).done:
                interrupts.check()
            found = self._coming.result()
        self._coming = None
        if following is not None and self._source.far:
            with interrupts.blocked():
                self._coming = self._pool.submit(
                    lambda: self._source.fetch(self._order.rows(*following), self._stop)
                )
        return found

    def close(self) -> None:
        """Cancel what is being fetched."""
        self._stop.set()
        self._pool.shutdown(cancel_futures=True)
