"""Rows of the next steps are fetched while the steps on the present ones run."""

from __future__ import annotations

import threading
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import NamedTuple

from distmom.cluster.interrupts import EVERY, interrupts
from distmom.estimators.learn.rows import Fetched, TrainingRows
from distmom.numerics.random.virtual_order import VirtualOrder


class RowRange(NamedTuple):
    """Places ``[start, stop)`` of a pass."""

    number: int
    start: int
    stop: int


class Ahead:
    """Fetches spans of an order; where that takes long, the next one in the background."""

    def __init__(self, order: VirtualOrder, source: TrainingRows) -> None:
        self.order, self.source = order, source
        self._pool: ThreadPoolExecutor | None = None
        self._coming: tuple[RowRange, Future[Fetched]] | None = None
        self._stop = threading.Event()

    def fetch(self, span: RowRange, following: RowRange | None) -> Fetched:
        """The rows of a span; those of `following` are fetched in the meantime, as they will come next."""
        if self._coming is not None and self._coming[0] == span:
            future = self._coming[1]
            while not wait([future], EVERY).done:
                interrupts.check()
            self._coming = None
            found = future.result()
        else:
            self._give_up()
            found = self.source.fetch(self.order.rows(*span))
        if following is not None and self.source.far:
            if self._pool is None:
                self._pool = ThreadPoolExecutor(1, thread_name_prefix="distmom-ahead")
            with interrupts.blocked():
                self._coming = following, self._pool.submit(self._later, following)
        return found

    def close(self) -> None:
        """Give up what is on its way."""
        self._give_up()
        if self._pool is not None:
            self._pool.shutdown()
            self._pool = None

    def _later(self, span: RowRange) -> Fetched:
        return self.source.fetch(self.order.rows(*span), self._stop)

    def _give_up(self) -> None:
        coming, self._coming = self._coming, None
        if coming is not None:
            self._stop.set()
            coming[1].cancel() or coming[1].exception()
            self._stop.clear()
