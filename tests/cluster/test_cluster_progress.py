from __future__ import annotations

import io
import logging
import sys
from importlib import import_module

import pytest
from numba.core.event import trigger_event

from distmom.cluster import make_progress
from distmom.cluster.progress import BarProgress, LogProgress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_quiet_means_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", Terminal())
    assert make_progress(quiet=True) is None


def test_a_bar_on_a_terminal_and_lines_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", Terminal())
    assert isinstance(make_progress(), BarProgress)
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    assert isinstance(make_progress(), LogProgress)


def test_the_bar_shows_bytes_and_rows_and_goes_away(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    progress = make_progress("reading")
    assert progress is not None
    progress.begin(2, 4_000_000)
    progress.advance(1_234_567, 3_000_000)
    progress._bar.refresh()  # type: ignore[attr-defined]
    progress.end()
    progress.end()
    text = terminal.getvalue()
    assert "reading" in text and "1,234,567 rows" in text and "3.0/4.0 MB" in text
    assert text.rstrip("\n").endswith("\x1b[2K")  # the line is cleared


def test_one_line_a_minute(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [1000.0]
    for module in ("progress", "rate"):
        monkeypatch.setattr(f"distmom.cluster.{module}.monotonic", lambda: clock[0])
    progress = LogProgress("reading")
    with caplog.at_level(logging.INFO, logger="distmom"):
        progress.begin(100, 200_000_000)
        for _ in range(100):
            clock[0] += 1.3
            progress.advance(1000, 2_000_000)
        progress.end()
    assert len(caplog.messages) == 2
    assert caplog.messages[0] == "reading: 47,000 rows, 94 MB of 200 MB, 1.54 MB/s, 69 s left"


def test_short_runs_stay_silent(caplog: pytest.LogCaptureFixture) -> None:
    progress = LogProgress("reading")
    with caplog.at_level(logging.INFO, logger="distmom"):
        progress.begin(1, 10)
        progress.advance(0, 0)
        progress.advance(10, 10)
    assert caplog.messages == []
    assert "unknown time left" in LogProgress("x").rate.describe()


def test_the_line_says_that_kernels_are_compiled(caplog: pytest.LogCaptureFixture) -> None:
    import_module("distmom.numerics._jit")  # hears of what Numba compiles
    progress = LogProgress("reading", every=0.0)
    progress.begin(1, 8)
    with caplog.at_level("INFO", "distmom"):
        with trigger_event("numba:compile"):  # as Numba's dispatcher does
            progress.advance(1, 1)
        progress.advance(1, 1)
    first, second = caplog.messages
    assert first.startswith("reading (compiling kernels, once): ")
    assert second.startswith("reading: ")
