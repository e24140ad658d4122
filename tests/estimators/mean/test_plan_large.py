"""Plans of lakes far larger than any test could read: a made-up listing, no data."""

from __future__ import annotations

import tracemalloc
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

import distmom as dm
from distmom.passes import scan

# by its file: other modules there are called as packages are
_SPEC = spec_from_file_location("plans", Path(__file__).parents[2] / "benchmarks/plans.py")
assert _SPEC is not None and _SPEC.loader is not None
plans = module_from_spec(_SPEC)
_SPEC.loader.exec_module(plans)


@pytest.mark.parametrize("n_files", [30_000, pytest.param(1_000_000, marks=pytest.mark.slow)])
def test_a_plan_is_linear_in_the_number_of_files(
    tmp_path: Path, n_files: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake = plans.made_up(tmp_path, n_files)
    monkeypatch.setattr(scan, "open_lake", lambda *_, **__: lake)
    tracemalloc.start()
    told = dm.explain(dm.mean, "lake", "x", rng=0, executor=dm.Threads(8))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert told["n_files"] == n_files
    assert told["n_units"] < n_files / 4 and told["largest_unit_bytes"] < 2e8
    assert told["merge_depth"] <= 20 and told["bytes_to_scheduler"] < 300 * n_files
    assert peak < 40e6 + 300 * n_files  # beside the listing
    sampled = dm.SampledBlocks(35, 1_000_000)
    told = dm.explain(dm.mean, "lake", "x", rng=0, blocks=sampled, executor=dm.Threads(8))
    assert told["n_rows"] == (n_files - 1) * plans.ROWS + 2  # by the log: no footer was read
    assert told["rows_drawn"] == 35_000_000
