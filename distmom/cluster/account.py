"""The memory that this process holds, measured during a run and compared with the projection."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from time import monotonic

from distmom.cluster.memory import PLAIN_BYTES, give_back, in_words
from distmom.errors import ResourceError
from distmom.memory import Check

HELD = Path("/proc/self/statm")
"""File in which Linux reports resident pages, and how many of them belong to files."""

FILE_BYTES = 70_000_000
"""Bytes of libraries and other files that count, as in a plain program: the system reclaims the rest when
needed, and reports twice as much after libraries were installed."""


SOON = 0.1
"""Seconds within which a thread allocates what it announced; until then it counts as held in other checks."""


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

    Memory beyond that of a plain program before the run does not count: it belongs to the caller, or to
    Numba, which is not in the projection of a run that does not compile.

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
        """The check that tells a run whether its limit allows more; None without a limit."""
        return None if self.limit is None else self.check

    def check(self, more: float = 0.0) -> None:
        """Raise ResourceError if the limit does not allow what is held and `more` bytes.

        Freed memory is released first.
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
        """Bytes held now, and with `more` and what other threads are about to allocate."""
        held, me, since = (resident_bytes() or 0) - self._others, threading.get_ident(), monotonic() - SOON
        self._asked = {t: asked for t, asked in self._asked.items() if t != me and asked[2] > since}
        coming = (max(0.0, n_bytes - max(0, held - then)) for then, n_bytes, _ in self._asked.values())
        return held, held + more + sum(coming)
