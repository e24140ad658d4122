"""Programs that run beside a test, and end with it."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parents[1]


@contextmanager
def program(*words: object, log: Path, **settings: str) -> Iterator[subprocess.Popen[bytes]]:
    """Run a program beside the test; its output goes to a file."""
    with (
        log.open("wb") as output,
        subprocess.Popen(
            list(map(str, words)), stdout=output, stderr=output, env={**os.environ, **settings}, cwd=ROOT
        ) as process,
    ):
        try:
            yield process
        finally:
            process.terminate()
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()


def run(*words: object, seconds: float = 300, **settings: str) -> tuple[int, str, str]:
    """Run a program to its end: exit code, output, errors."""
    done = subprocess.run(
        list(map(str, words)),
        capture_output=True,
        text=True,
        timeout=seconds,
        env={**os.environ, **settings},
        cwd=ROOT,
        check=False,
    )
    return done.returncode, done.stdout, done.stderr


def distmom(*words: object, seconds: float = 300, **settings: str) -> tuple[int, str, str]:
    return run(sys.executable, "-m", "distmom", *words, seconds=seconds, **settings)


def wait_until(true: Callable[[], object], what: str, seconds: float = 180.0) -> None:
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline, f"no {what} within {seconds:g} seconds"
        time.sleep(0.1)
