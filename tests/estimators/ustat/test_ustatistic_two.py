"""Arbitrary rows in two samples: they add up, as blocks are paired by their numbers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from mean_lakes import write

import distmom as dm
from distmom.estimators.survey import Surveyor
from distmom.theory.bounds import width_factor
from distmom.theory.planning import best_blocks


@pytest.mark.parametrize("kernel", ["auc", "mean-difference", "energy"])
def test_arbitrary_rows_of_both_samples_are_allowed_for(kernel: str) -> None:
    """Three outlying rows here and two there: the interval for five holds, the sample mean fails."""
    g = np.random.default_rng(0)
    x, y = g.normal(size=9_000), g.normal(size=6_000) + 0.5
    right = dm.ustatistic([x, y], kernel=kernel, rng=1, blocks=9)
    x[:3], y[:2] = 1e9, -1e9
    found = dm.ustatistic([x, y], kernel=kernel, contamination=5, interval="cantelli", rng=0)
    assert found.n_blocks == best_blocks(6_000, 0.01, 5)
    assert found.interval[0] < right.estimate < found.interval[1]
    if kernel == "mean-difference":
        assert abs(found.plain_estimate) > 1e5  # the negative control
        half = (found.interval[1] - found.interval[0]) / 2
        k = found.n_blocks
        wanted = np.sqrt(k / 9_000 + k / 6_000) * width_factor(k, 0.01, 5)
        assert half == pytest.approx(wanted, rel=0.15)  # variances of blocks of 153 rows


def test_a_share_and_a_block_size_are_of_both_samples(tmp_path: Path) -> None:
    """Lakes with a filter: 600 and 400 rows pass, so 1% are 10 rows, and blocks of 50 rows are 19."""
    g = np.random.default_rng(0)
    both = []
    for name, n in (("a", 600), ("b", 400)):
        keep = np.repeat([1, 0], [n, n])
        write(tmp_path / name / "0.parquet", {"x": g.normal(size=2 * n), "keep": keep})
        both.append(tmp_path / name)
    options: dict[str, Any] = {"kernel": "auc", "rng": 0}
    share = dm.ustatistic(both, "x", where="keep == 1", contamination=0.01, **options)
    number = dm.ustatistic(both, "x", where="keep == 1", contamination=10, **options)
    assert share == number
    sized = dm.ustatistic(both, "x", blocks=dm.RandomBlocks(size=100), **options)
    assert sized == dm.ustatistic(both, "x", blocks=19, **options)
    assert sized.block_size[0] >= 104 and sized.block_size[1] <= 107  # 2,000 rows in 19 blocks
    with pytest.raises(dm.NoAnswerError, match="rows of all samples"):
        dm.ustatistic(both, "x", blocks=dm.RandomBlocks(size=3_000), **options)


@pytest.mark.slow
def test_whole_files_of_two_samples(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file of each sample is outlying: blocks of files bear it, for blocks of rows it is left out."""
    g = np.random.default_rng(1)
    both = []
    for name, shift in (("a", 0.0), ("b", 0.5)):
        for i in range(30):
            x = g.normal(size=40) + shift
            write(tmp_path / name / f"{i}.parquet", {"x": 1e9 * (1.0 + x) if i == 7 else x})
        both.append(tmp_path / name)
    found = dm.ustatistic(both, kernel="mean-difference", rng=0, blocks=dm.FileBlocks(9))
    assert abs(found.estimate - 0.5) < 0.4 and found.n_units == 60  # a block has the sd 0.23
    rows = dm.ustatistic(both, kernel="mean-difference", rng=0, blocks=9)
    assert abs(rows.estimate - 0.5) < 0.4 and not rows.ok
    plain = dm.ustatistic(both, kernel="mean-difference", rng=0, blocks=1)
    assert abs(plain.estimate - 0.5) < 0.4 and not plain.ok
    with monkeypatch.context() as patch:  # the negative control
        patch.setattr(Surveyor, "suspect", lambda *_: [])
        assert abs(dm.ustatistic(both, kernel="mean-difference", rng=0, blocks=1).estimate) > 1e5
    share = dm.ustatistic(both, kernel="auc", contamination=0.04, rng=0, blocks=dm.FileBlocks())
    assert share == dm.ustatistic(both, kernel="auc", contamination=3, rng=0, blocks=dm.FileBlocks())


@pytest.mark.parametrize("kernel", ["auc", "energy"])
def test_groups_are_paired_by_their_keys(tmp_path: Path, kernel: str) -> None:
    """As with a filter for each; groups that one sample lacks are told without an answer."""
    g = np.random.default_rng(2)
    both = []
    for name, keys in (("a", "abcd"), ("b", "bcea")):
        for i in range(3):
            k = g.choice(list(keys), 200)
            write(tmp_path / name / f"{i}.parquet", {"x": np.round(g.normal(size=200), 1), "k": k})
        both.append(tmp_path / name)
    found = dm.ustatistic(both, "x", by="k", kernel=kernel, rng=0, blocks=1)
    assert [one.group["k"] for one in found] == list("abcde")
    for one in found:
        if one.group["k"] in "de":
            assert np.isnan(one.estimate) and one.interval is None and 0 in one.n_used_by_sample
            continue
        alone = dm.ustatistic(both, "x", where=f"k == '{one.group['k']}'", kernel=kernel, rng=0, blocks=1)
        assert one.estimate == pytest.approx(alone.estimate, rel=1e-12, abs=1e-14)
        assert one.n_used_by_sample == alone.n_used_by_sample and one.n_pairs == alone.n_pairs
    several = dm.ustatistic(both, "x", by="k", kernel=kernel, rng=0)
    assert all(np.isfinite(one.estimate) == (one.group["k"] in "abc") for one in several)


def test_three_samples_and_two_rows_of_one() -> None:
    """P(X < Y < Z) of shifted normal rows, and whether a row lies between two of another sample."""
    g = np.random.default_rng(4)
    x, y, z = g.normal(size=300), g.normal(size=200) + 0.5, g.normal(size=250) + 1.0
    ordered = dm.kernels.kernel(lambda a, b, c: (a < b) & (b < c), degree=3, n_samples=3)
    found = dm.ustatistic([x, y, z], kernel=ordered, rng=0, blocks=9)
    right = float(np.mean([np.mean(x < b) * np.mean(z > b) for b in y]))
    assert found.plain_estimate == pytest.approx(right, abs=0.06)
    assert found.interval[0] < right < found.interval[1] and found.n_used_by_sample == (300, 200, 250)
    whole = dm.ustatistic([x[:60], y[:50], z[:40]], kernel=ordered, rng=0, blocks=1)
    assert whole.n_pairs == 60 * 50 * 40
    assert whole.estimate == pytest.approx(
        np.mean((x[:60, None, None] < y[None, :50, None]) & (y[None, :50, None] < z[None, None, :40]))
    )
    between = dm.kernels.kernel(
        lambda a, b, c: (np.minimum(a, b) < c) & (c < np.maximum(a, b)), degree=(2, 1)
    )
    one = dm.ustatistic([x[:40], y[:30]], kernel=between, rng=0, blocks=1)
    assert one.n_pairs == 40 * 39 // 2 * 30
    below = np.array([(x[:40] < c).sum() for c in y[:30]])
    assert one.estimate == pytest.approx((below * (40 - below)).sum() / one.n_pairs)
    with pytest.raises(dm.ConfigError, match="takes three samples"):
        dm.ustatistic([x, y], kernel=ordered)
