"""Work that is given up: it asks now and then whether it should go on, also while it waits."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic, sleep

EVERY = 0.2
"""Seconds between two questions."""

_here = threading.local()


class Stopped(BaseException):
    """The run was cancelled. Not an Exception, so that no handler on the way takes it for a failure."""


def check_stopped() -> None:
    """Raise if the work of this thread should not go on, as `asking` said."""
    if (ask := getattr(_here, "ask", None)) is not None:
        ask()


@contextmanager
def asking(ask: Callable[[], None]) -> Iterator[None]:
    """Have `check_stopped` call ``ask`` in this thread, which may raise."""
    before = getattr(_here, "ask", None)
    _here.ask = ask
    try:
        yield
    finally:
        _here.ask = before


@contextmanager
def stoppable(cancelled: Callable[[], bool]) -> Iterator[None]:
    """Have `check_stopped` raise `Stopped` in this thread once ``cancelled()``, while one unit runs."""

    def ask() -> None:
        if cancelled():
            raise Stopped

    with asking(ask):
        yield


def wait(seconds: float) -> None:
    """Sleep, unless the work is given up meanwhile."""
    end = monotonic() + seconds
    check_stopped()
    while (left := end - monotonic()) > 0:
        sleep(min(left, EVERY))
        check_stopped()
