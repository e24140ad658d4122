"""The same lake and seed give the same bits of U-statistics, however the work is cut and whoever does it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from mean_lakes import SomeWorkers, cut_work, dirty_lake, same
from small_leaves import patch_leaves

import distmom as dm
from distmom.estimators.mean import plan as mean_plan
from distmom.passes import ranges

VARIANTS: dict[str, dict[str, Any]] = {
    "random": {},
    "grouped, two keys and a filter": {"by": ["name", "key"], "where": "u > 0.1"},
    "two columns": {"column": ["x", "y"]},
    "pairs of columns": {"column": ["x", "y"], "kernel": "kendall", "n_blocks": 3},
    "tiles": {"column": ["x", "y"], "kernel": "distance", "n_blocks": 5},
    "ratio, grouped": {"column": ["x", "y"], "kernel": "kendall-b", "by": "name"},
    "NaN kept": {"nan": "keep", "n_blocks": 101},
    "seven blocks, grouped": {"n_blocks": 7, "by": "name"},
    "paper": {"n_blocks": "paper", "interval": "paper"},
    "stored": {"order": "stored", "n_blocks": 9},
    "stored, grouped": {"order": "stored", "by": "key"},
    "chunks": {"chunk_rows": 7},
    "units": {"block_by": ["name", "part", "key"], "column": "y"},
    "units, grouped": {"block_by": "u", "by": "key", "n_blocks": 3},
    "files": {"block_by": "file"},
    "contamination": {"contamination": 3},
    "variance": {"kernel": "variance", "column": ["x", "y"]},
    "covariance": {"kernel": "covariance", "column": ["x", "y", "u"], "project": "psd"},
    "covariance, grouped": {
        "kernel": "covariance",
        "column": ["y", "u"],
        "by": ["key", "name"],
        "n_blocks": 3,
    },
    "covariance, geometric, stored": {
        "kernel": "covariance",
        "column": ["y", "u"],
        "joint": "geometric",
        "order": "stored",
    },
    "correlation of units": {"kernel": "correlation", "column": ["x", "y"], "block_by": ["name", "u"]},
    "covariance, files, filtered": {
        "kernel": "covariance",
        "column": ["x", "y"],
        "block_by": "file",
        "where": "u > 0.3",
    },
    "squared distance, chunks": {"kernel": "squared-distance", "column": ["x", "y"], "chunk_rows": 7},
}
EACH = pytest.mark.parametrize("options", VARIANTS.values(), ids=VARIANTS)


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return dirty_lake(tmp_path_factory.mktemp("lake"), rows=60)


def run(lake: Any, options: dict[str, Any], **more: Any) -> Any:
    return dm.ustatistic(lake, **{"column": "x", "kernel": "gini", "rng": 7, "threads": 1, **options, **more})


@EACH
def test_any_cut_of_the_work(lake: Path, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    right = run(lake, options)
    for batch_rows in (7, 10**6):
        assert same(right, run(lake, options, batch_rows=batch_rows)), batch_rows
    monkeypatch.setattr(ranges, "RANGE_BYTES", 2_000)  # several passes over the lake
    cut_work(monkeypatch, max_files=1)
    for threads in (1, 4):
        assert same(right, run(lake, options, threads=threads)), threads


def test_two_samples(lake: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    both = [lake, dirty_lake(tmp_path / "other", seed=9, rows=80)]
    for options in ({"kernel": "auc"}, {"kernel": "energy", "column": ["x", "y"], "n_blocks": 5}):
        with monkeypatch.context() as patch:
            right = run(both, options)
            patch.setattr(ranges, "RANGE_BYTES", 2_000)
            patch.setattr(mean_plan, "SMALL_BYTES", -1)
            assert same(right, run(both, options, threads=2, batch_rows=33))


@EACH
def test_compiled(lake: Path, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    right = run(lake, options)
    monkeypatch.setattr(mean_plan, "SMALL_BYTES", -1)
    assert same(right, run(lake, options, batch_rows=33))


@pytest.mark.parametrize("name", [name for name in VARIANTS if "var" in name or "corr" in name])
def test_parts_of_files(lake: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    patch_leaves(monkeypatch)
    right = run(lake, VARIANTS[name])
    monkeypatch.setattr(mean_plan, "LARGE_FILE", 0)
    monkeypatch.setattr(mean_plan, "SHARES", 1_000_000)
    cut_work(monkeypatch, unit_bytes=2_000, max_files=4)
    assert same(right, run(lake, VARIANTS[name], threads=2, batch_rows=50))


@pytest.mark.cluster
@pytest.mark.xdist_group("cluster")
@pytest.mark.parametrize("workers", [2, *(pytest.param(n, marks=pytest.mark.slow) for n in (1, 4))])
def test_clusters(
    workers: int, lake: Path, client_of: Callable[[int], SomeWorkers], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ranges, "RANGE_BYTES", 2_000)
    client = client_of(workers)
    every = ("random", "tiles", "ratio, grouped", "stored", "units, grouped", "files", "covariance, grouped")
    for name in every if workers != 2 else ("tiles", "ratio, grouped", "files"):
        found = run(lake, VARIANTS[name], client=client, threads=None)
        assert same(run(lake, VARIANTS[name]), found), name
    own = dm.kernels.kernel(lambda a, b: (a - b) ** 2 > 1.0)
    assert same(run(lake, {"kernel": own}), run(lake, {"kernel": own}, client=client, threads=None))
