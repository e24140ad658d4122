"""Fine blocks and ladders."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from distmom.theory.ladder import fine_blocks, ladder_levels

FAST = settings(derandomize=True, deadline=None)


def test_ladder_of_the_default_fine_blocks() -> None:
    assert ladder_levels(945) == (5, 7, 9, 15, 21, 27, 35, 45, 63, 105, 135, 189, 315, 945)
    assert ladder_levels(105) == (5, 7, 15, 21, 35, 105)


@FAST
@given(st.integers(1, 3000))
def test_ladder_is_the_odd_divisors_from_five(n_fine: int) -> None:
    assert ladder_levels(n_fine) == tuple(d for d in range(5, n_fine + 1, 2) if n_fine % d == 0)


@FAST
@given(st.integers(1, 2500), st.integers(1, 2500))
def test_fine_blocks_is_the_largest_odd_multiple_within_the_cap(n_blocks: int, cap: int) -> None:
    multiples = range(1, cap // n_blocks + 1, 2)
    assert fine_blocks(n_blocks, cap) == n_blocks * max(multiples, default=1)


@FAST
@given(st.integers(1, 1200))
def test_ladder_of_a_given_number_starts_with_it(n_blocks: int) -> None:
    n_fine = fine_blocks(n_blocks)
    levels = ladder_levels(n_fine, n_blocks)
    assert levels[0] == n_blocks and levels[-1] == n_fine
    assert all(n_fine % level == 0 and (level // n_blocks) % 2 == 1 for level in levels)
    assert list(levels) == sorted(set(levels))


def test_wrong_arguments() -> None:
    with pytest.raises(ValueError, match="does not divide"):
        ladder_levels(945, 11)
    with pytest.raises(ValueError, match="n_fine must be at least 1"):
        ladder_levels(0)
    with pytest.raises(ValueError, match="n_blocks must be at least 1"):
        fine_blocks(0)
