"""Ctrl-C at the right moment.

Python raises KeyboardInterrupt between any two instructions of the main thread: in the middle of starting a
cluster, which then cannot be ended, or in a callback that swallows it. While an executor lives the signal is
therefore only noted; the runner asks for it several times a second, cancels its work and raises. A second
Ctrl-C raises at once.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

EVERY = 0.2
"""Seconds between two questions."""


class _Interrupts:
    def __init__(self) -> None:
        self._noted = 0
        self._deferred = False

    @contextmanager
    def deferred(self) -> Iterator[None]:
        """Note SIGINT instead of raising; what is noted when this ends is raised then.

        Only in the main thread, outermost, and where the handler is Python's own: else nothing changes.
        """
        before = signal.getsignal(signal.SIGINT)
        main = threading.current_thread() is threading.main_thread()
        if self._deferred or not main or before is not signal.default_int_handler:
            yield
            return
        self._noted, self._deferred = 0, True
        signal.signal(signal.SIGINT, self._note)
        try:
            yield
        except KeyboardInterrupt:
            self._noted = 0
            raise
        finally:
            self._deferred = False
            signal.signal(signal.SIGINT, before)
        self.check()

    def _note(self, number: int, frame: FrameType | None) -> None:
        self._noted += 1
        if self._noted > 1:
            signal.default_int_handler(number, frame)

    def check(self) -> None:
        """Raise KeyboardInterrupt if one was noted, in the main thread, to which it was sent."""
        if self._noted and threading.current_thread() is threading.main_thread():
            self._noted = 0
            raise KeyboardInterrupt

    @contextmanager
    def blocked(self) -> Iterator[None]:
        """Keep SIGINT from threads and processes that start meanwhile: they inherit the mask.

        A Ctrl-C at a terminal goes to all processes; ending our workers is our own part.
        """
        main = threading.current_thread() is threading.main_thread()
        if not main or not hasattr(signal, "pthread_sigmask"):
            yield
            return
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            yield
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)


interrupts = _Interrupts()


_here = threading.local()


class Stopped(BaseException):
    """The run was cancelled. Not an Exception, so that no handler on the way takes it for a failure."""


def check_stopped() -> None:
    """Raise `Stopped` if the run that this thread works for was cancelled."""
    if (cancelled := getattr(_here, "cancelled", None)) is not None and cancelled():
        raise Stopped


@contextmanager
def stoppable(cancelled: Callable[[], bool]) -> Iterator[None]:
    """Have `check_stopped` ask ``cancelled`` in this thread for the duration of one unit."""
    before = getattr(_here, "cancelled", None)
    _here.cancelled = cancelled
    try:
        yield
    finally:
        _here.cancelled = before
