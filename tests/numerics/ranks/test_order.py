"""Exact counts of concordant, discordant and tied pairs, both twins, also where products pass 2**31."""

import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kernel_twins import statistic
from scipy import stats

from distmom.numerics.kernels import catalogue
from distmom.numerics.kernels.evaluate import block_sums
from distmom.numerics.ranks import order
from distmom.numerics.ranks.order import OrderCounts, dense_ranks, lesser_before, order_counts


def slow_counts(x, y):
    """All pairs by comparison."""
    s, t = np.sign(x[:, None] - x), np.sign(y[:, None] - y)
    other = ~np.eye(x.size, dtype=bool)
    kinds = (s * t > 0, s * t < 0, (s == 0) & other, (t == 0) & other, (s == 0) & (t == 0) & other)
    return [kind.sum(axis=1) for kind in kinds]


@given(st.integers(1, 90), st.integers(1, 100), st.integers(1, 100), st.integers(0, 2**32 - 1))
def test_counts_are_those_of_all_pairs(n, x_values, y_values, seed):
    rng = np.random.default_rng(seed)
    x, y = rng.integers(0, x_values, n).astype(float), rng.integers(0, y_values, n).astype(float)
    slow = slow_counts(x, y)
    for compiled in (False, True):
        pairs, by_row = order_counts(x, y, rows=True, compiled=compiled)
        assert all(np.array_equal(a, b) for a, b in zip(by_row, slow, strict=True))
        assert pairs == OrderCounts(*(int(rows.sum()) // 2 for rows in slow))
        assert order_counts(x, y, rows=False, compiled=compiled) == (pairs, None)


@pytest.mark.parametrize("kind", ["random", "tied", "sorted", "reversed", "constant"])
def test_both_twins_count_alike_on_larger_blocks(kind):
    rng = np.random.default_rng(3)
    x, y = rng.normal(size=5000), rng.normal(size=5000)
    if kind == "tied":
        x, y = np.round(x), np.round(y, 1)
    elif kind != "random":
        y = {"sorted": x, "reversed": -x, "constant": np.ones(5000)}[kind]
    one, other = (order_counts(x, y, rows=True, compiled=compiled) for compiled in (False, True))
    assert one[0] == other[0] and all(np.array_equal(a, b) for a, b in zip(one[1], other[1], strict=True))
    tau = (one[0].concordant - one[0].discordant) / (5000 * 4999 / 2)
    assert tau == block_sums(catalogue.kendall(), np.column_stack([x, y]))[0].mean


@given(st.lists(st.integers(0, 40), min_size=1, max_size=60))
def test_lesser_ones_before(values):
    ranks, starts = dense_ranks(np.array(values, float))
    slow = [sum(v < values[i] for v in values[:i]) for i in range(len(values))]
    assert lesser_before(ranks, starts.size - 1).tolist() == slow


def test_pairs_beyond_32_bits_are_exact():
    n = 70_000
    x = np.arange(n, dtype=float)
    (tau,) = block_sums(catalogue.kendall(), np.column_stack([x, x]))
    assert (tau.n_tuples, tau.mean) == (2_449_965_000, 1.0)
    tied = np.column_stack([x, x // 7])
    kernel = catalogue.kendall_b()
    found = statistic(kernel, block_sums(kernel, tied))
    assert 0 < found <= 1
    assert found == pytest.approx(stats.kendalltau(x, x // 7).statistic, rel=1e-12)
    reverse = np.column_stack([x, -x])
    assert block_sums(catalogue.kendall(), reverse)[0].mean == -1.0
    (risk,) = block_sums(catalogue.ranking(), reverse)
    assert (risk.n_tuples, risk.mean) == (2_449_965_000, 1.0)


@given(st.integers(2, 60), st.integers(0, 2**32 - 1))
def test_monotone_changes_of_a_column_do_not_matter(n, seed):
    rng = np.random.default_rng(seed)
    x, y = np.round(rng.normal(size=(2, n)), 1)
    y[0] = np.inf
    one, other = (
        block_sums(catalogue.kendall_b(), np.column_stack(c)) for c in ((x, y), (x**3, np.arctan(y)))
    )
    assert [p.mean for p in one] == [p.mean for p in other]


def test_small_groups_are_a_matter_of_speed(monkeypatch):
    """Without the compiled twin's short cut the NumPy twin counts by bits down to the last one."""
    rng = np.random.default_rng(4)
    x, y = rng.normal(size=(2, order.COMPILE))
    assert order_counts(x, y, rows=False)[0] == order_counts(x, y, rows=False, compiled=False)[0]


@pytest.mark.slow
def test_a_cache_on_disk_serves_processes_that_ask_for_different_kernels(tmp_path):
    """Each process finds what the one before it has compiled, and compiles more that calls the same code."""
    code = (
        "import sys, numpy as np\n"
        "from distmom.numerics.ranks.order import order_counts\n"
        "x = np.arange(500.0)\n"
        "print(order_counts(x, x, rows=sys.argv[1] == 'rows', compiled=True)[0].concordant)"
    )
    for what in ("whole", "rows", "whole", "rows"):
        run = [sys.executable, "-c", code, what]
        env = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
        done = subprocess.run(run, env=env, capture_output=True, text=True, timeout=300)
        assert done.stdout.strip() == str(500 * 499 // 2), done.stderr
