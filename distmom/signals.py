"""Signals that end a program: each unwinds like Ctrl-C, and the exit code shows which signal it was.

Containers, batch systems and ``timeout`` end a program with SIGTERM, a closing terminal with SIGHUP. By
default Python dies of both at once, and leaves temporary files and worker processes behind. Only a program
handles them (`Endings.heard`): a process that uses this package as a library keeps its own handlers.
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
    """The state of the signals that end a program."""

    def __init__(self) -> None:
        self._asked: int | None = None  # the signal that asked for the end
        self._deliver: Handler = signal.default_int_handler

    @contextmanager
    def heard(self) -> Iterator[None]:
        """Also raise KeyboardInterrupt for SIGTERM and SIGHUP, for the duration of a program.

        Only in the main thread, and only for signals with the default handler: a process that ignores a
        signal (``nohup``), or has its own handler, is not changed.
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
        """Let a handler decide when to raise, while work is going on that must not be left half done."""
        before, self._deliver = self._deliver, handler
        try:
            yield
        finally:
            self._deliver = before

    def _hear(self, number: int, frame: FrameType | None) -> None:
        self._asked = number
        self._deliver(number, frame)

    def check(self) -> None:
        """Raise again: code interrupted by a handler, such as an import, may swallow the exception."""
        if self._asked is not None and threading.current_thread() is threading.main_thread():
            raise KeyboardInterrupt

    def told(self) -> tuple[str, int]:
        """The name of the end in messages, and its exit code."""
        if self._asked is None:
            return "interrupted", INTERRUPTED
        return _WORDS[signal.Signals(self._asked).name], 128 + self._asked


endings = Endings()
