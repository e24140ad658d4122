"""The batch job ``tournament``: what Python computes, and the job of the repository."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from job_example import ROOT

import distmom as dm

Run = Callable[..., Any]


def test_it_writes_what_python_computes(run: Run, folder: Path) -> None:
    (folder / "job.toml").write_text(
        """
        pipeline = "tournament"
        data.path = "lake"
        tournament = { candidates = ["x", "y"], target = "x", loss = "absolute" }
        blocks.n = 9
        output.files = ["out.json"]
        """
    )
    assert run(folder / "job.toml").code == 2  # the target is no candidate
    job = (folder / "job.toml").read_text().replace('["x", "y"], target = "x"', '["x"], target = "y"')
    (folder / "job.toml").write_text(job)
    assert run(folder / "job.toml").code == 0
    expected = dm.tournament(folder / "lake", "x", "y", loss="absolute", rng=0, blocks=9)
    document = json.loads((folder / "out.json").read_text())
    assert document["table"] == expected.to_dict()["table"] and document["champions"] == ["x"]


@pytest.mark.slow
def test_the_example_runs_on_the_demonstration_lake(run: Run, demo: Path, tmp_path: Path) -> None:
    (tmp_path / "pipelines").mkdir()
    shutil.copy(ROOT / "pipelines/tournament.toml", tmp_path / "pipelines")
    (tmp_path / "demo").symlink_to(demo)
    ended = run(tmp_path / "pipelines" / "tournament.toml")
    assert ended.code == 0
    (demo / "tournament.json").unlink()
