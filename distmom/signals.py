"""Signals that end a program: each unwinds like Ctrl-C, and the exit code says which one it was.

Containers, batch systems and ``timeout`` end a program by SIGTERM, a terminal that is closed by SIGHUP.
Python dies of both where it stands, and leaves temporary files and worker processes behind. Only a program
hears them (`Endings.heard`): in a process that uses this package as a library, signals are its own.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

Handler = Callable[[int, FrameType | None], None]

ENDINGS = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name))
_WORDS = {"SIGTERM": "terminated", "SIGHUP": "hung up"}
INTERRUPTED = 128 + signal.SIGINT


class Endings:
    """What became of the signals that end a program."""

    def __init__(self) -> None:
        self._asked: int | None = None  # by which the end was asked for
        self._deliver: Handler = signal.default_int_handler

    @contextmanager
    def heard(self) -> Iterator[None]:
        """Raise KeyboardInterrupt for SIGTERM and SIGHUP too, for the duration of a program.

        Only in the main thread, and where the system's own handler stands: what was told to ignore a signal
        (``nohup``), or has a handler of its own, stays as it is.
        """
        main = threading.current_thread() is threading.main_thread()
        ours = [number for number in ENDINGS if main and signal.getsignal(number) is signal.SIG_DFL]
        for number in ours:
            signal.signal(number, self._hear)
        try:
            yield
        finally:
            for number in ours:
                signal.signal(number, signal.SIG_DFL)
            if ours:
                self._asked = None

    @contextmanager
    def delivered_to(self, handler: Handler) -> Iterator[None]:
        """Have a handler decide when to raise, for as long as something must not be left half done."""
        before, self._deliver = self._deliver, handler
        try:
            yield
        finally:
            self._deliver = before

    def _hear(self, number: int, frame: FrameType | None) -> None:
        self._asked = number
        self._deliver(number, frame)

    def check(self) -> None:
        """Raise once more: what a handler raises may be swallowed by what it interrupts, such as imports."""
        if self._asked is not None and threading.current_thread() is threading.main_thread():
            raise KeyboardInterrupt

    def told(self) -> tuple[str, int]:
        """How messages call the end, and its exit code."""
        if self._asked is None:
            return "interrupted", INTERRUPTED
        return _WORDS[signal.Signals(self._asked).name], 128 + self._asked


endings = Endings()
