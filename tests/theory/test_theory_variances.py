"""Variance formulas and inclusion probabilities against enumeration of every sample and block."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from distmom.theory.tuples import incomplete_variance, pair_inverse_inclusion
from distmom.theory.variances import (
    mean_variance,
    row_inverse_inclusion,
    two_sample_variance,
)

DISTRIBUTION = {0.0: 0.5, 1.0: 0.3, 3.0: 0.2}
VALUES, WEIGHTS = np.array(list(DISTRIBUTION)), np.array(list(DISTRIBUTION.values()))


def kernel(*x: float) -> float:
    """Symmetric and far from additive."""
    return max(x) * sum(x) - min(x) ** 2


def samples(n: int) -> list[tuple[tuple[float, ...], float]]:
    return [
        (tuple(VALUES[list(i)]), math.prod(WEIGHTS[list(i)])) for i in itertools.product(range(3), repeat=n)
    ]


def variance(pairs: list[tuple[float, float]]) -> float:
    mean = math.fsum(w * v for v, w in pairs)
    return math.fsum(w * (v - mean) ** 2 for v, w in pairs)


def components(degree: int) -> list[float]:
    """Var E[h | X_1, ..., X_c] for c = 1..degree."""
    return [
        variance([(math.fsum(v * kernel(*x, *y) for y, v in samples(degree - c)), w) for x, w in samples(c)])
        for c in range(1, degree + 1)
    ]


@pytest.mark.parametrize(("block", "degree"), [(1, 1), (5, 1), (2, 2), (5, 2), (3, 3), (5, 3)])
def test_ustatistic_variance_by_enumeration(block: int, degree: int) -> None:
    def statistic(x: tuple[float, ...]) -> float:
        return float(np.mean([kernel(*subset) for subset in itertools.combinations(x, degree)]))

    expected = variance([(statistic(x), w) for x, w in samples(block)])
    zetas = components(degree)
    ways = [math.comb(degree, c) * math.comb(block - degree, degree - c) for c in range(1, degree + 1)]
    hoeffding = sum(way * zeta for way, zeta in zip(ways, zetas, strict=True)) / math.comb(block, degree)
    assert hoeffding == pytest.approx(expected, rel=1e-12)
    if degree == 2 and block > 1:
        sigma1, sigma2 = zetas[0], zetas[1] - 2 * zetas[0]
        printed = 4 * sigma1 / block + 2 * sigma2 / (block * (block - 1))
        assert printed == pytest.approx(expected, rel=1e-12)


def test_two_sample_variance_by_enumeration() -> None:
    def h(x: float, y: float) -> float:
        return float(x < y) + x * y

    first, second = 2, 3
    expected = variance(
        [
            (float(np.mean([h(a, b) for a in x for b in y])), w * v)
            for x, w in samples(first)
            for y, v in samples(second)
        ]
    )
    zeta10 = variance([(float(WEIGHTS @ [h(x, y) for y in VALUES]), w) for (x,), w in samples(1)])
    zeta01 = variance([(float(WEIGHTS @ [h(x, y) for x in VALUES]), w) for (y,), w in samples(1)])
    zeta11 = variance([(h(x, y), w) for (x, y), w in samples(2)])
    got = two_sample_variance((first, second), zeta10, zeta01, zeta11)
    assert got == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("replacement", [False, True])
def test_mean_and_incomplete_variance_by_enumeration(replacement: bool) -> None:
    n, block = 4, 2

    def blocks(population: range | list[tuple[int, int]]) -> list[tuple[object, ...]]:
        if replacement:
            return list(itertools.product(population, repeat=block))
        return list(itertools.combinations(population, block))

    rows = [
        (float(np.mean([x[i] for i in chosen])), w / len(blocks(range(n))))  # type: ignore[call-overload]
        for x, w in samples(n)
        for chosen in blocks(range(n))
    ]
    sigma2 = variance([(x, w) for (x,), w in samples(1)])
    got = mean_variance(sigma2, block, n_rows=n if replacement else None)
    assert got == pytest.approx(variance(rows), rel=1e-12)

    pairs = list(itertools.combinations(range(n), 2))
    drawn = blocks(pairs)
    values = [
        (float(np.mean([kernel(x[i], x[j]) for i, j in chosen])), w / len(drawn))  # type: ignore[misc]
        for x, w in samples(n)
        for chosen in drawn
    ]
    zetas = components(2)
    complete = (4 * zetas[0] + 2 * (zetas[1] - 2 * zetas[0]) / (n - 1)) / n
    got = incomplete_variance(complete, zetas[1], n, block, replacement=replacement)
    assert got == pytest.approx(variance(values), rel=1e-12)


def test_numbers_of_the_incomplete_variance() -> None:
    """n = 8, M = 10, normal rows, h = (x - y)^2/2: Var(U_n) = 2/7, Var(h) = 2."""
    complete = 2 / 7
    assert round(incomplete_variance(complete, 2.0, 8, 10, replacement=False), 4) == 0.4000
    assert round(incomplete_variance(complete, 2.0, 8, 10, replacement=True), 4) == 0.4571
    # the published plus sign
    assert round(complete + 18 / 27 * (2.0 + complete) / 10, 4) == 0.4381
    # all pairs drawn: the complete statistic
    assert incomplete_variance(complete, 2.0, 8, 28, replacement=False) == complete
    assert incomplete_variance(1.0, 1.0, 2, 1, replacement=False) == 1.0


def test_inclusion() -> None:
    assert row_inverse_inclusion(100, 100, replacement=False) == 1.0
    assert row_inverse_inclusion(1, 5, replacement=True) == 1.0
    assert row_inverse_inclusion(10, 3, replacement=True) == pytest.approx(1 / (1 - 0.9**3))
    assert row_inverse_inclusion(10**12, 10, replacement=True) == pytest.approx(1e11, rel=1e-9)
    assert pair_inverse_inclusion(2, 3, replacement=True) == 1.0
    assert pair_inverse_inclusion(10, 40, replacement=False) == 1.0  # 36 pairs avoid a row
    for n, n_pairs in ((10, 36), (10, 5), (6, 9), (40, 1)):
        never = math.comb((n - 1) * (n - 2) // 2, n_pairs) / math.comb(n * (n - 1) // 2, n_pairs)
        assert pair_inverse_inclusion(n, n_pairs, replacement=False) == pytest.approx(1 / (1 - never))
    # the bound used for many factors lies on the safe side, and close
    n, n_pairs = 200_001, 150_000
    all_pairs = n * (n - 1) // 2
    never = math.exp(np.log1p(-(n - 1) / (all_pairs - np.arange(n_pairs))).sum())
    got = pair_inverse_inclusion(n, n_pairs, replacement=False)
    assert got <= 1 / (1 - never) * (1 + 1e-12)
    assert got == pytest.approx(1 / (1 - never), rel=1e-4)


def test_wrong_arguments() -> None:
    with pytest.raises(ValueError, match="negative"):
        mean_variance(-1.0, 5)
    with pytest.raises(ValueError, match="exceeds the 6 pairs"):
        incomplete_variance(1.0, 1.0, 4, 7, replacement=False)
    with pytest.raises(ValueError, match="exceeds the 6 pairs"):
        pair_inverse_inclusion(4, 7, replacement=False)
    with pytest.raises(ValueError, match="exceeds n_rows"):
        row_inverse_inclusion(4, 7, replacement=False)
