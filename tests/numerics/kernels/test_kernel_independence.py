"""100,000 independent rows give statistics near 0 and exact numbers of pairs; dependent ones do not."""

import math

import numpy as np
import pytest
from kernel_twins import statistic

from distmom.numerics.kernels import catalogue
from distmom.numerics.kernels.evaluate import block_sums
from distmom.numerics.kernels.named import named

N = 100_000


def noise(seed, n=N):
    return np.random.default_rng(seed).normal(size=n)


def test_energy_and_mmd_of_equal_distributions_are_near_zero():
    """Degenerate: sd sqrt(8 sigma_2^2) / n, sigma_2^2 < 1; beyond 20 sd with probability below exp(-14)."""
    for kernel in (catalogue.energy(), catalogue.mmd(1.0, "laplace")):
        x, y, moved = (kernel.as_sample(v) for v in (noise(1), noise(2), noise(2) + 0.2))
        limit = 20 * math.sqrt(8) / N
        found = block_sums(kernel, x, y)
        assert [part.n_tuples for part in found] == [4_999_950_000, 4_999_950_000, 10_000_000_000]
        assert abs(statistic(kernel, found)) < limit
        assert statistic(kernel, block_sums(kernel, x, moved, rows=False)) > 5 * limit  # negative control


def test_mmd_by_tiles_of_equal_distributions_is_near_zero():
    kernel, n = catalogue.mmd(1.0), 6_000
    x, y = np.random.default_rng(3).normal(size=(2, n, 3))
    limit = 20 * math.sqrt(8) / n
    assert abs(statistic(kernel, block_sums(kernel, x, y))) < limit
    assert statistic(kernel, block_sums(kernel, x, y * 2.0)) > 5 * limit  # negative control


@pytest.mark.parametrize("name", ["kendall", "kendall-b"])
def test_kendall_of_independent_columns_is_near_zero(name):
    """Beyond six standard deviations with probability 2e-9."""
    kernel, limit = named(name), 6 * math.sqrt(2 * (2 * N + 5) / (9 * N * (N - 1)))
    x, y = noise(4), np.round(noise(5), 1)
    found = block_sums(kernel, np.column_stack([x, y]))
    assert found[0].n_tuples == 4_999_950_000
    assert abs(statistic(kernel, found)) < limit
    assert (
        statistic(kernel, block_sums(kernel, np.column_stack([x, y + x / 5]))) > 5 * limit
    )  # negative control


def test_auc_and_concordance_of_equal_distributions_are_near_one_half():
    """The standard deviation of the area is sqrt((2 N + 1) / (12 N^2)); six of them."""
    limit = 6 * math.sqrt((2 * N + 1) / (12 * N * N))
    (area,) = block_sums(catalogue.auc(), noise(6), noise(7))
    assert area.n_tuples == 10_000_000_000 and abs(area.mean - 0.5) < limit
    labelled = np.column_stack([np.repeat([0.0, 1.0], N), np.concatenate([noise(6), noise(7)])])
    kernel = catalogue.concordance()
    assert statistic(kernel, block_sums(kernel, labelled)) == pytest.approx(area.mean, rel=1e-14)
    assert block_sums(catalogue.auc(), noise(6), noise(7) + 0.1)[0].mean - 0.5 > 2 * limit  # negative control
