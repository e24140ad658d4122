"""U-statistics of moments have the same bits from large files in parts; other cuts are in `contract/`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from mean_lakes import cut_work, dirty_lake, same
from small_leaves import patch_leaves

import distmom as dm
from distmom.estimators.mean import plan as mean_plan

VARIANTS: dict[str, dict[str, Any]] = {
    "variance": {"kernel": "variance", "column": ["x", "y"]},
    "covariance": {"kernel": "covariance", "column": ["x", "y", "u"], "project": "psd"},
    "covariance, grouped": {
        "kernel": "covariance",
        "column": ["y", "u"],
        "by": ["key", "name"],
        "blocks": 3,
    },
    "covariance, geometric, stored": {
        "kernel": "covariance",
        "column": ["y", "u"],
        "joint": "geometric",
        "blocks": dm.StoredBlocks(),
    },
    "correlation of units": {
        "kernel": "correlation",
        "column": ["x", "y"],
        "blocks": dm.UnitBlocks(["name", "u"]),
    },
    "covariance, files, filtered": {
        "kernel": "covariance",
        "column": ["x", "y"],
        "blocks": dm.FileBlocks(),
        "where": "u > 0.3",
    },
}


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return dirty_lake(tmp_path_factory.mktemp("lake"), rows=60)


def run(lake: Any, options: dict[str, Any], threads: int = 1) -> Any:
    return dm.ustatistic(lake, rng=7, executor=dm.Threads(threads), **options)


@pytest.mark.parametrize("name", VARIANTS)
@pytest.mark.one_in(8)
def test_parts_of_files(lake: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    patch_leaves(monkeypatch)
    right = run(lake, VARIANTS[name])
    monkeypatch.setattr(mean_plan, "LARGE_FILE", 0)
    monkeypatch.setattr(mean_plan, "SHARES", 1_000_000)
    cut_work(monkeypatch, unit_bytes=2_000, max_files=4)
    assert same(right, run(dm.scan(lake, batch_rows=50), VARIANTS[name], threads=2))
