"""Several random partitions: which rows form their blocks, what the median over them gains, what it costs."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from mean_lakes import same, write

import distmom as dm
from distmom.numerics.blocks.labels import file_key, label_table, labels, repeat_key, repeat_seed
from distmom.numerics.random.philox import resolve_seed
from distmom.theory.ladder import fine_blocks

SEED = 5


def test_block_means_are_those_of_the_labels(tmp_path: Path) -> None:
    """Each partition has labels of its own; the first ones are those of the run without repeats."""
    n_blocks, repeats = 93, 3
    n_fine = fine_blocks(n_blocks)
    x = np.random.default_rng(0).normal(size=4 * n_fine)
    write(tmp_path / "a.parquet", {"x": x})
    found = dm.mean(tmp_path, rng=SEED, blocks=dm.RandomBlocks(n_blocks, repeats=repeats))
    seed, _ = resolve_seed(SEED)
    own = file_key(seed, "a.parquet")
    right = []
    for r in range(repeats):
        table = label_table(repeat_seed(seed, r), n_fine)
        fine = labels(0, x.size, repeat_key(own, seed, r), table)
        coarse = fine // (n_fine // n_blocks)
        right += [x[coarse == k].mean() for k in range(n_blocks)]
    np.testing.assert_allclose(found.block_estimates, right, rtol=1e-12, atol=1e-14)
    assert found.estimate == pytest.approx(sorted(right)[(repeats * n_blocks - 1) // 2])
    assert (found.n_blocks, found.repeats) == (n_blocks, repeats)
    once = dm.mean(tmp_path, rng=SEED, blocks=n_blocks)
    assert np.array_equal(once.block_estimates, found.block_estimates[:n_blocks])


def test_five_repetitions_with_one_seed_are_five_partitions(tmp_path: Path) -> None:
    """An integer seed made every repetition of a shuffled split identical, so repeats added nothing."""
    write(tmp_path / "a.parquet", {"x": np.arange(10_000.0)})
    found = dm.mean(tmp_path, rng=0, blocks=dm.RandomBlocks(7, repeats=5))
    parts = found.block_estimates.reshape(5, 7)
    assert len({tuple(sorted(p)) for p in parts.tolist()}) == 5
    assert found == dm.mean(tmp_path, rng=0, blocks=dm.RandomBlocks(7, repeats=5))
    more = dm.mean(tmp_path, rng=0, blocks=dm.RandomBlocks(7, repeats=9))
    assert np.array_equal(more.block_estimates[:35], found.block_estimates)
    other = dm.mean(tmp_path, rng=1, blocks=dm.RandomBlocks(7, repeats=5))
    assert not np.intersect1d(other.block_estimates, found.block_estimates).size


def test_one_partition_is_the_default() -> None:
    x = np.random.default_rng(0).normal(size=3_000)
    assert same(dm.mean(x, rng=0), dm.mean(x, rng=0, blocks=dm.RandomBlocks(repeats=1)))
    assert dm.mean(x, rng=0).repeats == 1


def test_what_is_said_is_said_of_the_first_partition() -> None:
    g = np.random.default_rng(1)
    x = g.lognormal(size=20_000)
    x[g.integers(0, x.size, 30)] = 1e7
    once, five = dm.mean(x, rng=3), dm.mean(x, rng=3, blocks=dm.RandomBlocks(repeats=5))
    assert once.flags == five.flags == ("contaminated",)
    assert (once.n_screened_out, once.path) == (five.n_screened_out, five.path)
    assert abs(five.estimate - math.exp(0.5)) < 0.1 and five.interval is not None
    assert five.interval_kind == "cantelli" and five.interval[0] < math.exp(0.5) < five.interval[1]


def test_groups_have_partitions_too() -> None:
    g = np.random.default_rng(0)
    table = pa.table(
        {"x": g.normal(size=9_000), "g": g.choice(["a", "b", "c"], 9_000, p=[0.6, 0.399, 0.001])}
    )
    found = dm.mean(table, "x", by="g", rng=0, blocks=dm.RandomBlocks(repeats=4))
    once = dm.mean(table, "x", by="g", rng=0)
    for five, one in zip(found, once, strict=True):
        if one.status == "ok":
            assert five.block_estimates.size == 4 * five.n_blocks
            # the state of groups keeps neighbouring fine blocks together: the first partition is the same one
            assert np.array_equal(five.block_estimates[: one.n_blocks], one.block_estimates)
        else:
            assert five.flags == one.flags == ("sample mean, no guarantee",)
            assert five.estimate == one.estimate and five.interval is None and five.interval_reason


def test_a_run_with_many_partitions_needs_their_memory(tmp_path: Path) -> None:
    write(tmp_path / "a.parquet", {"x": np.arange(5_000.0)})
    limit = "160MB"
    assert (
        dm.mean(
            tmp_path, rng=0, blocks=dm.RandomBlocks(repeats=5), executor=dm.Threads(1, memory_limit=limit)
        ).n_used
        == 5_000
    )
    with pytest.raises(dm.ResourceError, match="projected memory"):
        dm.mean(
            tmp_path, rng=0, blocks=dm.RandomBlocks(repeats=500), executor=dm.Threads(1, memory_limit=limit)
        )
    with pytest.raises(dm.ConfigError, match=r"repeats: 2000 of 945 fine blocks: at most 1,000,000"):
        dm.mean(tmp_path, rng=0, blocks=dm.RandomBlocks(repeats=2_000))
    with pytest.raises(dm.ConfigError, match="repeats"):
        dm.mean(tmp_path, rng=0, blocks=dm.RandomBlocks(repeats=0))


def test_non_finite_blocks_widen_the_interval_and_then_leave_none() -> None:
    g = np.random.default_rng(0)
    x = g.normal(size=1_050)
    widths = []
    for n_bad in (0, 1, 2):
        y = x.copy()
        y[:n_bad] = np.inf
        found = dm.mean(y, rng=0, blocks=dm.RandomBlocks(15, repeats=3))
        assert found.n_non_finite_blocks <= n_bad and found.interval is not None
        widths.append(found.interval[1] - found.interval[0])
    assert widths[0] < widths[1] < widths[2]
    y[:60] = np.inf
    with pytest.raises(dm.NoAnswerError, match="of 15 blocks are non-finite"):
        dm.mean(y, rng=0, blocks=dm.RandomBlocks(15, repeats=3))


def risks(repeats: int, n_replications: int, n: int = 1_050, seed: int = 0) -> dict[str, tuple[float, float]]:
    """n MSE / sigma^2 of 7 blocks, with its standard error, for two distributions.

    The sample mean's is exactly 1, and its error is nearly that of the median of means: so the difference of
    the squared errors is taken, which has a fraction of the noise.
    """
    g = np.random.default_rng(seed)
    distributions = {
        "normal": (g.normal(size=(n_replications, n)), 0.0, 1.0),
        "lognormal": (g.lognormal(size=(n_replications, n)), math.exp(0.5), math.expm1(1) * math.e),
    }
    columns = {name: x.ravel() for name, (x, _, _) in distributions.items()}
    table = pa.table({"rep": np.repeat(np.arange(n_replications), n), **columns})
    found = dm.mean(
        table,
        list(distributions),
        by="rep",
        interval="none",
        rng=seed,
        blocks=dm.RandomBlocks(7, repeats=repeats),
    )
    out = {}
    for name, (x, mean, variance) in distributions.items():
        estimates = np.array([r.estimate for r in found if r.column == name])
        difference = ((estimates - mean) ** 2 - (x.mean(axis=1) - mean) ** 2) * n / variance
        out[name] = (1.0 + difference.mean(), difference.std() / math.sqrt(n_replications))
    return out


@pytest.mark.slow
def test_five_partitions_have_nearly_the_risk_of_the_sample_mean() -> None:
    """At most 1.1 for five partitions into 7 blocks of 150 rows, where one has 1.47 (normal).

    A risk of 1.1 or less is exceeded by 4.5 standard errors (0.01) with probability 3e-6. With 48,000
    replications it was 1.093 +- 0.003 (normal) and 1.064 +- 0.003 (lognormal).
    """
    five, once = risks(5, 4_000), risks(1, 4_000)
    for name in five:
        assert five[name][0] <= 1.1 + 4.5 * five[name][1], (name, five)
        assert once[name][0] - 4.5 * once[name][1] > 1.2, (name, once)  # negative control


@pytest.mark.slow
def test_risk_of_many_partitions() -> None:
    """Five: at most 1.1, to 0.5%. 25 partitions: 1.02 and 0.99, within five standard errors."""
    five = [risks(5, 8_000, seed=seed) for seed in (10, 11)]
    for name in five[0]:
        assert sum(risk[name][0] for risk in five) / 2 <= 1.1, name
    many = risks(25, 4_000, seed=1)
    assert abs(many["normal"][0] - 1.02) < 5 * many["normal"][1] + 0.01
    assert abs(many["lognormal"][0] - 0.99) < 5 * many["lognormal"][1] + 0.01
