"""The command line as processes of their own: streams, signals, what is left behind."""

from __future__ import annotations

import json
import os
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


def test_a_reader_that_goes_away_is_no_failure(lake: Path) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    try:
        for words in (("mean", lake, "-c", "x"), ("--help",)):
            done = subprocess.run(
                command(*words), stdout=writing, stderr=subprocess.PIPE, timeout=60, check=False
            )
            assert done.returncode == 0
            assert b"Error" not in done.stderr
            assert b"Traceback" not in done.stderr
    finally:
        os.close(writing)


def test_a_full_disk_behind_stdout_is_a_failure(lake: Path) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            command("mean", lake, "-c", "y"), stdout=full, stderr=subprocess.PIPE, timeout=60, check=False
        )
    assert done.returncode == 6
    assert done.stderr.startswith(b"distmom: standard output")
    assert done.stderr.count(b"\n") == 1


def test_a_terminal_that_knows_little_gets_ascii(lake: Path) -> None:
    done = process("mean", lake, "-c", "y", env={**os.environ, "PYTHONIOENCODING": "ascii"})
    assert done.code == 0
    assert done.out.isascii()
    assert "\\u" not in done.out


def interrupted(running: subprocess.Popen[bytes]) -> tuple[int, bytes]:
    """Interrupt as a terminal does, a moment after the work began; code and standard error."""
    time.sleep(0.3)
    running.send_signal(signal.SIGINT)
    _, err = running.communicate(timeout=30)
    return running.returncode, err


def start(*words: object) -> subprocess.Popen[bytes]:
    return subprocess.Popen(command(*words), stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def test_interrupt_on_threads(long_lake: Path, tmp_path: Path) -> None:
    target = tmp_path / "out.json"
    with start("mean", long_lake, "-c", "x", "--by", "key", "--output", target) as running:
        watched = psutil.Process(running.pid)
        wait_until(lambda: watched.num_threads() > 2, "threads that read")
        code, err = interrupted(running)
    assert (code, err) == (130, b"distmom: interrupted\n")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.cluster
@pytest.mark.parametrize("to_group", [False, True])
def test_interrupt_with_workers_leaves_no_process(long_lake: Path, to_group: bool) -> None:
    running = subprocess.Popen(
        command("mean", long_lake, "-c", "x", "--workers", "1"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    with running:
        watched = psutil.Process(running.pid)
        wait_until(lambda: len(watched.children(recursive=True)) >= 2, "worker processes")
        time.sleep(0.5)
        children = watched.children(recursive=True)
        if to_group:  # as a terminal does
            os.killpg(running.pid, signal.SIGINT)
        else:
            running.send_signal(signal.SIGINT)
        _, err = running.communicate(timeout=40)
    assert (running.returncode, err) == (130, b"distmom: interrupted\n")
    _, alive = psutil.wait_procs(children, timeout=10)
    assert alive == []
