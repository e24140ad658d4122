"""The memory that this process holds, measured during a run, beside the projection."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from time import monotonic

from distmom.cluster.memory import PLAIN_BYTES, give_back, in_words
from distmom.errors import ResourceError
from distmom.memory import Check

HELD = Path("/proc/self/statm")
"""Where Linux reports the resident pages, and how many of them belong to files."""

FILE_BYTES = 70_000_000
"""Of libraries and other files so much counts, what a plain program has: the system takes the rest back when
it needs it, and after libraries were installed it shows twice as much."""


SOON = 0.1
"""Seconds within which a thread takes what it asked for: others that ask count it with what is held."""


def resident_bytes() -> int | None:
    """Bytes that this process holds; None on systems that do not report it."""
    try:
        resident, of_files = map(int, HELD.read_text().split()[1:3])
        page = os.sysconf("SC_PAGE_SIZE")
        return (resident - of_files) * page + min(of_files * page, FILE_BYTES)
    except (OSError, IndexError, ValueError):
        return None


class Account:
    """The memory of this process, compared with a limit that was set.

    What it held beyond a plain program before the run does not count: it is the caller's, or Numba, which a
    run that does not compile has not projected.

    Attributes
    ----------
    limit : int or None
        Bytes.
    """

    def __init__(self, limit: int | None) -> None:
        self.limit = limit
        held = None if limit is None else resident_bytes()
        self._others = max(0, (held or 0) - PLAIN_BYTES)
        self._lock = threading.Lock()
        self._asked: dict[int, tuple[int, float, float]] = {}

    @property
    def look(self) -> Check | None:
        """Asks for the run whether its limit bears more; None without a limit."""
        return None if self.limit is None else self.check

    def check(self, more: float = 0.0) -> None:
        """ResourceError if the limit does not bear what is held and so much more.

        Freed memory is given back before.
        """
        if self.limit is None:
            return
        with self._lock:
            held, wanted = self._wanted(more)
            if wanted > self.limit:
                give_back()
                held, wanted = self._wanted(more)
            if wanted <= self.limit:
                self._asked[threading.get_ident()] = held, more, monotonic()
                return
        more = wanted - held
        needs = f" and needs {in_words(more)} more, together" if more else ","
        raise ResourceError(
            f"memory_limit: the run holds {in_words(held)}{needs} more than the limit of "
            f"{in_words(self.limit)}, and is not done; use fewer threads, columns or groups, filter with "
            "where, or allow more memory_limit"
        )

    def _wanted(self, more: float) -> tuple[int, float]:
        """Bytes that are held, and with so many more and what other threads are about to take."""
        held, me, since = (resident_bytes() or 0) - self._others, threading.get_ident(), monotonic() - SOON
        self._asked = {t: asked for t, asked in self._asked.items() if t != me and asked[2] > since}
        coming = (max(0.0, n_bytes - max(0, held - then)) for then, n_bytes, _ in self._asked.values())
        return held, held + more + sum(coming)
