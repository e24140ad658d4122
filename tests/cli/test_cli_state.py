"""``distmom mean --state`` and ``distmom merge``."""

from __future__ import annotations

import json
import resource
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from cli_process import command
from test_cli_mean import strict_json

import distmom as dm

Run = Callable[..., Any]


@pytest.fixture
def growing(lake: Path, tmp_path: Path) -> Path:
    """A copy of the lake's first three days."""
    for day in range(3):
        shutil.copytree(lake / f"day={day}", tmp_path / "lake" / f"day={day}")
    return tmp_path / "lake"


def test_a_second_run_reads_the_new_day(distmom: Run, lake: Path, growing: Path, tmp_path: Path) -> None:
    state = tmp_path / "x.state"
    words = ("mean", growing, "-c", "x", "--by", "kind", "--state", state)
    first = distmom(*words)
    assert first.code == 0
    assert f"state {state}: 3 files read, 0 known before" in first.err.splitlines()
    shutil.copytree(lake / "day=3", growing / "day=3")
    dry = distmom(*words, "--dry-run")
    assert "n files to read" in dry.out and dry.code == 0
    second = strict_json(distmom(*words, "--json").out)
    assert second["data"]["state"] == {
        "file": str(state),
        "n_files_before": 3,
        "n_files_read": 1,
        "restarted": None,
    }
    expected = dm.mean(growing, "x", by="kind", rng=0)
    assert isinstance(expected, dm.Results)
    assert second["results"] == expected.to_dict()["results"]
    quiet = distmom(*words, "--quiet")
    assert (quiet.err, quiet.out.count("\n")) == ("", 4)


def test_refusals_have_their_codes(distmom: Run, growing: Path, tmp_path: Path) -> None:
    state = tmp_path / "x.state"
    words = ("mean", growing, "-c", "x", "--state", state)
    assert distmom(*words).code == 0
    other = distmom(*words, "--blocks", "5")
    assert other.code == 2
    assert other.err == (
        f"distmom: state {str(state)!r} was made with other options: "
        "blocks was random blocks, now --blocks 5; use the same, or name another state\n"
    )
    shutil.rmtree(growing / "day=1")
    gone = distmom(*words)
    assert (gone.code, gone.out) == (3, "")
    assert "1 of its files has gone (first: day=1/part.parquet)" in gone.err
    again = distmom(*words, "--on-change", "restart")
    assert again.code == 0
    assert "everything was read again: 1 of its files has gone" in again.err
    state.write_bytes(state.read_bytes()[:-1])
    assert distmom(*words).code == 3
    assert distmom("mean", growing, "-c", "x", "--on-change", "restart").code == 2
    assert distmom("mean", growing, "-c", "x", "--state", tmp_path / "no" / "s").code == 2


def test_a_disk_that_is_full(growing: Path, tmp_path: Path) -> None:
    state = tmp_path / "x.state"
    done = subprocess.run(
        command("mean", growing, "-c", "x", "--state", state),
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (30_000, 30_000)),
    )
    assert (done.returncode, done.stdout) == (6, "")
    assert done.stderr.count("\n") == 1 and "could not be written: File too large" in done.stderr
    assert [p.name for p in tmp_path.iterdir()] == ["lake"]


INTERRUPTED = """
import os, signal, sys
from functools import partial
import distmom.cluster
from distmom.cli import main
from distmom.estimators.mean import plan as mean_plan

class Third:
    "Sends Ctrl-C when the third unit is done."
    left = 3
    def begin(self, n_units, n_bytes): ...
    def end(self): ...
    def advance(self, n_rows, n_bytes):
        self.left -= 1
        if self.left == 0:
            os.kill(os.getpid(), signal.SIGINT)

mean_plan.plan_units = partial(mean_plan.plan_units, max_files=1)
distmom.cluster.make_progress = lambda **_: Third()
main()
"""


def test_an_interrupt_saves_what_was_read(distmom: Run, tmp_path: Path) -> None:
    for number in range(40):
        (tmp_path / "lake").mkdir(exist_ok=True)
        pq.write_table(pa.table({"x": np.arange(100.0) + number}), tmp_path / "lake" / f"{number:02}.parquet")
    words = ["mean", tmp_path / "lake", "-c", "x", "--threads", "1", "--state", tmp_path / "s"]
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED, *map(str, words)],
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 130, done.stderr
    saved, last = done.stderr.splitlines()
    assert saved.endswith("progress is saved; run the same command to resume")
    assert last == "distmom: interrupted"
    found = strict_json(distmom(*words, "--json").out)
    assert 3 <= found["data"]["state"]["n_files_before"] < 40
    expected = dm.mean(tmp_path / "lake", "x", rng=0)
    assert isinstance(expected, dm.MeanResult)
    assert found["results"] == [expected.to_dict()]


# --- merge


@pytest.fixture
def states(lake: Path, distmom: Run, tmp_path: Path) -> list[Path]:
    """A state for each half of the lake."""
    found = []
    for name, days in (("a", (0, 2)), ("b", (1, 3))):
        found.append(tmp_path / f"{name}.state")
        paths = [lake / f"day={day}" / "part.parquet" for day in days]
        assert distmom("mean", *paths, "-c", "x", "--state", found[-1]).code == 0
    return found


def test_merge_prints_the_mean_of_all(distmom: Run, lake: Path, states: list[Path], tmp_path: Path) -> None:
    output = tmp_path / "all.json"
    ended = distmom("merge", *states, "-o", tmp_path / "all.state", "--output", output)
    assert ended.code == 0, ended.err
    head, _, row = ended.out.splitlines()
    assert "99% interval" in head and "1,960" in row
    assert ended.err == "x: 40 null of 2,000 rows\n"
    document = strict_json(distmom("merge", tmp_path / "all.state", "--json").out)
    written = json.loads(output.read_text())
    assert document["results"] == written["results"]
    assert document["data"]["n_files"] == 4 and document["run"]["seed"] == 0
    expected = dm.mean(lake, "x", rng=0)
    assert document["results"][0]["estimate"] == pytest.approx(expected.estimate, rel=1e-12)
    assert document["results"][0]["block_size"] == list(expected.block_size)
    silent = distmom("merge", *states, "--output", output, "--quiet")
    assert (silent.code, silent.out, silent.err) == (0, "", "")
    narrow = strict_json(
        distmom("merge", *states, "--confidence", "0.8", "--interval", "cantelli", "--json").out
    )
    assert narrow["results"][0]["confidence_level"] == 0.8
    assert narrow["results"][0]["interval_kind"] == "cantelli"


def test_merge_has_its_codes(distmom: Run, states: list[Path], tmp_path: Path) -> None:
    assert distmom("merge").code == 2
    assert distmom("merge", "--help").code == 0
    twice = distmom("merge", states[0], states[0])
    assert (twice.code, twice.out) == (3, "") and "would count twice" in twice.err
    assert distmom("merge", tmp_path / "none").code == 3
    assert distmom("merge", *states, "--confidence", "7").code == 2
    assert distmom("merge", *states, "-o", tmp_path / "no" / "s").code == 2
    assert distmom("merge", *states, "--output", tmp_path / "x.txt").code == 2
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.state", "b.state"]


def test_merge_options_are_those_of_python() -> None:
    import inspect

    from distmom.cli.commands.merge import merge_command

    shown = {"as_json", "output", "quiet", "fail_on", "explain"}
    here = {p.name for p in merge_command.params if p.expose_value} - shown
    of_python = set(inspect.signature(dm.merge_states).parameters)
    assert {name if name != "state" else "output" for name in here} == of_python
