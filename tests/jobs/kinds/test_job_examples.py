"""Jobs of the folder ``pipelines`` that need nothing but the demonstration lake."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from job_example import ROOT

Run = Callable[..., Any]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["drift", "tournament", "ustat"])
def test_the_example_runs_on_the_demonstration_lake(run: Run, demo: Path, tmp_path: Path, kind: str) -> None:
    (tmp_path / "pipelines").mkdir()
    shutil.copy(ROOT / f"pipelines/{kind}.toml", tmp_path / "pipelines")
    (tmp_path / "demo").symlink_to(demo)
    ended = run(tmp_path / "pipelines" / f"{kind}.toml")
    assert ended.code == 0, ended.err
    (demo / f"{kind}.json").unlink()
