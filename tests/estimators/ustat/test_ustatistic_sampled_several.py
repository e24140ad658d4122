"""Samples of the rows of several lakes: medians of randomized generalized U-statistics."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from mean_lakes import dirty_lake, same, write

import distmom as dm
from distmom.numerics.blocks.labels import repeat_seed
from distmom.numerics.random.philox import resolve_seed
from distmom.numerics.samples.row_samples import RowSamples
from distmom.passes import draws
from distmom.theory.paper import morgu_blocks
from distmom.theory.resampled import resampled_margin
from distmom.theory.variances import row_inverse_inclusion


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


@pytest.mark.parametrize("replace", [False, True])
def test_blocks_are_drawn_from_each_lake(both: list[Path], replace: bool) -> None:
    """The slow twin: the samples of the mean from each lake, and the double loop over their pairs."""
    design = dm.SampledBlocks(7, 100, replace=replace)
    found = dm.ustatistic(both, "x", kernel="auc", blocks=design, rng=3)
    drawn = []
    for t, lake in enumerate(both):
        rows, x = values(lake)
        seed = repeat_seed(resolve_seed(3)[0], t)
        numbers = RowSamples(seed, rows, (60, 40)[t], replace).numbers(0, 7)
        drawn.append(x[numbers])
    right = [np.mean((a[:, None] < b) + 0.5 * (a[:, None] == b)) for a, b in zip(*drawn, strict=True)]
    assert found.block_estimates == pytest.approx(right, rel=1e-12)
    assert found.estimate == pytest.approx(sorted(right)[3]) and found.n_used_by_sample == (900, 600)
    assert found.block_size == (100, 100) and found.n_pairs == 7 * 60 * 40


@pytest.mark.slow
def test_numbers_of_the_proposition_and_the_interval(both: list[Path]) -> None:
    options: dict[str, Any] = {"kernel": "mean-difference", "confidence_level": 0.9, "rng": 0}
    found = dm.ustatistic(both, "x", blocks=dm.SampledBlocks(), **options)
    k, sizes = morgu_blocks(0.9, 0.45, (900, 600), (1, 1))
    assert (found.n_blocks, found.block_size) == (k, (sum(sizes),) * 2)
    assert found.interval_kind == "cantelli" and found.interval[0] < 0.5 < found.interval[1]
    a = min(
        row_inverse_inclusion(n, size, replacement=False) for n, size in zip((900, 600), sizes, strict=True)
    )
    half = resampled_margin(1.0 / sizes[0] + 1.0 / sizes[1], k, a, 0.1)
    assert found.interval[1] - found.estimate == pytest.approx(half, rel=0.1)
    options["interval"] = "closed-form"  # sqrt(3 V/tau), V that of a block
    paper = dm.ustatistic(both, "x", blocks=dm.SampledBlocks(), **options)
    wide = np.sqrt(3.0 / 0.45 * (1.0 / sizes[0] + 1.0 / sizes[1]))
    assert paper.interval[1] - paper.estimate == pytest.approx(wide, rel=0.1)
    few = dm.ustatistic(both, "x", blocks=dm.SampledBlocks(9), **options)
    assert few.interval is None and "rows at tau=0.45" in few.interval_reason
    plan = dm.explain(dm.ustatistic, both, "x", blocks=dm.SampledBlocks(), **options)
    assert (plan["n_blocks"], plan["block_size"], plan["n_rows"]) == (k, sum(sizes), 1_500)


def test_any_cut_of_the_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    both = [dirty_lake(tmp_path / "a", rows=12), dirty_lake(tmp_path / "b", seed=5, rows=20)]
    small = [dm.scan(lake, batch_rows=17) for lake in both]
    options: dict[str, Any] = {"blocks": dm.SampledBlocks(5, 60), "rng": 1, "where": "u > 0.2"}
    for kernel in ("auc", "energy"):
        options["kernel"] = kernel
        right = dm.ustatistic(both, ["y", "u"], executor=dm.Threads(1), **options)
        with monkeypatch.context() as patch:
            patch.setattr(draws, "MOST_ROWS", 100)
            found = dm.ustatistic(small, ["y", "u"], executor=dm.Threads(3), **options)
            assert same(right, found)


def test_a_given_size_is_held_against_the_same_range_for_one_lake_and_several() -> None:
    """Of a given size only the number of samples is the proposition's, which does not depend on the rows."""
    few, design = {"x": np.arange(12.0)}, dm.SampledBlocks(size=4, tau=0.3)
    mean = dm.mean(few, blocks=design, rng=0)
    one = dm.ustatistic(few, kernel="gini", blocks=design, rng=0)
    two = dm.ustatistic([few, few], kernel="auc", blocks=design, rng=0)
    assert mean.n_blocks == one.n_blocks == two.n_blocks == 67
    for data, kernel in ((few, "gini"), ([few, few], "auc")):
        with pytest.raises(dm.ConfigError, match="admit"):
            dm.ustatistic(data, kernel=kernel, blocks=dm.SampledBlocks(tau=0.3), rng=0)


@pytest.mark.parametrize("size", [25, 10**15])
def test_more_rows_than_there_are_cannot_be_drawn_from_one_lake_nor_from_several(size: int) -> None:
    """Of several samples all rows were taken in silence; with replacement, memory of any size was wanted."""
    few = {"x": np.arange(12.0)}
    for data, kernel, most in ((few, "gini", 12), ([few, few], "auc", 24)):
        with pytest.raises(
            dm.NoAnswerError, match=f"without replacement from {most} rows .*use at most {most}"
        ):
            dm.ustatistic(data, "x", kernel=kernel, blocks=dm.SampledBlocks(11, size), rng=0)
        drawn = dm.SampledBlocks(11, size, replace=True)
        if size > 2**31:
            with pytest.raises(dm.ConfigError, match="size: at most 2,147,483,647 draws"):
                dm.ustatistic(data, "x", kernel=kernel, blocks=drawn, rng=0)
        else:
            assert dm.ustatistic(data, "x", kernel=kernel, blocks=drawn, rng=0).n_blocks == 11


def test_slow_kernels_of_several_samples_are_refused_before_a_row_is_read(tmp_path: Path) -> None:
    """Pages that are damaged show it: whoever reads a row meets them first."""
    paths = [tmp_path / "a.parquet", tmp_path / "b.parquet"]
    for path in paths:
        pq.write_table(pa.table({"x": np.random.default_rng(0).normal(size=3_000)}), path)
        data = bytearray(path.read_bytes())
        data[4:2_000] = b"\xff" * 1_996
        path.write_bytes(data)
    pairs = dm.CompletePairs(budget=1_000)
    slow = dm.kernels.kernel(lambda x, y: abs(x - y) > 1, degree=(1, 1))
    with pytest.raises(dm.ConfigError, match="budget"):
        dm.ustatistic(paths, "x", kernel=slow, pairs=pairs, rng=0)
    with pytest.raises(dm.DataError):
        dm.ustatistic(paths, "x", kernel="auc", rng=0)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"blocks": dm.SampledBlocks(size=1)}, "in proportion to 900, 600"),
        ({"blocks": dm.SampledBlocks(), "by": "y"}, "samples are of all rows together"),
    ],
)
def test_what_is_refused(both: list[Path], options: dict[str, Any], words: str) -> None:
    with pytest.raises(dm.ConfigError, match=words) as refused:
        dm.ustatistic(both, "x", kernel="auc", **options)
    assert "\n" not in str(refused.value)
