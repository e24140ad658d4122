"""Disjoint pairs: each row once, at random within blocks or by places; what sorted columns do to either."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from gather_lakes import all_rows, row_source
from hypothesis import given
from hypothesis import strategies as st
from mean_lakes import dirty_lake

from distmom import kernels
from distmom.errors import NoAnswerError
from distmom.estimators.ustat import stored_tuples as module
from distmom.estimators.ustat.sampled_blocks import BlockRows
from distmom.estimators.ustat.stored_tuples import stored_tuples
from distmom.numerics.blocks.labels import file_key, label_table, labels
from distmom.numerics.kernels.tuples import TupleMoments
from distmom.reductions.rows.disjoint_kernel import DisjointKernel

FIVE_SIGMA = 5.0  # of a normal law: 6e-7
GINI = kernels.gini()


def blocks_of(x: np.ndarray, n_blocks: int, seed: int = 0) -> BlockRows:
    """A column as one file in random blocks."""
    found = labels(0, x.size, file_key(seed, ""), label_table(seed, n_blocks))
    order = np.argsort(found, kind="stable")
    edges = np.concatenate([[0], np.cumsum(np.bincount(found, minlength=n_blocks))])
    return BlockRows(x[order][:, None], edges)


def test_a_sorted_column_misleads_the_fixed_pairing_only() -> None:
    x = np.sort(np.random.default_rng(0).normal(size=50_000))
    mean = 2.0 / np.sqrt(np.pi)  # 1.128
    error = np.sqrt((2.0 - mean**2) / 25_000)
    random = DisjointKernel(GINI, 1)(blocks_of(x, 11))
    assert random.count.sum() >= 25_000 - 11
    assert abs(np.average(random.values(GINI), weights=random.count) - mean) < FIVE_SIGMA * error
    assert abs(np.sort(random.values(GINI))[5] - mean) < FIVE_SIGMA * error * np.sqrt(np.pi / 2)
    with row_source({"x": x}) as source:
        stored = stored_tuples(GINI, source, 1)
    assert abs(stored.moments.values(GINI)[0] - 2.0 * np.sqrt(2.0 / np.pi)) < 0.02  # 1.596
    with row_source({"x": np.random.default_rng(1).permutation(x)}) as source:
        stored = stored_tuples(GINI, source, 1)
    assert abs(stored.moments.values(GINI)[0] - mean) < FIVE_SIGMA * error


def test_blocks_of_the_same_rows_have_pairs_of_their_own() -> None:
    x = np.arange(100.0)[:, None]
    found = DisjointKernel(GINI, 1)(BlockRows(np.concatenate([x, x]), np.array([0, 100, 200])))
    assert found.mean[0] != found.mean[1]


@given(st.lists(st.integers(0, 9), min_size=1, max_size=5), st.integers(0, 2**64), st.sampled_from([2, 3]))
def test_every_row_is_in_one_tuple_at_most(sizes: list[int], seed: int, degree: int) -> None:
    edges = np.concatenate([[0], np.cumsum(sizes)])
    rows = BlockRows(2.0 ** np.arange(edges[-1])[:, None], edges)
    total = kernels.kernel(sum_of_two if degree == 2 else sum_of_three, degree=degree)
    found = DisjointKernel(total, seed)(rows)
    same = DisjointKernel(total, seed, compiled=True)(rows)
    assert np.array_equal(found.mean, same.mean, equal_nan=True)
    assert found.count.tolist() == [n // degree for n in sizes]
    for c, n in enumerate(sizes):
        if n >= degree:  # a sum of distinct powers of two, each from this block
            bits = round(float(found.mean[c, 0]) * (n // degree))
            assert bits.bit_count() == n // degree * degree
            assert bits & ~int(rows.rows(c).sum()) == 0
    split = [DisjointKernel(total, seed)(rows.part(c, c + 1)) for c in range(len(sizes))]
    assert np.array_equal(found.mean, TupleMoments.joined(split).mean, equal_nan=True)


def sum_of_two(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return np.asarray(x + y)


def sum_of_three(x: np.ndarray, y: np.ndarray, z: np.ndarray) -> np.ndarray:
    return np.asarray(x + y + z)


def test_risk_of_the_mean_over_half_as_many_pairs() -> None:
    """500 pairs of 1,000 normal rows, h = (x - y)^2/2: 2/500, published as 0.00398 by simulation."""
    kernel, g, n_data = DisjointKernel(kernels.variance(), 3, compiled=True), np.random.default_rng(4), 4000
    values = np.array([kernel(BlockRows(g.normal(size=(1000, 1)), np.array([0, 1000]))).mean[0, 0]
                       for _ in range(n_data)])  # fmt: skip
    risk = ((values - 1.0) ** 2).mean()
    assert abs(risk - 0.004) < FIVE_SIGMA * 0.004 * np.sqrt(2 / n_data)
    assert abs(risk - 0.00311) > FIVE_SIGMA * 0.004 * np.sqrt(2 / n_data)  # that of complete blocks


@pytest.mark.parametrize("name", ["gini", "third_moment", "correlation"])
@pytest.mark.parametrize("most_rows", [10_000_000, 150])
def test_stored_pairs_follow_their_definition(
    tmp_path: Path, name: str, most_rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MOST_ROWS", most_rows)
    kernel = kernels.named(name)
    columns = ["y"] if kernel.columns == 1 else ["u", "y"]
    lake = dirty_lake(tmp_path)
    rows = kernel.as_sample(all_rows(lake, columns)[0])
    degree, n_blocks = kernel.degrees[0], 4
    m = len(rows) // degree
    with row_source(lake, columns, where="u < 0.9") as source:
        found = stored_tuples(kernel, source, n_blocks)
    keep = all_rows(lake, ["u"])[0][:, 0] < 0.9
    for k in range(n_blocks):
        mine = [i for i in range(m) if i * n_blocks // m == k and all(keep[i + s * m] for s in range(degree))]
        sides = [rows[np.array(mine) + s * m] for s in range(degree)]
        right = kernel.combine(*(part.kernel.value(*sides).mean() for part in kernel.parts))
        np.testing.assert_allclose(found.moments.values(kernel)[k], right, rtol=1e-10)
        assert found.moments.count[k] == len(mine)
    assert found.n_pairs == m > found.moments.count.sum() and found.gathered.n_rows == m * degree


def test_fewer_pairs_than_blocks() -> None:
    with row_source({"x": np.arange(9.0)}) as source, pytest.raises(NoAnswerError, match="need 10 rows"):
        stored_tuples(GINI, source, 5)
