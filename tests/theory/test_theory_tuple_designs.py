"""Numbers of pairs and triples, and what the bound needs of triples."""

from __future__ import annotations

from math import comb

import pytest

from distmom.theory.tuples import TUPLE_BUDGET, default_tuples, incomplete_variance, pair_inverse_inclusion


@pytest.mark.parametrize("replacement", [False, True])
def test_ten_pairs_a_row_within_the_budget(replacement: bool) -> None:
    assert default_tuples(1_000, 101, replacement=replacement) == 10_000
    for n_rows, n_blocks, degree in [(10**9, 101, 2), (10**9, 101, 3), (10**6, 1_060, 2)]:
        found = default_tuples(n_rows, n_blocks, degree, replacement=replacement)
        assert found == TUPLE_BUDGET // (n_blocks * degree)
    assert default_tuples(10**9, 10**8, replacement=replacement) == 1


def test_no_more_pairs_than_there_are_without_replacement() -> None:
    assert default_tuples(8, 11, replacement=False) == 28
    assert default_tuples(8, 11, replacement=True) == 80
    assert default_tuples(4, 11, 3, replacement=False) == 4


@pytest.mark.parametrize("n_tuples", [1, 2, 5, 7])
def test_triples_that_use_a_row(n_tuples: int) -> None:
    never = comb(comb(5, 3), n_tuples) / comb(comb(6, 3), n_tuples)
    found = pair_inverse_inclusion(6, n_tuples, replacement=False, degree=3)
    assert found == pytest.approx(1.0 / (1.0 - never))
    found = pair_inverse_inclusion(6, n_tuples, replacement=True, degree=3)
    assert found == pytest.approx(1.0 / (1.0 - 0.5**n_tuples))


def test_variance_of_samples_of_triples() -> None:
    def variance(n_tuples: int) -> float:
        return incomplete_variance(0.5, 4.0, 6, n_tuples, replacement=False, degree=3)

    assert variance(1) == 4.0 and variance(20) == 0.5
    assert 0.5 < variance(15) < variance(5) < 4.0
    with pytest.raises(ValueError, match="exceeds the 20"):
        variance(21)
