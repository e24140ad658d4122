"""Disjoint tuples of several samples: those of plain loops, and their variance."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from mean_lakes import dirty_lake
from ustat_twin import blocks_of, rows_of

import distmom as dm
from distmom import kernels
from distmom.numerics.random.philox import permutation, resolve_seed, stream_key
from distmom.theory.bounds import width_factor


def below(x: Any, other: Any, y: Any) -> Any:
    """Whether the mean of two rows of the first sample is below one of the second."""
    return 0.5 * (x + other) < y


KERNELS = {
    "auc": kernels.auc(),
    "energy": kernels.energy(),
    "of degrees 2, 1": kernels.kernel(below, (2, 1)),
}


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    root = tmp_path_factory.mktemp("lakes")
    return [dirty_lake(root / "a", rows=12), dirty_lake(root / "b", seed=5, rows=20)]


def run(data: Any, column: Any = "y", **options: Any) -> Any:
    return dm.ustatistic(
        data, column, **{"pairs": "disjoint", "rng": 0, "executor": dm.Threads(1), **options}
    )


@pytest.mark.parametrize("name", KERNELS)
def test_tuples_are_those_of_plain_loops(both: list[Path], name: str) -> None:
    kernel = KERNELS[name]
    found = run(both, kernel=kernel, blocks=5)
    ordered: list[list[np.ndarray]] = []
    for s, lake in enumerate(both):
        place = {value: i for i, (_, _, (value,)) in enumerate(rows_of(lake, ["y"]))}
        key = stream_key(resolve_seed(0)[0], f"disjoint/{s}" if s else "disjoint")
        blocks = [
            np.array(sorted((v for (v,) in rows), key=place.__getitem__))
            for rows in blocks_of(lake, ["y"], 5, sample=s)
        ]
        ordered.append([y[permutation(key, k, y.size, compiled=False)] for k, y in enumerate(blocks)])
    expected, n_tuples = [], 0
    for x, y in zip(*ordered, strict=True):
        a, b = kernel.degrees
        m = min(x.size // a, y.size // b)
        tuples = [(*x[i * a : i * a + a], *y[i * b : i * b + b]) for i in range(m)]
        rows = [kernel.as_sample(np.array(side)) for side in zip(*tuples, strict=True)]
        expected.append(kernel.value(*rows).mean())
        n_tuples += m
    assert found.block_estimates == pytest.approx(np.array(expected), rel=1e-10)
    assert found.estimate == pytest.approx(sorted(expected)[2], rel=1e-10)
    assert found.n_pairs == n_tuples and found.pairs == "disjoint"
    plan = dm.explain(dm.ustatistic, both, "y", kernel=kernel, pairs="disjoint", blocks=5)
    assert abs(plan["tuples_one_by_one"] - n_tuples) <= 5


def test_intervals_and_outlying_rows() -> None:
    """As many pairs as the scarcer sample has rows: independent values of variance 2."""
    g = np.random.default_rng(1)
    x, y = g.normal(size=40_000), g.normal(size=21_000) + 0.5
    found = run([x, y], None, kernel="mean-difference", blocks=21, interval="cantelli")
    half = (found.interval[1] - found.estimate) / (width_factor(21, 0.01) * np.sqrt(2.0 / 1_000))
    assert 0.95 < half < 1.6  # by the variances inside blocks, or the spread of 21 blocks if that is larger
    assert found.interval[0] < 0.5 < found.interval[1] and found.n_pairs == 21_000
    y[:9] = 1e9
    found = run([x, y], None, kernel="mean-difference")
    assert abs(found.estimate - 0.5) < 0.1 < 1e4 < found.plain_estimate
    assert found.interval[0] < 0.5 < found.interval[1]
    degenerate = run([x, x[::-1].copy()], None, kernel="energy", blocks=21)
    assert degenerate.interval[0] < 0.0 < degenerate.interval[1]
