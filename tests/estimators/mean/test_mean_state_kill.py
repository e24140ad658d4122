"""A run that is killed, at any checkpoint and in the middle of writing one, goes on to the same bits."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest
from mean_lakes import same
from state_lakes import flat_lake, some_files

import distmom as dm

N = 11

SCRIPT = """
import os, signal, sys
from functools import partial
from distmom.estimators.mean import plan as mean_plan
from distmom.state import checkpoint
from distmom.state import state as room
import distmom as dm

lake, state, at, place, by = sys.argv[1:]
checkpoint.REST = 0.0
state = dm.State(state, checkpoint_seconds=0)
mean_plan.plan_units = partial(mean_plan.plan_units, max_files=1)
honest, saves = room.write_container, 0

class Half:
    "Takes some bytes, and then the process is gone."
    def __init__(self, sink): self.sink, self.left = sink, 5_000
    def write(self, data):
        self.sink.write(bytes(data)[: self.left])
        self.left -= len(data)
        if self.left <= 0:
            self.sink.flush()
            os.kill(os.getpid(), signal.SIGKILL)

def write(container, sink):
    global saves
    saves += 1
    if saves == int(at) and place == "before":
        os.kill(os.getpid(), signal.SIGKILL)
    honest(container, Half(sink) if saves == int(at) and place == "within" else sink)

room.write_container = write
dm.mean(lake, "x", by=by or None, rng=7, executor=dm.Threads(2), state=state)
print(saves)
"""


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return flat_lake(tmp_path_factory.mktemp("kill") / "lake", N)


def killed(lake: Path, state: Path, at: int, place: str, by: str = "") -> bool:
    """Run and die at the given save; False if the run ended before."""
    words = [sys.executable, "-c", SCRIPT, str(lake), str(state), str(at), place, by]
    done = subprocess.run(words, capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode in (0, -signal.SIGKILL), done.stderr
    return done.returncode != 0


def check(lake: Path, state: Path, at: int, place: str, by: str = "") -> None:
    assert killed(lake, state, at, place, by)
    assert state.exists() == (at > 1), "what was saved before is there"
    right = dm.mean(lake, "x", by=by or None, rng=7)
    found = dm.mean(lake, "x", by=by or None, rng=7, state=state)
    assert same(found, right)
    known = dm.Results.of(found).data["state"]["n_files_before"]
    assert known == at - 1, "nothing that was saved is read again"


@pytest.mark.parametrize(("at", "place", "by"), [(1, "within", ""), (5, "before", ""), (8, "within", "key")])
@pytest.mark.one_in(4)
def test_killed_at_a_checkpoint(lake: Path, tmp_path: Path, at: int, place: str, by: str) -> None:
    check(lake, tmp_path / "s", at, place, by)


@pytest.mark.slow
def test_killed_again_and_again(lake: Path, tmp_path: Path) -> None:
    """Each run gets four files further; new files come meanwhile."""
    some, state = some_files(lake, tmp_path / "lake", range(7)), tmp_path / "s"
    assert killed(some, state, 5, "within")
    some_files(lake, some, range(N))
    assert killed(some, state, 5, "before")
    assert not killed(some, state, 6, "within")
    assert same(dm.mean(some, "x", rng=7, state=state), dm.mean(some, "x", rng=7))


@pytest.mark.slow
@pytest.mark.parametrize("by", ["", "key"])
@pytest.mark.parametrize("place", ["before", "within"])
def test_killed_at_every_tenth_checkpoint(tmp_path: Path, place: str, by: str) -> None:
    lake = flat_lake(tmp_path / "lake", 60)
    for at in range(1, 61, 10):
        check(lake, tmp_path / f"{at}", at, place, by)
