"""`ulimit -v`: one line where libraries do not fit, whatever the limit; and work where they do."""

from __future__ import annotations

import resource
import subprocess
from pathlib import Path

import pytest
from cli_process import command

from distmom.cli.address_space import EACH_THREAD, LIBRARIES

MB = 1_000_000


def limited(limit: int, *words: object) -> subprocess.CompletedProcess[str]:
    def lower() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))

    # with one thread of linear algebra the need is known, whatever the machine
    return subprocess.run(
        ["env", "OPENBLAS_NUM_THREADS=1", *command(*words)],
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
        preexec_fn=lower,
    )


@pytest.mark.parametrize(
    "limit",
    [450 * MB, *(pytest.param(n * MB, marks=pytest.mark.slow) for n in range(100, 600, 50) if n != 450)],
)
def test_too_little_is_one_line_at_once(lake: Path, limit: int) -> None:
    """It hung for ever, or a library ended the process."""
    done = limited(limit, "mean", lake, "-c", "x")
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (6, "", 1), done.stderr
    assert f"limited to {limit / 1e6:.0f} MB" in done.stderr


def test_help_needs_little(lake: Path) -> None:
    assert limited(200 * MB, "mean", "--help").returncode == 0


@pytest.mark.slow
@pytest.mark.parametrize("limit", [LIBRARIES, LIBRARIES + EACH_THREAD, 1000 * MB])
def test_enough_is_an_answer_or_one_line(lake: Path, limit: int) -> None:
    done = limited(limit, "mean", lake, "-c", "x", "--threads", 1, "--quiet")
    assert done.returncode in (0, 6), done.stderr
    assert done.stderr.count("\n") == (done.returncode == 6), done.stderr
