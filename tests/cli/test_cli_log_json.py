"""With --log-json every line of standard error is one object, whoever wrote it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import psutil
import pytest
from cli_process import command, process, wait_until

from distmom.cli.program import program
from distmom.json_lines import asked, json_stderr

Run = Callable[..., Any]


def objects(text: str) -> list[dict[str, Any]]:
    """Every line, parsed; each has a time, a level, an event and a message."""
    assert text.endswith("\n") and "\n\n" not in text
    found: list[dict[str, Any]] = [json.loads(line) for line in text.splitlines()]
    for one in found:
        assert datetime.fromisoformat(one["time"]).tzinfo is not None
        assert one["level"] in ("info", "warning", "error")
        assert one["event"] and isinstance(one["message"], str)
    finish = found[-1]
    assert [one["event"] for one in found].count("finish") == 1
    assert (finish["event"], finish["level"]) == ("finish", "info") and finish["seconds"] >= 0
    return found


@pytest.mark.parametrize("name", program.commands)
def test_errors_of_every_command_are_objects(distmom: Run, name: str) -> None:
    ended = distmom(name, "--log-json", "--no-such-option")
    error, finish = objects(ended.err)
    assert (ended.code, error["exit_code"], finish["exit_code"]) == (2, 2, 2)
    assert error["event"] == error["level"] == "error" and "no such option" in error["message"]
    assert not json_stderr.active


def test_a_flag_behind_two_dashes_is_a_word(distmom: Run) -> None:
    assert asked(["mean", "--log-json", "x"]) and not asked(["mean", "--", "--log-json"])
    assert distmom("explain", "--", "--log-json").err.startswith("distmom: ")


def test_notes_results_and_skipped_files_are_objects(distmom: Run, bad_lake: Path) -> None:
    ended = distmom("mean", bad_lake, "-c", "x", "--on-bad-file", "skip", "--log-json")
    found = objects(ended.err)
    assert ended.code == found[-1]["exit_code"] == 4
    assert any(one["event"] == "note" and "skipped f2.parquet" in one["message"] for one in found)
    [results] = [one for one in found if one["event"] == "results"]
    assert results["n_results"] == 1 and results["statuses"] == {"ok": 1}
    assert "900" in ended.out
    refused = objects(distmom("mean", bad_lake, "-c", "x", "--log-json").err)
    assert [one["event"] for one in refused] == ["error", "finish"] and refused[0]["exit_code"] == 3


def test_jobs_finish_once(distmom: Run, lake: Path, tmp_path: Path) -> None:
    job = tmp_path / "job.toml"
    job.write_text(
        f'pipeline = "summary"\n[data]\npath = "{lake}"\n[mean]\ncolumns = "y"\n[output]\nfiles = "y.json"\n'
    )
    events = [one["event"] for one in objects(distmom("run", job, "--log-json").err)]
    assert events == ["start", "wrote", "results", "finish"]
    job.write_text('pipeline = "summry"\n')
    assert [one["event"] for one in objects(distmom("run", job, "--log-json").err)] == ["error", "finish"]


def test_progress_is_an_object(lake: Path, distmom: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    from distmom.cluster import progress

    monkeypatch.setattr(progress.LogProgress.__init__, "__defaults__", ("reading", 0.0))
    found = objects(distmom("mean", lake, "-c", "y", "--log-json").err)
    lines = [one for one in found if one["event"] == "progress"]
    assert lines and all(one["total_bytes"] >= one["n_bytes"] >= 0 for one in lines)
    assert lines[-1]["n_rows"] == 2_000


def test_a_process_of_its_own(lake: Path, tmp_path: Path) -> None:
    done = process("mean", lake, "-c", "y", "--by", "kind", "--log-json", "--quiet")
    assert done.code == 0 and objects(done.err)[-1]["exit_code"] == 0


NOISY = """
import os, sys, warnings, logging

def distance(x, y):
    warnings.warn("a warning of a kernel")
    logging.getLogger("own").warning("a log line of a kernel")
    os.write(2, b"written by what knows no Python \\xff\\n")
    print("printed by process", os.getpid(), file=sys.stderr)
    return abs(x - y)
"""


@pytest.mark.slow
@pytest.mark.cluster
@pytest.mark.parametrize("where", [("--threads", "1"), ("--workers", "1")], ids=["here", "worker"])
def test_what_workers_write_is_in_objects(lake: Path, tmp_path: Path, where: tuple[str, str]) -> None:
    (tmp_path / "noisy.py").write_text(NOISY)
    words = ("ustat", lake, "-c", "y", "--kernel", "noisy:distance", "--blocks", 5, *where)
    environment = {**os.environ, "PYTHONWARNINGS": "always", "DISTMOM_DEBUG": "1"}
    limits = ("--pairs", "sampled", "--pair-count", 20, "--log-json")
    done = process(*words, *limits, cwd=tmp_path, env=environment)
    found = objects(done.err)
    assert done.code == found[-1]["exit_code"] == 0, done.err
    said = [one["message"] for one in found if one["event"] == "stderr"]
    for text in ("a warning of a kernel", "written by what knows no Python \\xff"):
        assert any(text in one for one in said), text
    processes = {one for one in said if one.startswith("printed by process")}
    assert len(processes) == (2 if "--workers" in where else 1)  # the kernel is tried here first


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_is_an_object(long_lake: Path, number: int) -> None:
    words = command("mean", long_lake, "-c", "x", "--by", "key", "--log-json")
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as running:
        watched = psutil.Process(running.pid)
        wait_until(lambda: watched.num_threads() > 3, "threads that read")
        time.sleep(0.2)
        running.send_signal(number)
        _, err = running.communicate(timeout=240)
    error, finish = objects(err.decode())
    assert running.returncode == error["exit_code"] == finish["exit_code"] == 128 + number
