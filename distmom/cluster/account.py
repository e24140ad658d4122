"""The memory that this process holds, measured during a run, beside the projection."""

from __future__ import annotations

import os
from pathlib import Path

from distmom.cluster.memory import PLAIN_BYTES, give_back, in_words
from distmom.errors import ResourceError

HELD = Path("/proc/self/statm")
"""Where Linux reports the resident pages, and how many of them belong to files."""

FILE_BYTES = 70_000_000
"""Of libraries and other files so much counts, what a plain program has: the system takes the rest back when
it needs it, and after libraries were installed it shows twice as much."""


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

    def check(self) -> None:
        """ResourceError if more than the limit is held, even after freed memory was given back."""
        if self.limit is None or not self._exceeded():
            return
        give_back()
        if held := self._exceeded():
            raise ResourceError(
                f"memory_limit: the run holds {in_words(held)}, more than the limit of "
                f"{in_words(self.limit)}, and is not done; use fewer threads, columns or groups, filter with "
                "where, or allow more memory_limit"
            )

    def _exceeded(self) -> int:
        """The bytes held if they exceed the limit, else 0."""
        held = (resident_bytes() or 0) - self._others
        return held if held > (self.limit or 0) else 0
