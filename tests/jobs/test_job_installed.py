"""Jobs run from any folder, also one whose own package is called as a folder of this repository."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from programs import ROOT

OWN = "raise SystemExit('the package of somebody else was imported')\n"


def with_own_package(folder: Path) -> None:
    (folder / "pipelines").mkdir()
    for name in ("__init__", "job", "summary", "config", "log"):
        (folder / f"pipelines/{name}.py").write_text(OWN)


@pytest.mark.parametrize("words", [("run",), ("run", "--workers", "1")], ids=["threads", "processes"])
@pytest.mark.slow
def test_a_folder_with_a_package_of_the_same_name(folder: Path, words: tuple[str, ...]) -> None:
    with_own_package(folder)
    command = [sys.executable, "-m", "distmom", *words, "job.toml"]
    path = {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        command, cwd=folder, env={**os.environ, **path}, capture_output=True, timeout=240, check=False
    )
    assert done.returncode == 0, done.stderr
    assert len(json.loads((folder / "out.json").read_text())["results"]) == 2
    control = [sys.executable, "-c", "import pipelines.summary"]
    assert b"somebody else" in subprocess.run(control, cwd=folder, capture_output=True, check=False).stderr


def test_the_package_alone_is_installed() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert project["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"] == ["distmom"]
