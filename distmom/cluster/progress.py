"""Progress of a run: a bar on a terminal or in a notebook, otherwise a log line per minute."""

from __future__ import annotations

import logging
import sys
from time import monotonic
from typing import TYPE_CHECKING

from distmom.cluster.notebook import NotebookProgress, in_notebook
from distmom.cluster.rate import Rate
from distmom.cluster.runner import Progress
from distmom.numerics.readiness import READINESS

if TYPE_CHECKING:
    from rich.progress import Progress as RichProgress
    from rich.progress import TaskID

logger = logging.getLogger("distmom")

LOG_SECONDS = 60.0

LATE_SECONDS = 2.0
"""Seconds before a call shows a bar that was not requested."""


def titled(title: str) -> str:
    """What the run does, with a hint if kernels are compiled first and nothing moves."""
    return f"{title} (compiling kernels, once)" if READINESS.n_compiling else title


def make_progress(title: str = "reading", *, quiet: bool = False) -> Progress | None:
    """A bar on a terminal or in a notebook, else log lines; ``None`` if ``quiet``."""
    if quiet:
        return None
    if in_notebook():
        return NotebookProgress(title)
    return BarProgress(title) if _on_terminal() else LogProgress(title)


def progress_where_seen() -> Progress | None:
    """Default progress of a call: a bar for long calls, if somebody may see it; else ``None``."""
    shown = make_progress(quiet=not (in_notebook() or _on_terminal()))
    return None if shown is None else LateProgress(shown, LATE_SECONDS)


def _on_terminal() -> bool:
    return sys.stderr is not None and sys.stderr.isatty()  # None if the shell closed it


class LateProgress:
    """Progress that appears once its call has taken a while: short calls show nothing.

    Parameters
    ----------
    shown : Progress
        The progress itself.
    after : float
        Seconds since this object was created.
    """

    def __init__(self, shown: Progress, after: float) -> None:
        self.shown, self.after, self.made = shown, after, monotonic()
        self.begin(0, 0)

    def begin(self, n_units: int, n_bytes: int) -> None:
        """Start counting; a run of several rounds begins several times, but the call's time continues."""
        self.planned, self.counted, self.begun = (n_units, n_bytes), (0, 0), False

    def advance(self, n_rows: int, n_bytes: int) -> None:
        """Count, and show the total when it is time."""
        if self.begun:
            self.shown.advance(n_rows, n_bytes)
            return
        self.counted = self.counted[0] + n_rows, self.counted[1] + n_bytes
        if monotonic() - self.made >= self.after:
            self.begun = True
            self.shown.begin(*self.planned)
            self.shown.advance(*self.counted)

    def end(self) -> None:
        """Remove it, if it was shown."""
        if self.begun:
            self.shown.end()


class LogProgress:
    """One line per minute on the logger ``distmom``; short runs stay silent.

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
        self.rate, self.said = Rate(n_bytes), monotonic()

    def advance(self, n_rows: int, n_bytes: int) -> None:
        """Count what one unit read, and log now and then; also called with zeros while waiting."""
        self.rate.add(n_rows, n_bytes)
        now = monotonic()
        if now - self.said >= self.every:
            self.said = now
            fields = {
                "n_rows": self.rate.n_rows,
                "n_bytes": self.rate.n_bytes,
                "total_bytes": self.rate.total,
            }
            told = {"event": "progress", "fields": fields}
            logger.info("%s: %s", titled(self.title), self.rate.describe(), extra=told)

    def end(self) -> None:
        """Stop."""


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
            title = titled(self.title)
            self._bar.update(self._task, advance=n_bytes, rows=self.n_rows, description=title)

    def end(self) -> None:
        """Remove the bar."""
        if self._bar is not None:
            self._bar.stop()
            self._bar = None
