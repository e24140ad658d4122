"""Few and large blocks: their pairs go to all threads and workers, tile by tile, with the bits of one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from mean_lakes import SomeWorkers, dirty_lake, same

import distmom as dm
from distmom.numerics.kernels.evaluate import one_by_one
from distmom.numerics.pairs import tiles
from distmom.passes import regrouping, tile_runs

SQUARE = dm.kernels.kernel(lambda a, b: np.minimum((a - b) ** 2, 1.0))

VARIANTS: dict[str, dict[str, Any]] = {
    "one block": {"kernel": "distance", "column": ["y", "u"], "blocks": 1},
    "three": {"kernel": dm.kernels.rbf(1.0), "column": ["y", "u"], "blocks": 3},
    "a function, columns and groups": {"kernel": SQUARE, "column": ["y", "u"], "by": "name", "blocks": 1},
    "weights": {"kernel": "distance", "column": ["y", "u"], "blocks": 1, "weights": "w"},
    "V": {"kernel": SQUARE, "column": "y", "blocks": 1, "statistic": "v", "interval": "none"},
    "samples of rows": {
        "kernel": "distance",
        "column": ["y", "u"],
        "blocks": dm.SampledBlocks(3, 400),
    },
}


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return dirty_lake(tmp_path_factory.mktemp("lake"), rows=20)


@pytest.fixture
def small_tiles(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Tiles of 64 rows; the list grows by the number of tiles of each wave that goes out."""
    waves: list[int] = []
    plain = tile_runs.run_units

    def counting(work: Any, units: Any, *more: Any, **options: Any) -> Any:
        waves.append(len(units))
        return plain(work, units, *more, **options)

    monkeypatch.setattr(tiles, "TILE", 64)
    monkeypatch.setattr(tile_runs, "WAVE", 5)
    monkeypatch.setattr(tile_runs, "TILES_PER_THREAD", 2)
    monkeypatch.setattr(tile_runs, "run_units", counting)
    return waves


def run(lake: Any, options: dict[str, Any], executor: Any) -> Any:
    return dm.ustatistic(lake, rng=7, executor=executor, **options)


@pytest.mark.parametrize("options", VARIANTS.values(), ids=VARIANTS)
@pytest.mark.one_in(8)
def test_threads_share_the_pairs_of_a_block(
    lake: Path, options: dict[str, Any], small_tiles: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    right = run(lake, options, dm.Threads(1))
    assert not small_tiles  # one thread takes block after block where the rows are
    assert same(right, run(lake, options, dm.Threads(3)))
    assert max(small_tiles) == 6 and min(small_tiles) >= 1
    monkeypatch.setattr(regrouping, "RANGE_BYTES", 2_000)  # one block after the other is handed over
    assert same(right, run(dm.scan(lake, batch_rows=33), options, dm.Threads(4)))


def test_two_samples(lake: Path, tmp_path: Path, small_tiles: list[int]) -> None:
    both = [lake, dirty_lake(tmp_path / "other", seed=9, rows=15)]
    options = {"kernel": dm.kernels.mmd(1.0), "column": ["y", "u"], "blocks": 1}
    assert same(run(both, options, dm.Threads(1)), run(both, options, dm.Threads(2)))
    assert sum(small_tiles) > 3


def test_who_is_cut(small_tiles: list[int]) -> None:
    """Sorted forms and many blocks are not; the pairs counted are exact."""
    x = np.random.default_rng(0).normal(size=900)
    dm.ustatistic(x, kernel="gini", blocks=1, executor=dm.Threads(2))
    dm.ustatistic(x, kernel=SQUARE, blocks=9, executor=dm.Threads(2))
    assert not small_tiles and one_by_one(SQUARE, 1)
    found = dm.ustatistic(x, kernel=SQUARE, blocks=1, executor=dm.Threads(2))
    assert small_tiles and found.n_pairs == 900 * 899 // 2
    right = np.minimum((x[:, None] - x) ** 2, 1.0).sum() / (900 * 899)
    assert found.estimate == pytest.approx(right, rel=1e-12)


@pytest.mark.slow
@pytest.mark.cluster
@pytest.mark.xdist_group("workers")
def test_workers_share_them_too(
    lake: Path, client_of: Callable[[int], SomeWorkers], small_tiles: list[int]
) -> None:
    client = client_of(4)
    for name in ("one block", "weights"):
        found = run(lake, VARIANTS[name], client)
        assert same(run(lake, VARIANTS[name], dm.Threads(1)), found), name
    assert small_tiles
