"""Worker processes of our own: started by scripts, interrupted, never left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

pytestmark = [pytest.mark.cluster, pytest.mark.xdist_group("cluster")]

HEAD = """
import sys
sys.path.insert(0, {folder!r})
from pathlib import Path
from fake_work import Endless, Spell, listing, record
from distmom.cluster import plan_units, run_units
from distmom.cluster.executors.backends import Processes, Threads

units = plan_units(listing([1] * 4), max_files=1)
"""
ESTIMATE = """
print("started")
with Processes(2, memory_limit="500MB").open() as executor:
    print(executor.threads, executor.threads_per_process, executor.memory)
    print(run_units(Spell((1,) * 4), units, record, executor).state)
print(__file__ == sys.argv[0])
"""
ENDLESS = """
with {words}.open() as executor:
    work = Endless(0, -1, {folder!r})
    def say(unit, outcome):
        print("running", flush=True)
    run_units(work, units, record, executor, on_outcome=say)
"""


def write(tmp_path: Path, body: str) -> Path:
    script = tmp_path / "job.py"
    script.write_text(HEAD.format(folder=str(Path(__file__).parents[1])) + body)
    return script


@pytest.mark.slow
def test_a_script_without_a_main_guard_works(tmp_path: Path) -> None:
    script = write(tmp_path, ESTIMATE)
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=240)
    assert done.stderr == ""
    assert done.stdout.splitlines() == [
        "started",
        "2 1 500000000",
        "((0.0 1.0) (2.0 3.0))",
        "True",
    ]


@pytest.mark.slow
def test_so_does_a_script_that_runs_as_a_module(tmp_path: Path) -> None:
    write(tmp_path, ESTIMATE + "print(__spec__.name)\n")
    command = [sys.executable, "-m", "job"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=240, cwd=tmp_path)
    assert done.stderr == ""
    assert done.stdout.splitlines()[-1] == "job"
    assert done.stdout.count("started") == 1


@pytest.mark.parametrize("words", ["Processes(2)", "Threads(2)"])
@pytest.mark.slow
def test_an_interrupt_ends_everything(tmp_path: Path, words: str) -> None:
    script = write(tmp_path, ENDLESS.format(words=words, folder=str(tmp_path)))
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    process = subprocess.Popen(
        [sys.executable, script],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,  # a terminal sends the signal to the whole group
        env=environment,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "running\n"
    family = psutil.Process(process.pid).children(recursive=True)
    assert len(family) >= (2 if words == "Processes(2)" else 0)
    os.killpg(process.pid, signal.SIGINT)
    start = time.monotonic()
    _, complaints = process.communicate(timeout=240)
    assert time.monotonic() - start < 15
    assert process.returncode == -signal.SIGINT
    assert complaints.rstrip().endswith("KeyboardInterrupt")
    assert complaints.count("Traceback") == 1
    _, alive = psutil.wait_procs(family, timeout=5)
    assert alive == []
    assert {path.name for path in tmp_path.iterdir()} <= {script.name, "ended"}
