"""Cancelling work: it checks now and then, also while waiting, whether it should continue."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic, sleep

EVERY = 0.2
"""Seconds between two checks."""

_here = threading.local()


class Stopped(BaseException):
    """The run was cancelled. Not an Exception, so that no handler treats it as a failure."""


def check_stopped() -> None:
    """Raise if the work of this thread should stop, according to `asking`."""
    if (ask := getattr(_here, "ask", None)) is not None:
        ask()


@contextmanager
def asking(ask: Callable[[], None]) -> Iterator[None]:
    """Make `check_stopped` call ``ask`` in this thread; it may raise."""
    before = getattr(_here, "ask", None)
    _here.ask = ask
    try:
        yield
    finally:
        _here.ask = before


@contextmanager
def stoppable(cancelled: Callable[[], bool]) -> Iterator[None]:
    """Make `check_stopped` raise `Stopped` in this thread once ``cancelled()``, while one unit runs."""

    def ask() -> None:
        if cancelled():
            raise Stopped

    with asking(ask):
        yield


def wait(seconds: float) -> None:
    """Sleep, unless the work is cancelled meanwhile."""
    end = monotonic() + seconds
    check_stopped()
    while (left := end - monotonic()) > 0:
        sleep(min(left, EVERY))
        check_stopped()
