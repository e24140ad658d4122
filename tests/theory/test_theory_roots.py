"""The root finder errs to the safe side, and copes with flat and infinite ends."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest

from distmom.theory._roots import last_nonpositive


@pytest.mark.parametrize(
    ("function", "root"),
    [
        (lambda x: x - 0.3, 0.3),
        (lambda x: math.exp(20 * x) - math.exp(6), 0.3),
        (lambda x: (x - 0.3) ** 9, 0.3),
        (lambda x: -math.inf if x < 0.2 else x - 0.3, 0.3),
        (lambda x: -1.0 if x < 0.7 else 1.0, 0.7),
    ],
)
def test_root_from_below(function: Callable[[float], float], root: float) -> None:
    calls = []

    def counted(x: float) -> float:
        calls.append(x)
        return function(x)

    got = last_nonpositive(counted, 0.0, 1.0, tolerance=1e-10)
    assert function(got) <= 0.0
    assert root - 1e-10 <= got <= root + 1e-15
    assert len(calls) < 75


def test_no_crossing_gives_the_upper_end() -> None:
    assert last_nonpositive(lambda x: x - 5.0, 0.0, 1.0) == 1.0


def test_root_at_the_lower_end() -> None:
    assert last_nonpositive(lambda x: x, 0.0, 1.0, tolerance=1e-9) <= 1e-9
