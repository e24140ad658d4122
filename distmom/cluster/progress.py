"""How far a run is: a bar on a terminal, a log line a minute otherwise, nothing when quiet."""

from __future__ import annotations

import logging
import sys
from time import monotonic
from typing import TYPE_CHECKING

from distmom.cluster.memory import in_words
from distmom.cluster.runner import Progress

if TYPE_CHECKING:
    from rich.progress import Progress as RichProgress
    from rich.progress import TaskID

logger = logging.getLogger("distmom")

LOG_SECONDS = 60.0


def make_progress(title: str = "reading", *, quiet: bool = False) -> Progress | None:
    """A bar if standard error is a terminal, else log lines; ``None`` if ``quiet``."""
    if quiet:
        return None
    terminal = sys.stderr is not None and sys.stderr.isatty()  # None where the shell closed it
    return BarProgress(title) if terminal else LogProgress(title)


class LogProgress:
    """One line a minute on the logger ``distmom``; short runs stay silent.

    Parameters
    ----------
    title : str
        First word of each line.
    every : float
        Seconds between lines.
    """

    def __init__(self, title: str = "reading", every: float = LOG_SECONDS) -> None:
        self.title, self.every = title, every
        self.begin(0, 0)

    def begin(self, n_units: int, n_bytes: int) -> None:
        """Start counting; a run of several rounds begins several times."""
        self.total, self.n_rows, self.n_bytes = n_bytes, 0, 0
        self.started = self.said = monotonic()

    def advance(self, n_rows: int, n_bytes: int) -> None:
        """Count what one unit read, and say so once in a while; also called with zeros while waiting."""
        self.n_rows += n_rows
        self.n_bytes += n_bytes
        now = monotonic()
        if now - self.said >= self.every:
            self.said = now
            logger.info("%s: %s", self.title, self.describe())

    def end(self) -> None:
        """Stop."""

    def describe(self) -> str:
        """``1,000 rows, 3.1 of 9 MB, 1.2 MB/s, 5 s left``."""
        rate = self.n_bytes / max(monotonic() - self.started, 1e-3)
        left = f"{(self.total - self.n_bytes) / rate:.0f} s left" if rate else "unknown time left"
        return (
            f"{self.n_rows:,} rows, {in_words(self.n_bytes)} of {in_words(self.total)}, "
            f"{in_words(rate)}/s, {left}"
        )


class BarProgress:
    """A bar on standard error: bytes, rows, rate, time left. It disappears at the end."""

    def __init__(self, title: str = "reading") -> None:
        self.title, self.n_rows = title, 0
        self._bar: RichProgress | None = None
        self._task: TaskID | None = None

    def begin(self, n_units: int, n_bytes: int) -> None:
        """Draw the bar."""
        self.n_rows = 0
        if n_units == 0:
            return
        from rich import progress as bars
        from rich.console import Console

        title, rows = bars.TextColumn("{task.description}"), bars.TextColumn("{task.fields[rows]:,} rows")
        speed = rows, bars.TransferSpeedColumn(), bars.TimeRemainingColumn()
        columns = title, bars.BarColumn(), bars.DownloadColumn(), *speed
        self._bar = bars.Progress(*columns, console=Console(stderr=True), transient=True)
        self._task = self._bar.add_task(self.title, total=n_bytes, rows=0)
        self._bar.start()

    def advance(self, n_rows: int, n_bytes: int) -> None:
        """Move the bar."""
        self.n_rows += n_rows
        if self._bar is not None and self._task is not None:
            self._bar.update(self._task, advance=n_bytes, rows=self.n_rows)

    def end(self) -> None:
        """Take the bar away."""
        if self._bar is not None:
            self._bar.stop()
            self._bar = None
