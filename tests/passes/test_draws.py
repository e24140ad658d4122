"""Blocks that are samples of rows: the rows of sampled means, gathered and evaluated block by block."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gather_lakes import all_rows, row_source
from kernel_twins import statistic
from mean_lakes import dirty_lake

import distmom as dm
from distmom.errors import ConfigError, NoAnswerError
from distmom.numerics.kernels.evaluate import block_sums
from distmom.numerics.random.philox import resolve_seed
from distmom.numerics.samples.row_samples import RowSamples
from distmom.passes import draws
from distmom.passes.draws import BlockRows, draw_rows, evaluate_draws
from distmom.passes.gather import RowSource
from distmom.reductions.rows.gather import ABSENT


@dataclass(frozen=True)
class Evaluate:
    """Size, mean and U-statistic of every block."""

    kernel: Any

    def __call__(self, blocks: BlockRows) -> np.ndarray:
        found = []
        for k in range(blocks.n_cells):
            rows = blocks.rows(k)
            value = statistic(self.kernel, block_sums(self.kernel, self.kernel.as_sample(rows)))
            found.append([len(rows), rows[:, 0].mean() if len(rows) else np.nan, value])
        return np.array(found)

    def merge(self, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        return np.concatenate([left, right])


def evaluated(
    finish: Evaluate, source: RowSource, seed: int, n_blocks: int, size: int, **how: Any
) -> np.ndarray:
    """What is made of the blocks that are drawn from one lake."""
    plan = draw_rows([source.rows], [seed], n_blocks, [size], **how)
    found: np.ndarray
    (found,) = evaluate_draws(finish, plan, [source])
    return found


GINI = Evaluate(dm.kernels.gini())


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return dirty_lake(tmp_path_factory.mktemp("blocks"))


@pytest.mark.parametrize("replace", [False, True])
@pytest.mark.parametrize("where", [None, "u > 0.3"])
def test_blocks_are_those_of_the_sampled_mean(lake: Path, replace: bool, where: str | None) -> None:
    n = len(all_rows(lake, ["y"])[0])
    with row_source(lake, "y", where=where) as source:
        design = dm.SampledBlocks(9, 120, replace=replace)
        mean = dm.mean(lake, "y", blocks=design, where=where, rng=3)
        seed = resolve_seed(3)[0]
        share = 1.0 if where is None else (all_rows(lake, ["u"])[0] > 0.3).mean()
        drawn = round(120 / share)  # rows are drawn before they are filtered: in proportion more
        found = evaluated(GINI, source, seed, 9, drawn, replace=replace)
        plan = draw_rows([source.rows], [seed], 9, [drawn], replace=replace)
        ((one,),) = plan.gathered([source])
    np.testing.assert_allclose(found[:, 1], mean.block_estimates, rtol=1e-12)
    sizes = found[:, 0]
    assert (sizes.min(), sizes.max()) == mean.block_size
    assert one.wanted.size <= n and bool((one.rows.fates == ABSENT).any()) == (where is not None)


def test_each_block_is_evaluated_from_its_rows(lake: Path) -> None:
    values, _ = all_rows(lake, ["x", "y"])
    kendall = Evaluate(dm.kernels.kendall())
    with row_source(lake, ["x", "y"]) as source:
        found = evaluated(kendall, source, 5, 6, 200)
        numbers = RowSamples(5, source.rows, 200).numbers(0, 6)
    for k, block in enumerate(numbers):
        rows = values[block][~np.isnan(values[block]).any(axis=1)]
        right = statistic(kendall.kernel, block_sums(kendall.kernel, np.ascontiguousarray(rows)))
        assert found[k, 0] == len(rows) < 200 and found[k, 2] == right


def test_passes_and_chunks_change_nothing(lake: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with row_source(lake, "y") as source:
        right = evaluated(GINI, source, 5, 11, 90)
        monkeypatch.setattr(draws, "MOST_ROWS", 400)
        monkeypatch.setattr(draws, "CHUNK_BYTES", 10)
        assert draw_rows([source.rows], [5], 11, [90]).passes == 3
        found = evaluated(GINI, source, 5, 11, 90, compiled=False)
    assert np.array_equal(found, right)


def test_what_is_refused() -> None:
    with row_source({"x": np.arange(5.0)}) as source, pytest.raises(ConfigError, match="use at most 5"):
        evaluated(GINI, source, 0, 3, 6)
    with row_source({"x": np.arange(0.0)}) as source, pytest.raises(NoAnswerError, match="no rows"):
        evaluated(GINI, source, 0, 3, 6)


DISTRIBUTIONS: dict[str, tuple[Callable[[np.random.Generator, Any], np.ndarray], float]] = {
    "normal": (lambda g, shape: g.normal(size=shape), 1.0),
    "student": (lambda g, shape: g.standard_t(3, shape), 3.0),
    "lognormal": (lambda g, shape: g.lognormal(size=shape), (np.e - 1.0) * np.e),
    "pareto": (lambda g, shape: g.pareto(3, shape), 0.75),
}


@pytest.mark.parametrize(
    ("distribution", "right", "partition"),
    [
        ("normal", 0.00494, 0.00311),
        ("student", 0.451, 0.3803),
        ("lognormal", 2.09, 1.621),
        ("pareto", 0.1000, 0.0929),
    ],
)
@pytest.mark.one_in(2)
def test_risk_of_the_median_of_randomized_u_statistics(
    distribution: str, right: float, partition: float
) -> None:
    """11 samples of 90 of 1,000 rows: the published setting, as it is reproduced over 20,000 replications.

    The bound is five standard errors of both simulations: 1e-6.
    """
    n_data = 6_000
    draw, variance = DISTRIBUTIONS[distribution]
    numbers = RowSamples(7, np.array([1000]), 90, compiled=True).numbers(0, 11 * n_data)
    g = np.random.default_rng(8)
    errors = np.empty(n_data)
    for r in range(n_data):
        blocks = draw(g, 1000)[numbers[11 * r : 11 * r + 11]]
        errors[r] = np.sort(blocks.var(axis=1, ddof=1))[5] - variance
    one = block_sums(dm.kernels.variance(), blocks[0])[0].mean  # which that is, in closed form
    assert np.isclose(blocks[0].var(ddof=1), one, rtol=1e-12)
    risk, spread = (errors**2).mean(), (errors**2).std()
    error = spread * np.sqrt(1 / n_data + 1 / 20_000)
    assert abs(risk - right) < 5.0 * error
    if distribution == "normal":
        assert abs(risk - partition) > 5.0 * error
