"""Standard error as one JSON object per line, from every writer: this process, its libraries, its workers."""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from typing import Any, TextIO

FLAG = "--log-json"
_END = "\0end of the run"


def asked(words: Sequence[str]) -> bool:
    """Whether a command line asks for JSON lines; decided before its words are parsed."""
    given = list(words)
    return FLAG in (given[: given.index("--")] if "--" in given else given)


def json_line(event: str, message: str, level: str = "info", at: float | None = None, **fields: Any) -> str:
    """An object with time, level, event, message and the fields of the event."""
    time = datetime.now(UTC) if at is None else datetime.fromtimestamp(at, UTC)
    line = {"time": time.isoformat(timespec="milliseconds"), "level": level, "event": event}
    return json.dumps(line | {"message": message, **fields}, allow_nan=False, default=str)


def failure(words: Sequence[str], text: str, code: int) -> str:
    """The line for a failed command, whether or not its arguments were parsed."""
    return json_line("error", text, "error", exit_code=code) if asked(words) else f"distmom: {text}"


class _Lines:
    """Writes to the real standard error: objects unchanged, other lines as the message of an object."""

    def __init__(self, out: TextIO) -> None:
        self.out = out
        self._rest, self._lock = "", threading.Lock()

    def take(self, text: str) -> None:
        """Take text in pieces of any length."""
        with self._lock:
            *lines, self._rest = (self._rest + text).split("\n")
            for line in lines:
                self._say(line)

    def close(self) -> None:
        """Also write a last line that has no line break."""
        if self._rest:
            self.take("\n")

    def _say(self, line: str) -> None:
        if line.strip():
            with suppress(OSError, ValueError):  # a missing reader is no reason to fail
                self.out.write(f"{line if _is_ours(line) else json_line('stderr', line, 'warning')}\n")
                self.out.flush()


def _is_ours(line: str) -> bool:
    """Whether a line is an object that reports an event."""
    if not line.startswith('{"time"'):
        return False
    try:
        found = json.loads(line)
    except ValueError:
        return False
    return isinstance(found, dict) and bool(found.get("event"))


class _Stream:
    """Replaces a standard error that is not a file of this process, as in a test."""

    encoding = "utf-8"

    def __init__(self, lines: _Lines) -> None:
        self.lines = lines

    def write(self, text: str) -> int:
        self.lines.take(text)
        return len(text)

    def flush(self) -> None:
        """Do nothing: output is not buffered."""

    def isatty(self) -> bool:
        """False: the output is not read by people."""
        return False


class JsonStderr:
    """Whether standard error consists of JSON lines, and the code that produces them.

    Attributes
    ----------
    finished : bool
        Whether the event ``finish`` was reported; set by the reporter, because the lines are written later.
    """

    def __init__(self) -> None:
        self._lines: _Lines | None = None
        self.finished = False

    @property
    def active(self) -> bool:
        """Whether lines are currently written as objects."""
        return self._lines is not None

    @contextmanager
    def on(self, wanted: bool = True) -> Iterator[None]:
        """Write JSON lines for the duration of a run; no effect if they are on already."""
        if not wanted or self.active or sys.stderr is None:
            yield
            return
        self.finished = False
        try:
            with _through_pipe() if _is_own_file() else _in_place() as self._lines:
                yield
        finally:
            self._lines = None


json_stderr = JsonStderr()


def _is_own_file() -> bool:
    try:
        return sys.stderr is sys.__stderr__ and sys.__stderr__ is not None and sys.__stderr__.fileno() == 2
    except (OSError, ValueError, AttributeError):
        return False


@contextmanager
def _in_place() -> Iterator[_Lines]:
    real, lines = sys.stderr, _Lines(sys.stderr)
    sys.stderr = _Stream(lines)  # type: ignore[assignment, unused-ignore]
    try:
        yield lines
    finally:
        lines.close()
        sys.stderr = real


@contextmanager
def _through_pipe() -> Iterator[_Lines]:
    """Read everything written to the file descriptor, which processes started from now on inherit."""
    sys.stderr.flush()
    real, (reading, writing) = os.dup(2), os.pipe()
    os.dup2(writing, 2)
    os.close(writing)
    with open(real, "w", encoding="utf-8", errors="backslashreplace") as out:  # noqa: PTH123
        lines = _Lines(out)
        reader = threading.Thread(target=_drain, args=(reading, lines), name="json-lines", daemon=True)
        reader.start()
        try:
            yield lines
        finally:
            with suppress(OSError, ValueError):
                sys.stderr.flush()
                os.write(2, f"\n{_END}\n".encode())
            os.dup2(real, 2)
            reader.join(5.0)
            lines.close()


def _drain(reading: int, lines: _Lines) -> None:
    """Read until the run ends: workers that are shutting down may keep the other end open for longer."""
    with open(reading, encoding="utf-8", errors="backslashreplace") as pipe:
        for line in pipe:
            if line == f"{_END}\n":
                return
            lines.take(line)
