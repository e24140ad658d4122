"""Ctrl-C, and the other signals that end a program, at the right moment.

Python raises KeyboardInterrupt between any two instructions of the main thread: in the middle of starting a
cluster, which then cannot be ended, or in a callback that swallows it. While an executor exists the signal is
therefore only recorded; the runner checks for it several times a second, cancels its work and raises. A
second Ctrl-C raises at once.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from distmom.signals import endings
from distmom.stopping import asking


class _Interrupts:
    def __init__(self) -> None:
        self._noted = 0
        self._deferred = False

    @contextmanager
    def deferred(self) -> Iterator[None]:
        """Record a signal instead of raising; a recorded signal is raised when the block ends.

        Only in the main thread and in the outermost block; SIGINT only if the handler is Python's own, other
        signals only in a program that handles them. A failure caused by a signal, such as that of a worker
        which received it too, is not a failure of its own.
        """
        main = threading.current_thread() is threading.main_thread()
        if self._deferred or not main:
            yield
            return
        ours = signal.getsignal(signal.SIGINT) is signal.default_int_handler
        self._noted, self._deferred = 0, True
        if ours:
            signal.signal(signal.SIGINT, self._note)
        try:
            with endings.delivered_to(self._note), asking(self.check):
                yield
        except KeyboardInterrupt:
            self._noted = 0
            raise
        except Exception:
            self.check()
            raise
        finally:
            self._deferred = False
            if ours:
                signal.signal(signal.SIGINT, signal.default_int_handler)
        self.check()

    def _note(self, number: int, frame: FrameType | None) -> None:
        self._noted += 1
        if self._noted > 1:
            signal.default_int_handler(number, frame)

    def check(self) -> None:
        """Raise KeyboardInterrupt if a signal was recorded, in the main thread, to which it was sent."""
        if self._noted and threading.current_thread() is threading.main_thread():
            self._noted = 0
            raise KeyboardInterrupt
        endings.check()

    @contextmanager
    def blocked(self) -> Iterator[None]:
        """Block a terminal's signals in threads and processes that start meanwhile: they inherit the mask.

        Ctrl-C, or closing the terminal, signals all processes, but we stop our workers ourselves. SIGTERM is
        not blocked: Dask uses it to stop workers that take too much memory.
        """
        main = threading.current_thread() is threading.main_thread()
        if not main or not hasattr(signal, "pthread_sigmask"):
            yield
            return
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGHUP})
        try:
            yield
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)


interrupts = _Interrupts()
