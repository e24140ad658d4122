"""The batch job ``tournament``: what Python computes, and the job of the repository."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

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
