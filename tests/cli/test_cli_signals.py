"""Signals that end a program: exit codes, and nothing is left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import psutil
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from cli_process import command, wait_until

ENDINGS = [
    pytest.param(signal.SIGTERM, 143, "terminated", id="SIGTERM"),
    pytest.param(signal.SIGHUP, 129, "hung up", id="SIGHUP"),
]


@pytest.fixture
def room(tmp_path: Path) -> Iterator[Path]:
    """An empty folder for temporary files; nothing must be left in it."""
    folder = tmp_path / "room"
    folder.mkdir()
    yield folder
    left = sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))
    assert left == []


def start(room: Path, *words: object) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        command(*words),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
        env={**os.environ, "TMPDIR": str(room)},
    )


@pytest.mark.slow
@pytest.mark.parametrize(("number", "code", "word"), ENDINGS)
def test_on_threads(long_lake: Path, room: Path, tmp_path: Path, number: int, code: int, word: str) -> None:
    words = ("mean", long_lake, "-c", "x", "--by", "key", "--output", tmp_path / "out.json")
    with start(room, *words) as running:
        watched = psutil.Process(running.pid)
        wait_until(lambda: watched.num_threads() > 2, "threads that read")
        time.sleep(0.2)
        running.send_signal(number)
        _, err = running.communicate(timeout=240)
    assert (running.returncode, err.decode()) == (code, f"distmom: {word}\n")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["room"]


def sorting(room: Path, lake: Path) -> tuple[object, ...]:
    """Words of a command that sorts on disk, in `room`."""
    limits = ("--threads", 1, "--memory-limit", "400MB", "--scratch", room)
    return ("ustat", lake, "-c", "x", "--kernel", "gini", "--blocks", 101, *limits)


@pytest.fixture(scope="module")
def wide_lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Rows that do not fit into the memory which `sorting` allows."""
    folder = tmp_path_factory.mktemp("wide") / "lake"
    folder.mkdir()
    pq.write_table(
        pa.table({"x": np.random.default_rng(1).exponential(size=4_000_000)}), folder / "0.parquet"
    )
    for number in range(1, 12):
        os.link(folder / "0.parquet", folder / f"{number}.parquet")
    return folder


@pytest.mark.slow
@pytest.mark.parametrize(("number", "code", "word"), ENDINGS)
def test_while_rows_are_sorted_on_disk(
    wide_lake: Path, room: Path, number: int, code: int, word: str
) -> None:
    with start(room, *sorting(room, wide_lake)) as running:
        wait_until(lambda: any(path.suffix == ".arrow" for path in room.rglob("*")), "sorted rows")
        running.send_signal(number)
        _, err = running.communicate(timeout=240)
    assert (running.returncode, err.decode().splitlines()[-1]) == (code, f"distmom: {word}")
    assert "Traceback" not in err.decode()


@pytest.mark.slow
@pytest.mark.cluster
@pytest.mark.parametrize("to_all", [False, True], ids=["to one", "to all"])
@pytest.mark.parametrize("busy", [False, True], ids=["while workers start", "while workers read"])
@pytest.mark.parametrize(("number", "code", "word"), ENDINGS)
def test_with_workers(
    long_lake: Path, room: Path, number: int, code: int, word: str, busy: bool, to_all: bool
) -> None:
    """`timeout` and SLURM send SIGTERM to all processes, and so does a terminal that is closed its SIGHUP."""
    with start(room, "mean", long_lake, "-c", "x", "--workers", "2") as running:
        watched = psutil.Process(running.pid)
        wait_until(lambda: len(watched.children(recursive=True)) >= 3, "worker processes")
        children = watched.children(recursive=True)
        if busy:
            wait_until(lambda: sum(sum(c.cpu_times()[:2]) for c in children) > 5, "work")
        (os.killpg if to_all else os.kill)(running.pid, number)
        _, err = running.communicate(timeout=240)
    assert (running.returncode, err.decode()) == (code, f"distmom: {word}\n")
    _, alive = psutil.wait_procs(children, timeout=10)
    assert alive == []


@pytest.mark.slow
def test_a_program_told_to_ignore_the_end_of_its_terminal_does(long_lake: Path, room: Path) -> None:
    """As by ``nohup``."""
    ignoring = (
        "import os, signal, sys; signal.signal(signal.SIGHUP, signal.SIG_IGN); "
        "os.execv(sys.argv[1], sys.argv[1:])"
    )
    words = [sys.executable, "-c", ignoring, *command("mean", long_lake, "-c", "x", "--by", "key")]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as running:
        watched = psutil.Process(running.pid)
        wait_until(lambda: watched.num_threads() > 2, "threads that read")
        running.send_signal(signal.SIGHUP)
        time.sleep(0.5)
        assert running.poll() is None
        running.send_signal(signal.SIGTERM)
        _, err = running.communicate(timeout=240)
    assert (running.returncode, err) == (143, b"distmom: terminated\n")
