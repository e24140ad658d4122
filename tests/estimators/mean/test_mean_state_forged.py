"""States that somebody wrote by hand, with a right digest: an answer or one line, never a raw failure."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from forged import refusals

import distmom as dm

KINDS: dict[str, dict[str, Any]] = {
    "plain": {"column": "x"},
    "groups": {"column": "x", "by": "g"},
    "vectors": {"column": ["x", "y"], "joint": True},
    "files": {"column": "x", "blocks": dm.FileBlocks(3)},
    "fixed": {"column": "x", "blocks": 11},
}


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("forged") / "lake"
    folder.mkdir()
    g = np.random.default_rng(0)
    for i in range(4):
        table = {"x": g.normal(size=300), "y": g.normal(size=300), "g": ["a", "b"] * 150}
        pq.write_table(pa.table(table), folder / f"{i}.parquet")
    return folder


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", [*KINDS])
@pytest.mark.parametrize("n", [12, pytest.param(400, marks=pytest.mark.slow)])
def test_forged_states(lake: Path, tmp_path: Path, kind: str, n: int) -> None:
    good, forged, choice = tmp_path / "good.state", tmp_path / "forged.state", random.Random(kind)
    dm.mean(lake, rng=1, state=good, **KINDS[kind])
    uses = (
        lambda: dm.merge_states(forged),
        lambda: dm.mean(lake, rng=1, state=forged, **KINDS[kind]),
    )
    assert refusals(good, forged, choice, n, *uses) > n / 4, "most changes matter"
