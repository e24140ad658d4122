"""Letting go of a run that was cancelled: threads cannot be killed, so long work asks now and then.

Work that reads a large file calls `check_stopped` between batches; outside of a run on threads it does
nothing.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

_here = threading.local()


class Flag(Protocol):
    """An Event, or something that answers like one."""

    def is_set(self) -> bool: ...  # noqa: D102


class Stopped(BaseException):
    """The run was cancelled. Not an Exception, so that no handler on the way takes it for a failure."""


def check_stopped() -> None:
    """Raise `Stopped` if the run that this thread works for was cancelled."""
    event = getattr(_here, "event", None)
    if event is not None and event.is_set():
        raise Stopped


@contextmanager
def stoppable(event: Flag) -> Iterator[None]:
    """Tie this thread to ``event`` for the duration of one unit."""
    before = getattr(_here, "event", None)
    _here.event = event
    try:
        yield
    finally:
        _here.event = before
