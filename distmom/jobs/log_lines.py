"""Log lines of batch jobs on standard error: for people, or as one JSON object each."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic
from typing import Any

from distmom.json_lines import json_line
from distmom.words import printable

LOGGER = logging.getLogger("distmom.jobs")
EVERY = 60.0
"""Seconds between two progress lines."""


def log(event: str, message: str, *, level: str = "info", **fields: Any) -> None:
    """Log one line about an event; `fields` appear only in the JSON form."""
    LOGGER.log(getattr(logging, level.upper()), "%s", message, extra={"event": event, "fields": fields})


@contextmanager
def on_stderr(form: logging.Formatter, least: int = logging.INFO) -> Iterator[logging.Handler]:
    """Log lines of ``distmom`` and its child loggers, from some level on, for the duration of a run."""
    logger, handler = logging.getLogger("distmom"), logging.StreamHandler(sys.stderr)
    handler.setFormatter(form)
    handler.setLevel(least)
    before = logger.level
    logger.setLevel(logging.INFO)
    logger.addHandler(handler)
    try:
        yield handler
    finally:
        logger.removeHandler(handler)
        logger.setLevel(before)


class MinuteLines:
    """Progress as one log line per minute; short runs stay silent."""

    def __init__(self) -> None:
        self.said = monotonic()
        self.begin(0, 0)

    def begin(self, n_units: int, n_bytes: int) -> None:
        """Start counting; a run of several rounds begins several times."""
        self.n_rows = self.n_bytes = 0
        self.total = n_bytes
        self.started = monotonic()

    def advance(self, n_rows: int, n_bytes: int) -> None:
        """Count, and log now and then."""
        self.n_rows += n_rows
        self.n_bytes += n_bytes
        now = monotonic()
        if now - self.said < EVERY:
            return
        self.said = now
        share = 100 * self.n_bytes / self.total if self.total else 0.0
        log(
            "progress",
            f"{self.n_rows:,} rows, {share:.0f}% of {self.total:,} bytes",
            n_rows=self.n_rows,
            n_bytes=self.n_bytes,
            total_bytes=self.total,
            seconds=round(now - self.started, 3),
        )

    def end(self) -> None:
        """Stop."""


class TextLine(logging.Formatter):
    """Lines for people."""

    def format(self, record: logging.LogRecord) -> str:
        """Errors as on the command line, everything else with its time."""
        text = printable(record.getMessage())
        if getattr(record, "event", "") == "error":
            return f"distmom: {text}"
        return f"{self.formatTime(record)} {record.levelname} {text}"


class JsonLine(logging.Formatter):
    """One JSON object per line."""

    def format(self, record: logging.LogRecord) -> str:
        """Time, level, event and message of the record, and the fields of the event."""
        event, fields = getattr(record, "event", "message"), getattr(record, "fields", {})
        return json_line(event, record.getMessage(), record.levelname.lower(), record.created, **fields)
