"""Folders of runs that were killed are removed by the next one; those of others are not."""

from __future__ import annotations

import json
import logging
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from distmom.cli.program import program
from distmom.cluster.scratch import Scratch
from distmom.errors import ConfigError
from distmom.lake.files import leftovers as module
from distmom.lake.files.atomic import atomic_file
from distmom.lake.files.leftovers import OWNER, OwnFolder, remove_leftovers

RUN = """
import sys
from pathlib import Path
from distmom.lake.files.leftovers import OwnFolder

own = OwnFolder(Path(sys.argv[1]))
(own.path / "sorted").mkdir()
(own.path / "sorted" / "rows").write_bytes(bytes(5_000_000))
print(own.path, flush=True)
sys.stdin.read()
"""


@contextmanager
def running(parent: Path) -> Iterator[tuple[Path, Callable[[], None]]]:
    """A run in a process of its own: its folder, and what kills it."""
    with subprocess.Popen(
        [sys.executable, "-c", RUN, parent], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None

        def kill() -> None:
            process.send_signal(signal.SIGKILL)
            process.wait(10)

        try:
            yield Path(process.stdout.readline().strip()), kill
        finally:
            kill()


def test_the_next_run_removes_what_a_killed_one_left(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with running(tmp_path) as (folder, kill):
        scratch = Scratch(tmp_path)
        scratch.folder()
        assert (folder / "sorted/rows").exists() and not caplog.records  # it lives
        assert [left.fate for left in remove_leftovers(tmp_path)] == ["in use", "in use"]
        scratch.close()
        kill()
        assert folder.exists()
        with caplog.at_level(logging.WARNING):
            OwnFolder(tmp_path).close()
    assert list(tmp_path.iterdir()) == []
    assert caplog.messages == [f"removed {folder} (5 MB), left by a run that was killed"]


def left_by(folder: Path, **owner: str) -> Path:
    """A folder that a dead run left, as the owner says of whom."""
    made = OwnFolder(folder)
    path, known = made.path, json.loads((made.path / OWNER).read_text())
    os.close(made._lock or 0)
    (path / OWNER).write_text(json.dumps(known | owner))
    (path / "rows").write_bytes(bytes(10))
    return path


def test_whose_folders_are_removed(tmp_path: Path) -> None:
    """Another machine's lock may not be seen on a disk that both share."""
    folders = {
        "removed": left_by(tmp_path),
        "of far": left_by(tmp_path, host="far", boot="another"),
        "removed, in another container": left_by(tmp_path, host="container", machine=""),
    }
    before = [left_by(tmp_path, boot="an earlier one")] if module._machine()["machine"] else []
    found = {left.path: left.fate for left in remove_leftovers(tmp_path)}
    # each new folder removes what can be: only the last of those above, and what must stay, were left
    assert set(tmp_path.iterdir()) == {folders["of far"]}
    assert found[folders["of far"]] == "of far"
    assert set(found.values()) <= {"of far", "removed"} and not any(path.exists() for path in before)


def test_a_machine_that_has_no_name_of_its_own_is_known_by_its_start_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Images of containers have no machine-id, and two may be called the same."""
    path = left_by(tmp_path, machine="", boot="an earlier one")
    known = module._machine()
    monkeypatch.setattr(module, "_machine", lambda: known | {"machine": ""})
    assert [left.fate for left in remove_leftovers(tmp_path)] == [f"of {known['host']}"] and path.exists()


def test_what_only_looks_like_a_run_s_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    target = left_by(elsewhere)
    (tmp_path / ".distmom-link").symlink_to(target)
    (tmp_path / ".distmom-file").touch()
    (tmp_path / ".distmom-empty").mkdir()
    (tmp_path / ".distmom-begins").mkdir()
    (tmp_path / ".distmom-begins" / OWNER).touch()  # made, and not locked yet
    (tmp_path / ".distmom-other").mkdir()
    (tmp_path / ".distmom-other" / OWNER).write_text("[1]")
    before = sorted(tmp_path.iterdir())
    assert remove_leftovers(tmp_path) == [] and sorted(tmp_path.iterdir()) == before
    assert remove_leftovers(tmp_path / "none") == []
    monkeypatch.setattr(module.os, "getuid", lambda: 12345)
    assert remove_leftovers(elsewhere) == [] and target.exists()


def test_a_disk_without_locks_keeps_what_is_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def none(*_: object) -> None:
        raise OSError(38, "Function not implemented")

    monkeypatch.setattr(module.fcntl, "flock", none)
    own = OwnFolder(tmp_path)
    monkeypatch.undo()
    assert remove_leftovers(tmp_path) == [] and own.path.exists()
    own.close()
    assert list(tmp_path.iterdir()) == []


def test_the_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    far = left_by(tmp_path, host="far", boot="another")
    dead = left_by(tmp_path)
    with running(tmp_path / "..") as (lives, _):
        assert program.run(["clean", str(tmp_path), str(lives.parent)]) == 0
        said = capsys.readouterr().out.splitlines()
        assert f"removed {dead} (" in said[0] + said[1] and not dead.exists()
        assert f"kept {far}: it is of far; run 'distmom clean' there" in said
        assert any(line.startswith("kept ") and line.endswith(": a run uses it") for line in said)
        assert lives.exists()
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(module.tempfile, "tempdir", None)
    assert program.run(["clean"]) == 0
    assert "of far" in capsys.readouterr().out
    assert program.run(["clean", str(tmp_path / "none")]) == ConfigError.exit_code
    assert "is not a folder" in capsys.readouterr().err


def test_nothing_to_remove(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert program.run(["clean", str(tmp_path)]) == 0
    assert capsys.readouterr().out == f"nothing to remove in {tmp_path}\n"


@pytest.mark.slow
@pytest.mark.cluster
def test_folders_of_workers_whose_driver_was_killed(tmp_path: Path) -> None:
    room, lake = tmp_path / "room", tmp_path / "lake"
    room.mkdir()
    lake.mkdir()
    pq.write_table(pa.table({"x": [1.0, 2.0] * 500}), lake / "0.parquet")
    for number in range(1, 5_000):
        os.link(lake / "0.parquet", lake / f"{number}.parquet")
    words = [sys.executable, "-m", "distmom", "mean", str(lake), "-c", "x", "--workers", "1"]
    env = {**os.environ, "TMPDIR": str(room)}
    with subprocess.Popen(words, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        while not list(room.rglob("dask-scratch-space")):
            assert process.poll() is None
        process.kill()
        process.communicate(timeout=240)
    assert len(list(room.glob(".distmom-*"))) == 1
    done = subprocess.run(words, env=env, capture_output=True, text=True, timeout=240, check=True)
    assert "left by a run that was killed" in done.stderr and list(room.iterdir()) == []


WRITES = """
import sys
from pathlib import Path
from distmom.lake.files.atomic import atomic_file

with atomic_file(Path(sys.argv[1])) as temporary:
    temporary.write_bytes(bytes(1_000_000))
    print(flush=True)
    sys.stdin.read()
"""
SAVES = """
import sys
import numpy as np
import distmom as dm

X = np.random.default_rng(0).normal(size=(300, 2))
model = dm.RobustLinearRegression(random_state=0).fit(X, X[:, 0])

def slow(path, array, **more):
    print(flush=True)
    sys.stdin.read()

np.save = slow
dm.save_model(model, sys.argv[1])
"""


@pytest.mark.parametrize("code", [WRITES, pytest.param(SAVES, marks=pytest.mark.slow)], ids=["file", "model"])
def test_what_a_killed_run_left_beside_its_output_is_removed(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str], code: str
) -> None:
    """By the next run that writes there, and by the command."""
    target = tmp_path / "out"
    for clean in (False, True):
        words = [sys.executable, "-c", code, target]
        with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None and process.stdout.readline() == "\n"
            if not clean:  # what lives is left alone
                with atomic_file(tmp_path / "other") as temporary:
                    temporary.write_text("whole")
                assert len(list(tmp_path.glob(".*"))) == 1
            process.kill()
            process.wait(10)
        assert len(list(tmp_path.glob(".*"))) == 1 and not target.exists()
        if clean:
            assert program.run(["clean", str(tmp_path)]) == 0
            assert capsys.readouterr().out.startswith(f"removed {tmp_path}/.distmom-")
        else:
            with atomic_file(tmp_path / "other") as temporary:
                temporary.write_text("again")
            assert "left by a run that was killed" in caplog.text
        assert [path.name for path in tmp_path.iterdir()] == ["other"]


def test_what_is_nowhere_else_is_kept(tmp_path: Path) -> None:
    own = OwnFolder(tmp_path)
    (own.path / "model").write_text("the only one")
    own.hold_on()
    assert own._lock is not None
    os.close(own._lock)  # as SIGKILL does
    OwnFolder(tmp_path).close()
    assert remove_leftovers(tmp_path) == [] and (own.path / "model").exists()
