"""Blocks that are samples with replacement: exactly B draws each, with their bound and their cost."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from mean_lakes import cut_work, dirty_lake, same, write
from scipy import stats

import distmom as dm
from distmom.numerics.random.philox import resolve_seed, stream_key
from distmom.numerics.samples.sampled_leaf import leaf_sample
from distmom.theory.resampled import resampled_p

EDGES = [(0, 3), (3, 6), (6, 9), (9, 10)]


def with_replacement(n: int, size: int) -> dm.SampledBlocks:
    return dm.SampledBlocks(n, size, replace=True)


def lake_of(folder: Path, x: np.ndarray) -> Path:
    """Three files of three rows and one of a single row."""
    for i, (low, high) in enumerate(EDGES):
        write(folder / f"{i}.parquet", {"x": x[low:high]})
    return folder


def multiplicities(found: dm.MeanResult, size: int) -> np.ndarray:
    """How often each row was drawn, from block means of powers of size + 1."""
    base = size + 1
    sums = np.rint(found.block_estimates * size).astype(np.int64)
    return sums[:, None] // base ** np.arange(10) % base


def test_blocks_of_exactly_so_many_draws(tmp_path: Path) -> None:
    """Eight draws of ten rows, counted by their digits: always eight, and mostly with repetitions."""
    lake = lake_of(tmp_path, 9.0 ** np.arange(10))
    found = dm.mean(lake, blocks=with_replacement(2_000, 8), rng=0)
    times = multiplicities(found, 8)
    assert (times.sum(axis=1) == 8).all() and found.block_size == (8, 8)
    # all different with probability 10!/(2! 10^8) = 0.018
    assert 0.005 < (times.max(axis=1) == 1).mean() < 0.04
    # each row a tenth of 16,000 draws, also the lone one: 5 standard deviations of 38 for ten rows: 6e-6
    assert np.abs(times.sum(axis=0) - 1_600).max() < 5 * math.sqrt(16_000 * 0.09)


def test_more_draws_than_rows(tmp_path: Path) -> None:
    lake = lake_of(tmp_path, np.arange(10.0))
    found = dm.mean(lake, blocks=with_replacement(9, 1_000), rng=0)
    assert found.block_size == (1_000, 1_000) and found.interval is not None
    # a mean of 1,000 draws of 0 ... 9 has standard deviation 0.09
    assert np.abs(found.block_estimates - 4.5).max() < 0.5
    with pytest.raises(dm.ConfigError, match=r"^blocks: size: .*2,147,483,647.*2,147,483,648"):
        dm.mean(lake, blocks=with_replacement(3, 2**31), rng=0)
    with pytest.raises(dm.ResourceError, match="projected memory"):
        dm.mean(
            lake,
            blocks=with_replacement(3, 2**31 - 1),
            rng=0,
            executor=dm.Threads(memory_limit="2GB"),
        )


def test_samples_are_the_same_whichever_way_the_lake_is_cut(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake = lake_of(tmp_path, np.arange(10.0))
    right = dm.mean(lake, blocks=with_replacement(9, 8), rng=3, executor=dm.Threads(1))
    for max_files in (1, 2, 3):
        cut_work(monkeypatch, max_files=max_files)
        assert same(
            right,
            dm.mean(
                dm.scan(lake, batch_rows=1),
                blocks=with_replacement(9, 8),
                rng=3,
                executor=dm.Threads(2),
            ),
        )
    more = dm.mean(lake, blocks=with_replacement(20, 8), rng=3)
    assert np.array_equal(more.block_estimates[:9], right.block_estimates)
    swor = dm.mean(lake, rng=3, blocks=dm.SampledBlocks(9, size=8))
    assert not np.array_equal(swor.block_estimates, right.block_estimates)


def test_blocks_and_interval_are_those_of_the_drawn_rows() -> None:
    """One leaf: the draws by the sampler's own words, the bound by its formula."""
    x = np.random.default_rng(0).standard_t(3, 4_000)
    k, size, delta = 45, 160, 0.01
    found = dm.mean(x, blocks=with_replacement(k, size), rng=7)
    key = stream_key(resolve_seed(7)[0], "monte_carlo")
    drawn = [x[leaf_sample(key, b, 0, x.size, size, replace=True)] for b in range(k)]
    np.testing.assert_allclose(found.block_estimates, [d.mean() for d in drawn], rtol=1e-12)
    assert found.estimate == np.sort(found.block_estimates)[(k - 1) // 2]
    sigma2 = np.sort([d.var(ddof=1) for d in drawn])[(k - 1) // 2]
    n = x.size
    variance = sigma2 * (1 / n + (1 - 1 / n) / size)
    a = 1 / (1 - (1 - 1 / n) ** size)
    half = math.sqrt(variance / resampled_p(k, a, delta))
    assert found.interval == pytest.approx((found.estimate - half, found.estimate + half), rel=1e-9)
    assert (found.interval_kind, found.interval_reason, found.scheme) == ("cantelli", None, "monte_carlo")


@pytest.mark.parametrize("replaced", [False, True])
def test_unequal_samples_take_the_worse_of_both_sizes(replaced: bool) -> None:
    """Nulls make the samples differ: the smallest has the largest variance, the largest uses most rows."""
    g = np.random.default_rng(1)
    x = pa.array(g.normal(size=3_000), mask=g.random(3_000) < 0.5)
    found = dm.mean(pa.table({"x": x}), blocks=dm.SampledBlocks(25, 100, replace=replaced), rng=0)
    low, high = found.block_size
    assert low < high and found.interval is not None
    n = found.n_used
    values = np.array(x.drop_null())
    spread = (1 / n + (1 - 1 / n) / low) if replaced else 1 / low
    a = 1 / (1 - (1 - 1 / n) ** high) if replaced else n / high
    half = (found.interval[1] - found.interval[0]) / 2
    # the scale is the median of 25 variances of 50 rows: within 25% of the lake's
    assert half**2 * resampled_p(25, a, 0.01) / spread == pytest.approx(values.var(), rel=0.25)


def test_a_filter_is_allowed_for(tmp_path: Path) -> None:
    """Valid rows are counted first: a block holds about the rows asked for of those that pass."""
    for i in range(4):
        write(tmp_path / f"{i}.parquet", {"x": np.arange(1000.0), "u": np.arange(1000) % 4})
    found = dm.mean(tmp_path, "x", where="u = 1", blocks=with_replacement(9, 200), rng=0)
    # binomial: 800 draws of which a quarter pass, standard deviation 12
    assert (found.n_rows, found.n_used) == (1000, 1000)
    assert 130 < found.block_size[0] <= 200 <= found.block_size[1] < 270
    with pytest.raises(dm.NoAnswerError, match="filter"):
        dm.mean(tmp_path, "x", where="u = 9", blocks=with_replacement(9, 10), rng=0)


def test_nulls_groups_and_rare_groups(tmp_path: Path) -> None:
    lake = dirty_lake(tmp_path)
    found = dm.mean(lake, "x", by="key", blocks=with_replacement(9, 400), rng=0)
    once = dm.mean(lake, "x", by="key", rng=0)
    for mine, other in zip(found, once, strict=True):
        assert (mine.n_used, mine.n_null, mine.n_nan, mine.n_inf) == (
            other.n_used,
            other.n_null,
            other.n_nan,
            other.n_inf,
        )
    rare = pa.table({"x": np.arange(1000.0), "g": ["rare"] + ["common"] * 999})
    common, lone = dm.mean(rare, "x", by="g", blocks=with_replacement(3, 10), rng=0)
    assert common.status == "ok" and lone.flags == ("no rows",) and np.isnan(lone.estimate)


@pytest.mark.slow
def test_a_lost_row_is_an_expected_row(tmp_path: Path) -> None:
    """Numbers of used rows are binomial, not hypergeometric: 800 of 2,000 rows, of which half are null."""
    x = pa.array([None if i % 2 else float(i) for i in range(2_000)])
    write(tmp_path / "a.parquet", {"x": x})
    spread = {}
    for replaced in (False, True):
        sizes = []
        for seed in range(40):
            found = dm.mean(tmp_path, blocks=dm.SampledBlocks(21, 800, replace=replaced), rng=seed)
            sizes.append(found.block_size)
        spread[replaced] = np.mean([high - low for low, high in sizes])
    # the range of 21 normal values is 3.8 standard deviations: 14.1 (binomial), 10.9 (hypergeometric)
    assert spread[True] == pytest.approx(3.8 * stats.binom(800, 0.5).std(), rel=0.12)
    assert spread[False] == pytest.approx(3.8 * stats.hypergeom(2_000, 1_000, 800).std(), rel=0.12)


def test_the_numbers_of_the_proposition_and_their_cost() -> None:
    """K B = 4 tau^2 n / (9 (1/2 - tau)^2): 36 n at tau = 0.45, told before anything is drawn."""
    x = np.zeros(100_000)
    told = dm.explain(dm.mean, x, blocks=dm.SampledBlocks(replace=True))
    assert (told["n_blocks"], told["block_size"]) == (1_060, 3_397)
    assert told["rows_drawn"] == 1_060 * 3_397 and told["rows_drawn_per_row"] == pytest.approx(36, abs=0.1)
    less = dm.explain(dm.mean, x, blocks=dm.SampledBlocks(tau=0.3, replace=True))
    assert less["rows_drawn_per_row"] == pytest.approx(1.0, abs=0.03)
    assert dm.explain(dm.mean, x)["rows_drawn"] is None
    engines = {
        n: dm.explain(dm.mean, np.zeros(n), blocks=dm.SampledBlocks(replace=True))["engine"]
        for n in (100_000, 200_000)
    }
    assert engines == {100_000: "numpy", 200_000: "compiled"}, "7 million draws are worth the import"
    with pytest.raises(dm.ConfigError, match=r"^blocks: tau: 0\.4999: at most 1,000,000 blocks"):
        dm.mean(x, blocks=dm.SampledBlocks(tau=0.4999, replace=True))


def test_no_interval_where_there_is_none() -> None:
    x = np.random.default_rng(0).normal(size=2_000)
    one = dm.mean(x, blocks=with_replacement(9, 1), rng=0)
    assert one.interval is None and one.interval_reason == "samples of one row have no variance"
    assert dm.mean(x, blocks=with_replacement(9, 50), interval="none", rng=0).interval is None
    x[0] = np.inf
    non_finite = dm.mean(x, blocks=with_replacement(15, 400), rng=2)
    assert (
        non_finite.n_non_finite_blocks
        and non_finite.interval is None
        and "non-finite" in str(non_finite.interval_reason)
    )
