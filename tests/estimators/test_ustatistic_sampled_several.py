"""Samples of the rows of several lakes: medians of randomized generalized U-statistics."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from flat import explained, flat
from mean_lakes import dirty_lake, same, write

import distmom as dm
from distmom.numerics.blocks.labels import repeat_seed
from distmom.numerics.random.philox import resolve_seed
from distmom.numerics.samples.row_samples import RowSamples
from distmom.passes import draws
from distmom.theory import morgu_blocks, resampled_halfwidth, row_inverse_inclusion


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    root, g = tmp_path_factory.mktemp("lakes"), np.random.default_rng(0)
    for name, n, shift in (("a", 300, 0.0), ("b", 200, 0.5)):
        for i in range(3):
            write(root / name / f"{i}.parquet", {"x": g.normal(size=n) + shift, "y": g.normal(size=n)})
    return [root / "a", root / "b"]


def values(lake: Path) -> tuple[Any, Any]:
    """Rows of each file, and all values."""
    files = [pq.read_table(path)["x"].to_numpy() for path in sorted(lake.glob("*.parquet"))]
    return np.array([f.size for f in files]), np.concatenate(files)


@pytest.mark.parametrize("scheme", ["swor", "monte_carlo"])
def test_blocks_are_drawn_from_each_lake(both: list[Path], scheme: str) -> None:
    """The slow twin: the samples of the mean from each lake, and the double loop over their pairs."""
    found = flat(dm.ustatistic)(both, "x", kernel="auc", scheme=scheme, n_blocks=7, block_size=100, rng=3)
    drawn = []
    for t, lake in enumerate(both):
        rows, x = values(lake)
        seed = repeat_seed(resolve_seed(3)[0], t)
        numbers = RowSamples(seed, rows, (60, 40)[t], scheme == "monte_carlo").numbers(0, 7)
        drawn.append(x[numbers])
    right = [np.mean((a[:, None] < b) + 0.5 * (a[:, None] == b)) for a, b in zip(*drawn, strict=True)]
    assert found.block_estimates == pytest.approx(right, rel=1e-12)
    assert found.estimate == pytest.approx(sorted(right)[3]) and found.n_used_by_sample == (900, 600)
    assert found.block_size == (100, 100) and found.n_pairs == 7 * 60 * 40


def test_numbers_of_the_proposition_and_the_interval(both: list[Path]) -> None:
    options: dict[str, Any] = {
        "kernel": "mean-difference",
        "scheme": "swor",
        "confidence_level": 0.9,
        "rng": 0,
    }
    found = flat(dm.ustatistic)(both, "x", **options)
    k, sizes = morgu_blocks(0.9, 0.45, (900, 600), (1, 1))
    assert (found.n_blocks, found.block_size) == (k, (sum(sizes),) * 2)
    assert found.interval_kind == "exact" and found.interval[0] < 0.5 < found.interval[1]
    a = min(
        row_inverse_inclusion(n, size, replacement=False) for n, size in zip((900, 600), sizes, strict=True)
    )
    half = resampled_halfwidth(1.0 / sizes[0] + 1.0 / sizes[1], k, a, 0.1)
    assert found.interval[1] - found.estimate == pytest.approx(half, rel=0.1)
    paper = flat(dm.ustatistic)(both, "x", **options, interval="paper")  # sqrt(3 V/tau), V that of a block
    wide = np.sqrt(3.0 / 0.45 * (1.0 / sizes[0] + 1.0 / sizes[1]))
    assert paper.interval[1] - paper.estimate == pytest.approx(wide, rel=0.1)
    few = flat(dm.ustatistic)(both, "x", **options, interval="paper", n_blocks=9)
    assert few.interval is None and "rows at tau=0.45" in few.interval_reason
    plan = explained(dm.ustatistic)(both, "x", **options)
    assert (plan["n_blocks"], plan["block_size"], plan["n_rows"]) == (k, sum(sizes), 1_500)


def test_any_cut_of_the_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    both = [dirty_lake(tmp_path / "a", rows=12), dirty_lake(tmp_path / "b", seed=5, rows=20)]
    options: dict[str, Any] = {
        "scheme": "swor",
        "n_blocks": 5,
        "block_size": 60,
        "rng": 1,
        "where": "u > 0.2",
    }
    for more in ({"kernel": "auc", "column": ["y", "u"]}, {"kernel": "energy", "column": ["y", "u"]}):
        right = flat(dm.ustatistic)(both, **options, **more, threads=1)
        with monkeypatch.context() as patch:
            patch.setattr(draws, "MOST_ROWS", 100)
            assert same(right, flat(dm.ustatistic)(both, **options, **more, threads=3, batch_rows=17))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"block_size": 1}, "in proportion to 900, 600"),
        ({"by": "y"}, "samples are of all rows together"),
    ],
)
def test_what_is_refused(both: list[Path], options: dict[str, Any], words: str) -> None:
    with pytest.raises(dm.ConfigError, match=words) as refused:
        flat(dm.ustatistic)(both, "x", kernel="auc", scheme="swor", **options)
    assert "\n" not in str(refused.value)
