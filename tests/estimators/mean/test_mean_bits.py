"""Large files that are read in parts give the same bits; other cuts of the work are in `contract/`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from flat import flat
from mean_lakes import cut_work, dirty_lake, same, write
from quick import quick
from small_leaves import patch_leaves

import distmom as dm
from distmom.estimators.mean import plan as mean_plan

VARIANTS: dict[str, dict[str, Any]] = {
    "random": {},
    "random, grouped": {"by": "key"},
    "random, two keys and a filter": {"by": ["name", "key"], "where": "u > 0.3"},
    "two columns": {"column": ["x", "y"]},
    "NaN kept": {"nan": "keep", "n_blocks": 301},
    "seven blocks": {"n_blocks": 7},
    "seven blocks, grouped": {"n_blocks": 7, "by": "name"},
    "paper": {"n_blocks": "paper"},
    "block size": {"block_size": 50},
    "many fine blocks": {"fine": "many"},
    "stored": {"order": "stored"},
    "chunks": {"chunk_rows": 7},
    "chunks, grouped": {"chunk_rows": 100, "by": "key", "n_blocks": 3},
    "stored, grouped": {"order": "stored", "by": "key"},
    "samples": {"scheme": "swor", "n_blocks": 7, "block_size": 90},
    "samples, large": {"column": "y", "scheme": "swor", "n_blocks": 3, "block_size": 900},
    "samples, grouped": {"scheme": "swor", "n_blocks": 7, "block_size": 90, "by": "key"},
    "samples, filtered": {"scheme": "swor", "n_blocks": 7, "block_size": 90, "where": "u > 0.3"},
    "samples by tau": {"scheme": "swor", "tau": 0.3},
    "units": {"block_by": "u", "n_blocks": 45, "where": "u > 0.3"},
    "units of three columns": {"block_by": ["name", "part", "key"], "column": "y"},
    "units, contaminated": {"block_by": "u", "contamination": 2},
    "units, grouped": {"block_by": "u", "by": ["key", "name"], "column": ["x", "y"]},
    "with replacement": {"scheme": "monte_carlo", "n_blocks": 7, "block_size": 90},
    "with replacement, large": {"column": "y", "scheme": "monte_carlo", "n_blocks": 3, "block_size": 3000},
    "with replacement, grouped": {"scheme": "monte_carlo", "n_blocks": 7, "block_size": 90, "by": "key"},
    "with replacement, filtered": {
        "scheme": "monte_carlo",
        "n_blocks": 7,
        "block_size": 90,
        "where": "u > 0.3",
    },
    "with replacement, by tau": {"scheme": "monte_carlo", "tau": 0.3},
    "repeated": {"repeats": 3},
    "repeated, grouped": {"repeats": 3, "by": "key", "where": "u > 0.1"},
    "repeated, seven blocks, two columns": {"column": ["x", "y"], "repeats": 2, "n_blocks": 7},
    "contamination": {"contamination": 3},
    "contamination, share and filter": {"contamination": 0.01, "where": "u > 0.3"},
    "contamination, grouped, repeated": {"contamination": 2, "by": "key", "repeats": 2},
    "contamination, files": {"column": "y", "contamination": 1, "block_by": "file"},
    "contamination, stored": {"contamination": 3, "order": "stored"},
    "weights": {"weights": "w"},
    "weights, two columns, grouped and filtered": {
        "column": ["x", "y"],
        "weights": "w",
        "by": "key",
        "where": "u > 0.1",
    },
    "weights, NaN kept": {"weights": "w", "n_blocks": 301, "nan": "keep"},
    "weights, stored": {"weights": "u", "order": "stored"},
    "weights, chunks": {"weights": "w", "chunk_rows": 7},
    "weights, chunks, grouped": {"weights": "w", "chunk_rows": 100, "by": "key", "n_blocks": 3},
    "weights, units": {"weights": "w", "block_by": "u", "n_blocks": 45, "where": "u > 0.1"},
    "weights, units, grouped": {"weights": "w", "block_by": ["u", "name"], "by": "key", "column": ["x", "y"]},
    "weights, files": {"weights": "w", "block_by": "file", "contamination": 1},
    "files": {"block_by": "file"},
    "files, grouped": {"block_by": "file", "by": "key", "n_blocks": 3},
    "vectors": {"column": ["x", "y"], "joint": True},
    "vectors, grouped": {"column": ["x", "y"], "joint": True, "by": "key"},
    "vectors by coordinates, stored": {"column": ["x", "y"], "joint": "coordinatewise", "order": "stored"},
    "vectors, samples": {"column": ["y", "u"], "joint": True, "scheme": "swor", "tau": 0.3},
}
QUICK = (
    *("random", "random, two keys and a filter", "NaN kept", "many fine blocks", "stored, grouped"),
    *("chunks, grouped", "samples, filtered", "units of three columns", "units, grouped"),
    *("with replacement, grouped", "repeated, grouped", "contamination, files"),
    *("weights, two columns, grouped and filtered", "weights, chunks", "weights, units, grouped"),
    *("files, grouped", "vectors, grouped", "vectors, samples"),
)
"""Each kind of blocks, with what makes its state largest."""
EACH = pytest.mark.parametrize("options", quick(VARIANTS, QUICK))


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return dirty_lake(tmp_path_factory.mktemp("lake"))


def run(lake: Any, options: dict[str, Any], **more: Any) -> Any:
    return flat(dm.mean)(lake, **{"column": "x", "rng": 7, "threads": 1, **options, **more})


@EACH
@pytest.mark.one_in(4)
def test_parts_of_files(lake: Path, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    patch_leaves(monkeypatch)
    right = run(lake, options)
    monkeypatch.setattr(mean_plan, "LARGE_FILE", 0)
    monkeypatch.setattr(mean_plan, "SHARES", 1_000_000)
    units: list[int] = []
    plan = mean_plan.plan_units
    for unit_bytes in (600, 4_000):

        def planned(*args: Any, _bytes: int = unit_bytes, **kwargs: Any) -> Any:
            cut = plan(*args, **{**kwargs, "unit_bytes": _bytes, "max_files": 4})
            units.append(sum(u.rows is not None for u in cut))
            return cut

        monkeypatch.setattr(mean_plan, "plan_units", planned)
        assert same(right, run(lake, options, threads=2, batch_rows=50)), unit_bytes
    assert max(units) > 0 or options.get("by"), "the files were to be cut"


def test_parts_of_files_with_groups(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    patch_leaves(monkeypatch)
    g = np.random.default_rng(0)
    for i, n in enumerate((2_500, 100, 1_100)):
        write(tmp_path / f"{i}.parquet", {"x": g.normal(size=n), "key": g.integers(0, 4, n)})
    right = run(tmp_path, {"by": "key"})
    monkeypatch.setattr(mean_plan, "LARGE_FILE", 0)
    monkeypatch.setattr(mean_plan, "SHARES", 1_000_000)
    monkeypatch.setattr(mean_plan, "SMALL_BYTES", -1)
    cut_work(monkeypatch, unit_bytes=4_000)
    assert same(right, run(tmp_path, {"by": "key"}, threads=2, batch_rows=333))


def test_rows_of_a_lake_and_of_a_table_in_memory_are_one_file_each(tmp_path: Path) -> None:
    g = np.random.default_rng(0)
    x = g.standard_t(3, 3_000)
    path = write(tmp_path / "a.parquet", {"x": x})
    file, array = dm.mean(path, rng=1), dm.mean(x, rng=1)
    assert file.plain_estimate == pytest.approx(array.plain_estimate, rel=1e-14)
    assert file != array  # the path is part of the key of every draw
    assert same(array, dm.mean(dm.scan(x, batch_rows=7), rng=1, executor=dm.Threads(2)))


def test_seeds_differ(lake: Path) -> None:
    assert not same(run(lake, {}), run(lake, {}, rng=8))


@pytest.mark.slow
def test_ten_runs_agree_also_for_a_distribution_without_a_mean(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Parallel sums in order of arrival differ in the last digits from run to run."""
    g = np.random.default_rng(1)
    for i in range(37):
        write(tmp_path / f"{i:03}.parquet", {"x": g.standard_cauchy(1000 + 97 * i)})
    right = dm.mean(tmp_path, "x", rng=0, executor=dm.Threads(1))
    cut_work(monkeypatch, max_files=1)
    for run_number in range(10):
        assert right == dm.mean(tmp_path, "x", rng=0, executor=dm.Threads(1 + run_number % 4))
