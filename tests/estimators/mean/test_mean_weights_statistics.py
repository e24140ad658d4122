"""Coverage of weighted intervals and the variance behind them; each with a control that must fail.

Seeds are fixed; a comment beside each threshold says how probable a failure was before the seed was chosen.
"""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa
import pytest

import distmom as dm
from distmom.numerics.blocks.cells import Cells

REPETITIONS, N = 1_000, 990
DISTRIBUTIONS = {
    "normal": (lambda g, size: g.normal(size=size), 0.0),
    "student": (lambda g, size: g.standard_t(3, size), 0.0),
    "lognormal": (lambda g, size: g.lognormal(size=size), math.exp(0.5)),
    "pareto": (lambda g, size: 1.0 + g.pareto(3.0, size), 1.5),
}


def repeated_draws(distribution: str, *, noisy: bool, bad_rows: int = 0) -> pa.Table:
    """Repetitions as groups: log-normal weights; with `noisy` the spread of a row grows with its weight."""
    draw, mean = DISTRIBUTIONS[distribution]
    g = np.random.default_rng([4, list(DISTRIBUTIONS).index(distribution), noisy])
    w = g.lognormal(0.0, 1.0, (REPETITIONS, N))
    x = (draw(g, w.shape) - mean) * (np.sqrt(w) if noisy else 1.0)
    x[:, :bad_rows] = 1e6
    x = g.permuted(x, axis=1) if bad_rows else x
    return pa.table({"x": x.ravel(), "w": w.ravel(), "rep": np.repeat(np.arange(REPETITIONS), N)})


def covered(found: dm.Results) -> int:
    intervals = [r.interval for r in found]
    assert all(i is not None for i in intervals)
    return sum(low <= 0.0 <= high for low, high in intervals)  # type: ignore[misc]


@pytest.mark.parametrize("noisy", [False, True], ids=["even spread", "spread by weight"])
@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
@pytest.mark.one_in(9)
def test_intervals_cover(distribution: str, noisy: bool) -> None:
    """The expectation weighted by w is 0, whatever the spread of a row."""
    table = repeated_draws(distribution, noisy=noisy)
    exact, order = (
        dm.mean(table, "x", weights="w", by="rep", interval=kind, confidence_level=0.95, rng=1)
        for kind in ("cantelli", "order")
    )
    assert isinstance(exact, dm.Results) and isinstance(order, dm.Results)
    # P(Bin(1000, 0.05) > 87) < 2e-7: the Cantelli interval holds at its level
    assert covered(exact) >= REPETITIONS - 87
    # the order interval covers the median of a block's value, which skewness moves away from its mean
    # (0.86 for Pareto with the spread by weight): P(Bin(1000, 0.08) > 125) < 1e-6
    if distribution in ("normal", "student"):
        assert covered(order) >= REPETITIONS - 87
    elif not noisy:
        assert covered(order) >= REPETITIONS - 125


@pytest.mark.parametrize("distribution", ["normal", "lognormal"])
@pytest.mark.slow
def test_intervals_cover_beside_outlying_rows(distribution: str) -> None:
    """Three outlying rows of 990; the plain weighted mean, the control, is lost in every repetition."""
    table = repeated_draws(distribution, noisy=False, bad_rows=3)
    found = dm.mean(table, "x", weights="w", by="rep", interval="cantelli", confidence_level=0.95, rng=1)
    assert isinstance(found, dm.Results)
    assert covered(found) >= REPETITIONS - 87  # as above
    assert max(abs(r.estimate) for r in found) < 1.5 < 10.0 < min(abs(r.plain_estimate) for r in found)


def blocks(
    noisy: bool, *, n_blocks: int = 6_000, size: int = 100
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Values of blocks of centred normal rows with log-normal weights, their variances, and naive ones."""
    g = np.random.default_rng([1, noisy])
    n = n_blocks * size
    w = g.lognormal(0.0, 1.0, n)
    x = g.normal(size=n) * (np.sqrt(w) if noisy else 1.0)
    at = np.repeat(np.arange(n_blocks), size)
    cells = Cells(weighted=True, compiled=True)
    cells.grow(n_blocks)
    cells.add(x, None, at, w)
    found = cells.moments(n_blocks)
    naive = np.bincount(at, w * (x - found.mean[at]) ** 2) / found.weight / (size - 1)
    return found.mean, found.row_variance / found.effective, naive


@pytest.mark.parametrize("noisy", [False, True], ids=["even spread", "spread by weight"])
def test_the_variance_of_a_block_is_that_of_its_value(noisy: bool) -> None:
    """A block of 100 rows, 42 of them effective, misses by 1.96 of its own standard deviations in 6%.

    The control is the second moment with the weights themselves, over the number of rows: it takes all rows
    for effective, and misses four to six times as often.
    """
    mean, variance, naive = blocks(noisy)
    missed, fooled = (np.mean(np.abs(mean) > 1.96 * np.sqrt(v)) for v in (variance, naive))
    # a share of 0.065 of 6000 has standard deviation 0.0032: 0.045 and 0.085 are six of them away
    assert 0.045 < missed < 0.085
    assert fooled > 0.2
    # on average it is the variance, up to the term 1/n; the naive one is e or e^2 times too small
    assert 0.75 < variance.mean() / mean.var() < 1.05 and naive.mean() / mean.var() < 0.45


def test_the_divisor_counts_effective_rows() -> None:
    """For given weights and equal variances: never too large on average, and nearer than with n - 1 rows."""
    g = np.random.default_rng(3)
    for spread in (0.1, 0.5, 1.0, 2.0):
        for n in (3, 10, 100):
            w = g.lognormal(0.0, spread, n)
            whole, w2, w3 = w.sum(), (w**2).sum(), (w**3).sum()
            effective = whole**2 / w2
            # E sum w^2 (x - m)^2 / sum w^2, for rows of variance 1
            expected = 1.0 - 2.0 * w3 / (whole * w2) + w2 / whole**2
            ours, theirs = (expected * k / (k - 1.0) for k in (max(effective, 2.0), n))
            assert theirs <= ours + 1e-12 and ours <= 1.0 + 1e-12
