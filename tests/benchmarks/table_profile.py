"""Where the threads of this process are, as seen from outside.

A sampler inside the process needs the interpreter's lock, so it would see a thread mostly where this lock is
given up: in long calls of PyArrow, NumPy and compiled kernels. py-spy reads the stacks from another process.
"""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from shutil import which
from sysconfig import get_path

RATE = 200
"""Looks a second."""

AT_LEAST = 3.0
"""Seconds of work that are looked at."""

Found = Counter[tuple[str, str]]
"""Numbers of samples by kind of work and function."""


def profiled(work: Callable[[], object]) -> Found:
    """Repeat the work for some seconds; samples of running threads, by the innermost Python function."""
    spy = which("py-spy", path=f"{get_path('scripts')}{os.pathsep}{os.environ.get('PATH', '')}")
    if spy is None:
        raise SystemExit("the table needs py-spy: pip install --group bench")
    with tempfile.TemporaryDirectory(prefix="distmom-bench-") as folder:
        out = Path(folder) / "stacks"
        words = [spy, "record", "-p", str(os.getpid()), "-r", str(RATE), "-f", "raw", "-o", str(out)]
        looking = subprocess.Popen(
            [*words, "--full-filenames", "--nolineno"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
        )
        time.sleep(1.0)  # it begins to look
        end = time.monotonic() + AT_LEAST
        work()
        while time.monotonic() < end:
            work()
        looking.send_signal(signal.SIGINT)
        _, said = looking.communicate(timeout=60)
        if not out.exists():
            raise SystemExit(f"py-spy: {said.decode().strip()}")
        return counted(out.read_text("utf-8"))


def counted(stacks: str) -> Found:
    """The samples in py-spy's raw format: frames separated by semicolons, and a number."""
    found: Found = Counter()
    for line in stacks.splitlines():
        frames, _, n = line.rpartition(" ")
        function, _, file = frames.rpartition(";")[2].rpartition(" (")
        file = file.rstrip(")")
        if not file.endswith(WAITING):
            found[kind_of(file), f"{Path(file).stem}.{function}"] += int(n)
    return found


WAITING = ("threading.py", "queue.py", "selectors.py", "thread.py", "table_profile.py")
"""Files in which threads wait, if they are seen there at all."""


def kind_of(file: str) -> str:
    """What a thread does whose innermost frame is of this file."""
    if "/distmom/lake/" in file or "/pyarrow/" in file:
        return "decode"
    return "algorithm" if "/distmom/numerics/" in file else "Python"
