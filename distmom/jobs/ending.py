"""SIGTERM, with which batch systems end a job."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class Ending:
    """Lets SIGTERM unwind like an interrupt.

    Attributes
    ----------
    asked : bool
        Whether it came.
    """

    def __init__(self) -> None:
        self.asked = False

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Only in the main thread; elsewhere signals are not ours."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = signal.signal(signal.SIGTERM, self._ask)
        try:
            yield
        finally:
            signal.signal(signal.SIGTERM, before)

    def check(self) -> None:
        """Raise once more: what a handler raises may be swallowed by what it interrupts, such as imports."""
        if self.asked:
            raise KeyboardInterrupt

    def _ask(self, number: int, frame: FrameType | None) -> None:
        self.asked = True
        interrupt = signal.getsignal(signal.SIGINT)
        if callable(interrupt):  # raises, or puts it off to where a run can be ended
            interrupt(number, frame)
        else:  # ignored, as in a job that a shell started in the background
            raise KeyboardInterrupt
