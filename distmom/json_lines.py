"""Standard error as one JSON object a line, whoever writes there: this process, its libraries, workers."""

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
    """Whether the words of a command line ask for such lines; known before any of them is understood."""
    given = list(words)
    return FLAG in (given[: given.index("--")] if "--" in given else given)


def json_line(event: str, message: str, level: str = "info", at: float | None = None, **fields: Any) -> str:
    """An object with time, level, event and message, and the fields of the event."""
    time = datetime.now(UTC) if at is None else datetime.fromtimestamp(at, UTC)
    line = {"time": time.isoformat(timespec="milliseconds"), "level": level, "event": event}
    return json.dumps(line | {"message": message, **fields}, allow_nan=False, default=str)


def failure(words: Sequence[str], text: str, code: int) -> str:
    """The line about a failure of a command line before, or after, anything else is known of it."""
    return json_line("error", text, "error", exit_code=code) if asked(words) else f"distmom: {text}"


class _Lines:
    """What passes to the real standard error: objects as they are, other lines as the message of one."""

    def __init__(self, out: TextIO) -> None:
        self.out = out
        self._rest, self._lock = "", threading.Lock()

    def take(self, text: str) -> None:
        """Text as it comes, in pieces of any length."""
        with self._lock:
            *lines, self._rest = (self._rest + text).split("\n")
            for line in lines:
                self._say(line)

    def close(self) -> None:
        """Also say what ended without a new line."""
        if self._rest:
            self.take("\n")

    def _say(self, line: str) -> None:
        if line.strip():
            with suppress(OSError, ValueError):  # that nobody reads is no reason to fail
                self.out.write(f"{line if _is_ours(line) else json_line('stderr', line, 'warning')}\n")
                self.out.flush()


def _is_ours(line: str) -> bool:
    """Whether a line is an object that tells of an event."""
    if not line.startswith('{"time"'):
        return False
    try:
        found = json.loads(line)
    except ValueError:
        return False
    return isinstance(found, dict) and bool(found.get("event"))


class _Stream:
    """Takes the place of a standard error that is no file of this process, such as in a test."""

    encoding = "utf-8"

    def __init__(self, lines: _Lines) -> None:
        self.lines = lines

    def write(self, text: str) -> int:
        self.lines.take(text)
        return len(text)

    def flush(self) -> None:
        """Nothing is held back."""

    def isatty(self) -> bool:
        """It is not for people."""
        return False


class JsonStderr:
    """Whether standard error is such lines, and what makes them.

    Attributes
    ----------
    finished : bool
        Whether the event ``finish`` was told: kept by who tells it, since the lines pass later.
    """

    def __init__(self) -> None:
        self._lines: _Lines | None = None
        self.finished = False

    @property
    def active(self) -> bool:
        """Whether lines are objects now."""
        return self._lines is not None

    @contextmanager
    def on(self, wanted: bool = True) -> Iterator[None]:
        """Make it so for the duration of a run; nothing changes where it is so already."""
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
    """Read what the file descriptor gets, which processes that are started from now on inherit."""
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
    """Until the run ends: workers that still end may hold the other side open for longer."""
    with open(reading, encoding="utf-8", errors="backslashreplace") as pipe:
        for line in pipe:
            if line == f"{_END}\n":
                return
            lines.take(line)
