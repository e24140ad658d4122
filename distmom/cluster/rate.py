"""How much has been read, how fast, and how long the rest takes."""

from __future__ import annotations

from time import monotonic

from distmom.cluster.memory import in_words


class Rate:
    """Counts of what a run has read since it began.

    Parameters
    ----------
    total : int
        Bytes to be read.
    """

    def __init__(self, total: int) -> None:
        self.total, self.n_rows, self.n_bytes = total, 0, 0
        self.started = monotonic()

    def add(self, n_rows: int, n_bytes: int) -> None:
        """Count what one unit read."""
        self.n_rows += n_rows
        self.n_bytes += n_bytes

    def describe(self) -> str:
        """``1,000 rows, 3.1 of 9 MB, 1.2 MB/s, 5 s left``."""
        rate = self.n_bytes / max(monotonic() - self.started, 1e-3)
        left = f"{(self.total - self.n_bytes) / rate:.0f} s left" if rate else "unknown time left"
        return (
            f"{self.n_rows:,} rows, {in_words(self.n_bytes)} of {in_words(self.total)}, "
            f"{in_words(rate)}/s, {left}"
        )
