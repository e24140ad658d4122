"""Disjoint pairs: each row once, at random within blocks, also of a sorted column."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from distmom import kernels
from distmom.numerics.blocks.labels import file_key, label_table, labels
from distmom.numerics.kernels.tuples import TupleMoments
from distmom.passes.draws import BlockRows
from distmom.reductions.rows.tuple_kernel import TupleKernel

FIVE_SIGMA = 5.0  # of a normal distribution: 6e-7
GINI = kernels.gini()


def blocks_of(x: np.ndarray, n_blocks: int, seed: int = 0) -> BlockRows:
    """A column as one file in random blocks."""
    found = labels(0, x.size, file_key(seed, ""), label_table(seed, n_blocks))
    order = np.argsort(found, kind="stable")
    edges = np.concatenate([[0], np.cumsum(np.bincount(found, minlength=n_blocks))])
    return BlockRows(x[order][:, None], edges)


def test_a_sorted_column_does_not_mislead() -> None:
    x = np.sort(np.random.default_rng(0).normal(size=50_000))
    mean = 2.0 / np.sqrt(np.pi)  # 1.128
    error = np.sqrt((2.0 - mean**2) / 25_000)
    random = TupleKernel(GINI, 1)(blocks_of(x, 11))
    assert random.count.sum() >= 25_000 - 11
    assert abs(np.average(random.values(GINI), weights=random.count) - mean) < FIVE_SIGMA * error
    assert abs(np.sort(random.values(GINI))[5] - mean) < FIVE_SIGMA * error * np.sqrt(np.pi / 2)


def test_blocks_of_the_same_rows_have_pairs_of_their_own() -> None:
    x = np.arange(100.0)[:, None]
    found = TupleKernel(GINI, 1)(BlockRows(np.concatenate([x, x]), np.array([0, 100, 200])))
    assert found.mean[0] != found.mean[1]


@given(st.lists(st.integers(0, 9), min_size=1, max_size=5), st.integers(0, 2**64), st.sampled_from([2, 3]))
def test_every_row_is_in_one_tuple_at_most(sizes: list[int], seed: int, degree: int) -> None:
    edges = np.concatenate([[0], np.cumsum(sizes)])
    rows = BlockRows(2.0 ** np.arange(edges[-1])[:, None], edges)
    total = kernels.kernel(sum_of_two if degree == 2 else sum_of_three, degree=degree)
    found = TupleKernel(total, seed)(rows)
    same = TupleKernel(total, seed, compiled=True)(rows)
    assert np.array_equal(found.mean, same.mean, equal_nan=True)
    assert found.count.tolist() == [n // degree for n in sizes]
    for c, n in enumerate(sizes):
        if n >= degree:  # a sum of distinct powers of two, each from this block
            bits = round(float(found.mean[c, 0]) * (n // degree))
            assert bits.bit_count() == n // degree * degree
            assert bits & ~int(rows.rows(c).sum()) == 0
    split = [TupleKernel(total, seed)(rows.part(c, c + 1)) for c in range(len(sizes))]
    assert np.array_equal(found.mean, TupleMoments.joined(split).mean, equal_nan=True)


def sum_of_two(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return np.asarray(x + y)


def sum_of_three(x: np.ndarray, y: np.ndarray, z: np.ndarray) -> np.ndarray:
    return np.asarray(x + y + z)


def test_risk_of_the_mean_over_half_as_many_pairs() -> None:
    """500 pairs of 1,000 normal rows, h = (x - y)^2/2: 2/500, published as 0.00398 by simulation."""
    kernel, g, n_data = TupleKernel(kernels.variance(), 3, compiled=True), np.random.default_rng(4), 4000
    values = np.array([kernel(BlockRows(g.normal(size=(1000, 1)), np.array([0, 1000]))).mean[0, 0]
                       for _ in range(n_data)])  # fmt: skip
    risk = ((values - 1.0) ** 2).mean()
    assert abs(risk - 0.004) < FIVE_SIGMA * 0.004 * np.sqrt(2 / n_data)
    assert abs(risk - 0.00311) > FIVE_SIGMA * 0.004 * np.sqrt(2 / n_data)  # that of complete blocks
