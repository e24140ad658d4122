"""Permutation tests: sums over units against statistics taken anew, and the level that theory promises."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations

import numpy as np
import pytest

from distmom.numerics.permutation_test import (
    Floats,
    Statistic,
    Units,
    area_statistic,
    discrepancy_statistic,
    mean_statistic,
    midranks,
    p_values,
    reassignments,
)
from distmom.numerics.random.philox import stream_key


def distance(x: Floats, y: Floats) -> Floats:
    return np.abs(x - y)


def gauss(x: Floats, y: Floats) -> Floats:
    return np.exp(-0.5 * (x - y) ** 2)


def inside(x: Floats, k: Callable[[float, float], float]) -> float:
    """Mean over ordered pairs of different rows: a double loop."""
    pairs = [k(a, b) for i, a in enumerate(x) for j, b in enumerate(x) if i != j]
    return sum(pairs) / len(pairs)


def slow_discrepancy(k: Callable[[float, float], float], sign: float) -> Callable[[Floats, Floats], float]:
    def of(x: Floats, y: Floats) -> float:
        across = sum(k(a, b) for a in x for b in y) / (len(x) * len(y))
        return sign * (inside(x, k) + inside(y, k) - 2 * across)

    return of


def slow_area(x: Floats, y: Floats) -> float:
    return abs(sum((a < b) + 0.5 * (a == b) for a in x for b in y) / (len(x) * len(y)) - 0.5)


TWINS: dict[str, tuple[Callable[[Units], Statistic], Callable[[Floats, Floats], float]]] = {
    "mean": (mean_statistic, lambda x, y: abs(y.mean() - x.mean())),
    "auc": (area_statistic, slow_area),
    "energy": (
        lambda units: discrepancy_statistic(units, distance, -1.0),
        slow_discrepancy(lambda a, b: abs(a - b), -1.0),
    ),
    "mmd": (
        lambda units: discrepancy_statistic(units, gauss, 1.0),
        slow_discrepancy(lambda a, b: float(np.exp(-0.5 * (a - b) ** 2)), 1.0),
    ),
}
EACH = pytest.mark.parametrize("name", TWINS)


def some_units(seed: int, sizes: list[int], n_first: int, *, shift: float = 0.0, tied: bool = False) -> Units:
    g = np.random.default_rng(seed)
    starts = np.concatenate([[0], np.cumsum(sizes)])
    x = g.standard_exponential(starts[-1])
    x[starts[n_first] :] += shift
    return Units(np.round(x, 0 if tied else 12), starts, n_first)


def split(units: Units, second: Floats) -> tuple[Floats, Floats]:
    of_row = np.repeat(second > 0, np.diff(units.starts))
    return units.values[~of_row], units.values[of_row]


@EACH
@pytest.mark.parametrize("tied", [False, True])
def test_sums_over_units_give_the_statistics_of_rows(name: str, tied: bool) -> None:
    fast, slow = TWINS[name]
    units = some_units(1, [3, 1, 4, 2, 2], 2, tied=tied)
    (drawn,) = reassignments(units, 7, 40)
    found, _ = fast(units)(drawn)
    assert found == pytest.approx([slow(*split(units, second)) for second in drawn], rel=1e-10, abs=1e-12)


@EACH
def test_p_values_are_the_share_of_statistics_taken_anew(name: str) -> None:
    fast, slow = TWINS[name]
    units = some_units(2, [2, 3, 2, 2, 3, 2], 3, shift=1.0, tied=True)
    drawn = np.concatenate(list(reassignments(units, 11, 199)))
    observed = slow(*split(units, units.second))
    extreme = sum(slow(*split(units, second)) >= observed - 1e-11 for second in drawn)
    assert p_values(units, [fast(units)], 11, 199) == [(1 + extreme) / 200]


@pytest.mark.parametrize("not_finite", [np.nan, np.inf])
def test_reassignments_that_are_not_finite_count_as_extreme(not_finite: float) -> None:
    """NaN is not as large as anything, so p was the smallest there is."""
    units = some_units(4, [1] * 8, 4)
    drawn = np.concatenate(list(reassignments(units, 3, 999)))

    def statistic(second: Floats) -> tuple[Floats, Floats]:
        size = np.ones(len(second))
        return np.where(second[:, 0] > 0, not_finite, 0.5 + second[:, 7]), size

    assert p_values(units, [statistic], 3, 999) == [
        (1 + int(((drawn[:, 0] > 0) | (drawn[:, 7] > 0)).sum())) / 1_000
    ]
    nowhere = Units(units.values, units.starts, 4)
    assert p_values(nowhere, [lambda second: (np.full(len(second), not_finite), second[:, 0])], 3, 99) == [
        None
    ]


@EACH
def test_they_tend_to_the_exact_test(name: str) -> None:
    """All 35 choices of 4 of 7 units; 20,000 drawn: 5 standard errors are 0.018, exceeded once in 1e6."""
    fast, slow = TWINS[name]
    units = some_units(3, [2] * 7, 3, shift=0.5)
    observed = slow(*split(units, units.second))
    masks = [np.isin(np.arange(7), chosen).astype(float) for chosen in combinations(range(7), 4)]
    exact = np.mean([slow(*split(units, mask)) >= observed - 1e-11 for mask in masks])
    (found,) = p_values(units, [fast(units)], 5, 20_000)
    assert abs(found - exact) < 0.018


def test_reassignments_are_uniform_and_keep_the_number_of_units() -> None:
    """Of 20,000 each of 10 choices of 2 of 5 units 2,000 times: chi-squared (9) is above 42 once in 3e5."""
    units = some_units(4, [1] * 5, 3)
    drawn = np.concatenate(list(reassignments(units, 3, 20_000)))
    assert (drawn.sum(axis=1) == 2).all()
    _, counts = np.unique(drawn @ (2.0 ** np.arange(5)), return_counts=True)
    assert counts.size == 10
    assert ((counts - 2_000) ** 2 / 2_000).sum() < 42.0


def test_ranks_of_ties() -> None:
    assert midranks(np.array([3.0, 1.0, 3.0, 2.0])).tolist() == [3.5, 1.0, 3.5, 2.0]


def rejections(shift: float, replications: int, heavy: float = 0.0) -> Floats:
    """Share of p-values of at most 0.05, from 99 permutations, with units of random sizes."""
    found = np.zeros(len(TWINS))
    for seed in range(replications):
        g = np.random.default_rng([seed, 5])
        sizes = g.integers(1, 5, 24)
        units = some_units(seed, sizes.tolist(), 12, shift=shift)
        if heavy:
            units.values[g.random(units.values.size) < heavy] *= 1e9
        tests = [fast(units) for fast, _ in TWINS.values()]
        found += np.array(p_values(units, tests, stream_key(seed, "test"), 99)) <= 0.05
    return found / replications


@pytest.mark.parametrize("heavy", [0.0, 0.02])
@pytest.mark.one_in(2)
def test_the_level_is_kept_and_used(heavy: float) -> None:
    """P(p <= 0.05) = 0.05 exactly: Bin(300, 0.05) is above 36 once in 4e6, below 2 once in 3e5."""
    found = rejections(0.0, 300, heavy)
    assert (found <= 36 / 300).all()
    if not heavy:
        assert (found >= 2 / 300).all()


def test_there_is_power() -> None:
    """The negative control of the level: with the samples a standard deviation apart most are rejected."""
    assert (rejections(1.0, 60) > 0.6).all()


def test_dependent_rows_are_no_units() -> None:
    """Negative control: units with an effect of their own, cut into rows, reject where nothing drifted."""
    wrong = right = 0
    for seed in range(100):
        g = np.random.default_rng([seed, 9])
        values = np.repeat(g.normal(size=10), 20) + 0.3 * g.normal(size=200)
        whole = Units(values, np.arange(0, 201, 20), 5)
        rows = Units(values, np.arange(201), 100)
        right += p_values(whole, [mean_statistic(whole)], seed, 99)[0] <= 0.05
        wrong += p_values(rows, [mean_statistic(rows)], seed, 99)[0] <= 0.05
    assert right <= 20  # Bin(100, 0.05) exceeds it once in 1e7
    assert wrong > 50
