"""The command line in a process of its own."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any, NamedTuple


class Ended(NamedTuple):
    code: int
    out: str
    err: str


def command(*words: object) -> list[str]:
    return [sys.executable, "-m", "distmom", *map(str, words)]


def process(*words: object, **settings: Any) -> Ended:
    """The command line in a process of its own."""
    done = subprocess.run(command(*words), capture_output=True, timeout=240, check=False, **settings)
    return Ended(done.returncode, done.stdout.decode(), done.stderr.decode())


def wait_until(true: Callable[[], bool], what: str, seconds: float = 90.0) -> None:
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline, f"no {what} within {seconds:g} seconds"
        time.sleep(0.05)
