"""Rows of the next steps are fetched while the steps on the present ones run."""

from __future__ import annotations

import threading
from concurrent.futures import Future, ThreadPoolExecutor, TimeoutError
from typing import NamedTuple

from distmom.cluster.interrupts import EVERY, interrupts
from distmom.estimators.learn.rows import Fetched, TrainingRows
from distmom.numerics.random.virtual_order import VirtualOrder


class Span(NamedTuple):
    """Places ``[start, stop)`` of a pass."""

    number: int
    start: int
    stop: int


class Ahead:
    """Fetches spans of an order; where that takes long, the next one in the background.

    Parameters
    ----------
    order : VirtualOrder
    source : TrainingRows
    """

    def __init__(self, order: VirtualOrder, source: TrainingRows) -> None:
        self.order = order
        self.source = source
        self._pool: ThreadPoolExecutor | None = None
        self._coming: tuple[Span, Future[Fetched]] | None = None
        self._stop = threading.Event()

    def fetch(self, span: Span, following: Span | None) -> Fetched:
        """The rows of a span; those of `following` are fetched in the meantime, as they will come next."""
        coming, self._coming = self._coming, None
        if coming is not None and coming[0] == span:
            found = _wait(coming[1])
        else:
            self._put_back(coming)
            found = self.source.fetch(self.order.rows(*span))
        if following is not None and self.source.far:
            if self._pool is None:
                self._pool = ThreadPoolExecutor(1, thread_name_prefix="distmom-ahead")
            with interrupts.blocked():
                self._coming = following, self._pool.submit(self._later, following)
        return found

    def close(self) -> None:
        """Give up what is on its way."""
        coming, self._coming = self._coming, None
        self._put_back(coming)
        if self._pool is not None:
            self._pool.shutdown()
            self._pool = None

    def _later(self, span: Span) -> Fetched:
        return self.source.fetch(self.order.rows(*span), self._stop)

    def _put_back(self, coming: tuple[Span, Future[Fetched]] | None) -> None:
        if coming is None:
            return
        self._stop.set()
        coming[1].cancel() or coming[1].exception()
        self._stop.clear()


def _wait(future: Future[Fetched]) -> Fetched:
    """The result; an interrupt is heard meanwhile."""
    while True:
        try:
            return future.result(EVERY)
        except TimeoutError:
            if future.done():  # it was the work's own
                raise
            interrupts.check()
