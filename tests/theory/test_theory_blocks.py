"""Numbers and sizes of blocks from a confidence level, and the ranges that are refused."""

from __future__ import annotations

import math
import re

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from paper_numbers import morm_blocks, mou_blocks

from distmom.errors import ConfigError
from distmom.theory.paper import (
    mogu_blocks,
    mom_blocks,
    mom_least_delta,
    morgu_blocks,
    morm_least_delta,
    mou_least_delta,
)

FAST = settings(derandomize=True, deadline=None)
LEVELS = st.floats(0.05, 0.99999)


def test_blocks_of_the_published_experiments() -> None:
    # the tables of 2019 belong to delta = 0.1 and n = 1000
    assert mou_blocks(0.9, 1000) == (11, 90)
    assert morm_blocks(0.9, 1 / 6, 1000) == (14, 8)
    assert morm_blocks(0.9, 3 / 10, 1000) == (38, 26)
    assert morm_blocks(0.9, 9 / 20, 1000) == (600, 60)
    assert mom_blocks(0.999, 1000) == (7, 142)
    assert morm_blocks(0.999, 0.45, 10_000)[0] == 1521
    assert morm_blocks(0.99, 1 / 6, 10_000)[0] == 24


@FAST
@given(LEVELS, st.integers(1, 400))
def test_mom_range_is_the_propositions(level: float, n: int) -> None:
    delta = 1.0 - level
    if delta >= math.exp(1.0 - n / 2.0):
        n_blocks, size = mom_blocks(level, n)
        assert n_blocks - 1 < math.log(1.0 / delta) <= n_blocks
        assert size == n // n_blocks >= 1
    else:
        with pytest.raises(ConfigError, match=re.escape(f"n={n} rows")):
            mom_blocks(level, n)


@FAST
@given(LEVELS, st.integers(1, 400), st.integers(1, 4))
def test_mou_needs_blocks_of_a_tuple(level: float, n: int, degree: int) -> None:
    n_blocks = math.ceil(4.5 * math.log(1.0 / (1.0 - level)))
    if n // n_blocks >= degree:
        assert mou_blocks(level, n, degree) == (n_blocks, n // n_blocks)
    else:
        # what is refused lies outside the printed range, so its advice is sound
        assert 1.0 - level < mou_least_delta(n, degree)
        with pytest.raises(ConfigError, match="confidence_level"):
            mou_blocks(level, n, degree)


@FAST
@given(LEVELS, st.floats(0.02, 0.49), st.integers(1, 5000), st.integers(1, 3))
def test_morm_range_is_exactly_the_integer_condition(level: float, tau: float, n: int, degree: int) -> None:
    delta = 1.0 - level
    least = morm_least_delta(tau, n, degree)
    assume(abs(delta / least - 1.0) > 1e-9 and degree <= n)
    if delta >= least:
        n_blocks, size = morm_blocks(level, tau, n, degree)
        assert degree <= size <= n
        # both exponential terms of the proof, at these integers, add up to at most delta
        data = math.exp(-2.0 * n / size * (tau - tau / 3.0) ** 2)
        draw = math.exp(-2.0 * n_blocks * (0.5 - tau) ** 2)
        assert data <= 0.5 * delta * (1 + 1e-12) or size == n
        assert draw <= 0.5 * delta * (1 + 1e-12)
    else:
        with pytest.raises(ConfigError, match="tau="):
            morm_blocks(level, tau, n, degree)


@FAST
@given(st.integers(4, 45), st.sampled_from(["mom", "mou", "morm"]))
def test_the_printed_remedy_works(n: int, method: str) -> None:
    def ask(level: float) -> tuple[int, int]:
        if method == "mom":
            return mom_blocks(level, n)
        return mou_blocks(level, n) if method == "mou" else morm_blocks(level, 0.45, n)

    with pytest.raises(ConfigError) as caught:
        ask(1.0 - 1e-15)
    message = str(caught.value)
    assert "\n" not in message and message.startswith("confidence_level") and f"n={n} rows" in message
    advised = re.search(r"at most ([0-9.]+), or give the number of blocks", message)
    if advised is None:
        assert "admit no confidence level" in message and "give more rows" in message
    else:
        assert ask(float(advised[1]))[1] >= 1


def test_message_in_full() -> None:
    with pytest.raises(ConfigError) as caught:
        mom_blocks(0.999, 10)
    assert str(caught.value) == (
        "confidence_level: medians of means of n=10 rows admit delta = 1 - confidence_level in [0.01832, "
        "1), got confidence_level=0.999 (delta=0.001); use a confidence_level of at most 0.98168, "
        "or give the number of blocks"
    )
    assert caught.value.exit_code == 2


def test_several_samples_use_the_scarcest() -> None:
    assert mogu_blocks(0.99, (1000, 500), (1, 1)) == (21, (47, 23))
    assert mogu_blocks(0.9, (22, 33), (2, 3)) == (11, (2, 3))  # B_t = d_t is enough
    with pytest.raises(ConfigError, match="n=21 rows"):
        mogu_blocks(0.9, (21, 33), (2, 3))
    assert morgu_blocks(0.9, 0.45, (1000, 2000), (1, 1)) == (600, (60, 120))
    with pytest.raises(ConfigError, match="n=30 rows"):
        morgu_blocks(0.9, 0.45, (30, 2000), (2, 2))


@pytest.mark.parametrize("tau", [0.0, 0.5, -0.1, 0.7, math.nan])
def test_tau_out_of_range(tau: float) -> None:
    with pytest.raises(ConfigError, match=r"tau must lie strictly between 0 and 0\.5, got"):
        morm_blocks(0.9, tau, 1000)


@pytest.mark.parametrize("level", [0.0, 1.0, 99.0, math.nan])
def test_confidence_level_out_of_range(level: float) -> None:
    for ask in (mom_blocks, mou_blocks):
        with pytest.raises(ConfigError, match="confidence_level must lie strictly between 0 and 1, got"):
            ask(level, 1000)


def test_least_deltas() -> None:
    assert mom_least_delta(10) == math.exp(-4)
    assert mou_least_delta(90, 2) == math.exp(-9)
    assert morm_least_delta(0.3, 1000) == pytest.approx(2 * math.exp(-80))
