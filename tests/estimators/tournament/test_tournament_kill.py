"""A tournament whose process is killed between rounds, or while it saves one, goes on to the same bits."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from mean_lakes import write

import distmom as dm
from distmom.estimators.tournament import row_oracle

SCRIPT = """
import json, os, signal, sys
from distmom.state import state as room
import distmom as dm
from distmom.estimators.tournament import row_oracle

lake, state, at, place, options = sys.argv[1:]
honest, saves = room.write_container, 0

class Half:
    "Takes some bytes, and then the process is gone."
    def __init__(self, sink): self.sink, self.left = sink, 500
    def write(self, data):
        self.sink.write(bytes(data)[: self.left])
        self.left -= len(data)
        if self.left <= 0:
            self.sink.flush()
            os.kill(os.getpid(), signal.SIGKILL)

def save(container, sink):
    global saves
    saves += 1
    if saves == int(at) and place == "before":
        os.kill(os.getpid(), signal.SIGKILL)
    honest(container, Half(sink) if saves == int(at) and place == "within" else sink)

room.write_container = save
row_oracle.TOGETHER = 2
match = dm.Match(beta_r=1e9)
dm.tournament(lake, **json.loads(options), match=match, state=state, executor=dm.Threads(2))
"""

OPTIONS: dict[str, dict[str, Any]] = {
    "rows": {},
    "pairs": {"loss": "ranking_hinge"},
}


@pytest.mark.parametrize("kind", OPTIONS)
@pytest.mark.slow
def test_killed_between_all_rounds(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_oracle, "TOGETHER", 2)
    g = np.random.default_rng(0)
    for i in range(2):
        x = g.normal(size=400)
        y = x + g.standard_t(2.1, 400)
        predictions = {f"p{j}": x * (0.8 + 0.1 * j) + 0.1 * g.normal(size=400) for j in range(4)}
        write(tmp_path / "lake" / f"{i}.parquet", {"y": y, **predictions})
    names = [f"p{j}" for j in range(4)]
    given = {"candidates": names, "target": "y", "rng": 3, "blocks": 7, **OPTIONS[kind]}
    lake, state, match = tmp_path / "lake", tmp_path / "s", dm.Match(beta_r=1e9)
    want = dm.tournament(lake, **given, match=match)
    # three rounds: the first run dies while it saves its first one, each other one with its second
    for run, (at, place) in enumerate([(1, "within"), (2, "before"), (2, "within")]):
        words = [sys.executable, "-c", SCRIPT, str(lake), str(state), str(at), place, json.dumps(given)]
        done = subprocess.run(words, capture_output=True, text=True, timeout=240, check=False)
        assert done.returncode == -signal.SIGKILL, done.stderr
        assert state.exists() == (run > 0)
    found = dm.tournament(lake, **given, match=match, state=state)
    assert found.data["rounds"]["n_rounds_before"] == 2 and found.data["rounds"]["n_rounds"] == 3
    assert found == want
