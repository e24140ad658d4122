"""Best numbers of blocks."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from distmom.errors import ConfigError
from distmom.theory.bounds import width_factor, width_factors
from distmom.theory.planning import best_blocks

FAST = settings(derandomize=True, deadline=None)


@pytest.mark.parametrize(
    ("outlying", "bare", "best", "margin"),
    [(1, 24, 13, 7.8), (3, 53, 25, 9.6), (10, 152, 59, 13.4), (20, 293, 105, 17.0), (100, 1421, 451, 32.4)],
)
def test_table_of_arbitrary_blocks(outlying: int, bare: int, best: int, margin: float) -> None:
    """K = 2o + 1 only makes the answer finite; margins of error in sigma/sqrt(n), delta = 0.01."""
    least = 2 * outlying + 1
    assert round(math.sqrt(least) * width_factor(least, 0.01, outlying)) == bare
    assert best_blocks(10**12, 0.01, outlying) == best
    assert round(math.sqrt(best) * width_factor(best, 0.01, outlying), 1) == margin


@FAST
@given(st.integers(1, 600), st.floats(1e-8, 0.4), st.integers(0, 40))
def test_best_against_trying_all(n: int, delta: float, outlying: int) -> None:
    if 2 * outlying + 1 > n:
        with pytest.raises(ConfigError, match=f"contamination: .*n={n} rows"):
            best_blocks(n, delta, outlying)
        return
    scores = {k: width_factor(k, delta, outlying) / math.sqrt(n // k) for k in range(1, n + 1, 2)}
    least = min(scores.values())
    best = best_blocks(n, delta, outlying)
    assert best % 2 == 1
    assert scores[best] <= least * (1 + 1e-12)


@pytest.mark.parametrize("outlying", [5_000, 200_000])
def test_large_numbers_of_outlying_rows(outlying: int) -> None:
    n = 10**12
    best = best_blocks(n, 0.01, outlying)
    assert 4.0 <= best / outlying <= 5.0  # the ratio tends to 4
    here = width_factor(best, 0.01, outlying) / math.sqrt(n // best)
    for other in (best - 2, best + 2, best + 1000, int(0.8 * best) | 1, int(1.3 * best) | 1):
        assert here <= width_factor(other, 0.01, outlying) / math.sqrt(n // other)


@pytest.mark.parametrize(
    ("n", "outlying"), [(60_000, 2500), (10**6, 2500), (10**12, 2500), (250_000, 10_000)]
)
def test_the_candidates_contain_the_best(n: int, outlying: int) -> None:
    blocks = np.arange(2 * outlying + 1, 20 * outlying, 2)
    scores = width_factors(blocks, 0.01, outlying) / np.sqrt(n // blocks)
    assert best_blocks(n, 0.01, outlying) == blocks[scores.argmin()]


def test_wrong_arguments() -> None:
    with pytest.raises(ValueError, match="n_rows"):
        best_blocks(0, 0.01)
