"""The command line as processes of their own: streams, signals, what is left behind."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import time
from pathlib import Path

import psutil
import pytest
from cli_process import command, process, wait_until


def test_a_process_ends_as_documented(lake: Path, tmp_path: Path) -> None:
    done = process("mean", lake, "-c", "x", "--json")
    assert (done.code, done.err) == (0, "")
    assert json.loads(done.out)["results"][0]["column"] == "x"
    refused = process("mean", tmp_path / "none")
    assert (refused.code, refused.out) == (3, "")
    assert refused.err.startswith("distmom: ")
    assert refused.err.count("\n") == 1


@pytest.mark.slow
def test_a_reader_that_goes_away_is_no_failure(lake: Path) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    try:
        for words in (("mean", lake, "-c", "x"), ("--help",)):
            done = subprocess.run(
                command(*words), stdout=writing, stderr=subprocess.PIPE, timeout=240, check=False
            )
            assert done.returncode == 0
            assert b"Error" not in done.stderr
            assert b"Traceback" not in done.stderr
    finally:
        os.close(writing)


@pytest.mark.slow
def test_a_full_disk_behind_stdout_is_a_failure(lake: Path) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            command("mean", lake, "-c", "y"), stdout=full, stderr=subprocess.PIPE, timeout=240, check=False
        )
    assert done.returncode == 6
    assert done.stderr.startswith(b"distmom: standard output")
    assert done.stderr.count(b"\n") == 1


@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&-"])
@pytest.mark.slow
def test_closed_streams_change_no_code(lake: Path, tmp_path: Path, closed: str) -> None:
    for words, code in ((("mean", lake, "-c", "y"), 0), (("mean", tmp_path / "none"), 3)):
        done = subprocess.run(f"{shlex.join(command(*words))} {closed}", shell=True, timeout=240, check=False)
        assert done.returncode == code


def test_a_terminal_that_knows_little_gets_ascii(lake: Path) -> None:
    done = process("mean", lake, "-c", "y", env={**os.environ, "PYTHONIOENCODING": "ascii"})
    assert done.code == 0
    assert done.out.isascii()
    assert "\\u" not in done.out


def start(*words: object) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        command(*words), stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
    )


def test_interrupt_on_threads(long_lake: Path, tmp_path: Path) -> None:
    with start("mean", long_lake, "-c", "x", "--by", "key", "--output", tmp_path / "out.json") as running:
        watched = psutil.Process(running.pid)
        wait_until(lambda: watched.num_threads() > 2, "threads that read")
        time.sleep(0.2)
        running.send_signal(signal.SIGINT)
        _, err = running.communicate(timeout=240)
    assert (running.returncode, err) == (130, b"distmom: interrupted\n")
    assert list(tmp_path.iterdir()) == []


# by default on threads, and in cluster/executors/test_cluster_local.py
@pytest.mark.cluster
@pytest.mark.parametrize(
    ("busy", "to_all"),
    [
        pytest.param(False, False, id="while workers start", marks=pytest.mark.slow),
        pytest.param(False, True, id="while workers start, to all", marks=pytest.mark.slow),
        pytest.param(True, True, id="while workers read, to all", marks=pytest.mark.slow),
        pytest.param(True, False, id="while workers read", marks=pytest.mark.slow),
    ],
)
def test_interrupt_with_workers_leaves_no_process(long_lake: Path, busy: bool, to_all: bool) -> None:
    with start("mean", long_lake, "-c", "x", "--workers", "1") as running:
        watched = psutil.Process(running.pid)
        wait_until(lambda: len(watched.children(recursive=True)) >= 2, "worker processes")
        children = watched.children(recursive=True)
        if busy:  # a worker that is connected and idle has used half of this
            wait_until(lambda: sum(sum(c.cpu_times()[:2]) for c in children) > 2.5, "work")
        (os.killpg if to_all else os.kill)(running.pid, signal.SIGINT)
        _, err = running.communicate(timeout=240)
    assert (running.returncode, err) == (130, b"distmom: interrupted\n")
    _, alive = psutil.wait_procs(children, timeout=10)
    assert alive == []
