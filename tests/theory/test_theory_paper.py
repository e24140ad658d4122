"""Published bounds: the corrected forms, how far the printed ones are off, and repeats."""

from __future__ import annotations

import math

import pytest
from paper_numbers import morm_blocks, mou_blocks

from distmom.theory.bounds import width_factor
from distmom.theory.paper import (
    paper_margin_mom,
    paper_margin_morm,
    paper_margin_mou,
)
from distmom.theory.repeated import repeated_margin, repeated_p
from distmom.theory.resampled import resampled_margin

N = 10**8


def printed_morm(sigma2: float, n: float, tau: float, delta: float) -> float:
    return 1.5 * math.sqrt(3.0 * sigma2 * math.log(2.0 / delta) / n / tau**3)


def printed_mou(sigma1_sq: float, sigma2_sq: float, n: float, delta: float) -> float:
    """Valid only where K divides n."""
    log_term = math.log(1.0 / delta)
    return _printed(108.0 * sigma1_sq, 486.0 * sigma2_sq, n, log_term, 2.0)


def printed_moru(sigma1_sq: float, sigma2_sq: float, n: float, tau: float, delta: float) -> float:
    """With 8 tau^2 n - 9 log(2/delta) in the second denominator, printed without tau^2."""
    first, second = 13.5 * sigma1_sq / tau**3, 60.75 * sigma2_sq / tau**3
    return _printed(first, second, n, math.log(2.0 / delta), 8.0 * tau * tau)


def _printed(first: float, second: float, n: float, log_term: float, slope: float) -> float:
    return math.sqrt(first * log_term / n + second * log_term**2 / (n * (slope * n - 9.0 * log_term)))


def in_se(margin: float) -> float:
    return margin * math.sqrt(N)


def test_closed_forms_in_standard_errors() -> None:
    assert round(in_se(paper_margin_mom(1.0, N, 0.001)), 1) == 21.6
    printed = {(0.01, 1 / 6): 87.9, (0.01, 0.45): 19.8, (0.001, 0.3): 43.6, (0.001, 0.45): 23.7}
    for (delta, tau), value in printed.items():
        assert round(in_se(printed_morm(1.0, N, tau, delta)), 1) == value
        # the printed constant carries a factor 2 (in the square) for the floor in B, which a large B spares
        size = morm_blocks(1 - delta, tau, N)[1]
        corrected = in_se(paper_margin_morm(1 / size, tau))
        assert corrected == pytest.approx(value / math.sqrt(2), rel=2e-3)
        # and the integral bound is below both
        blocks = morm_blocks(1 - delta, tau, N)[0]
        assert in_se(resampled_margin(1 / size, blocks, N / size, delta)) < corrected


def test_corrected_and_printed_agree_without_floors() -> None:
    sigma1, sigma2, delta = 0.7, 1.3, 0.003
    n = 4.5 * math.log(1 / delta) * 1000  # K not rounded, B = 1000
    block_variance = 4 * sigma1 / 1000 + 2 * sigma2 / (1000 * 999)
    printed = printed_mou(sigma1, sigma2, n, delta)
    assert printed == pytest.approx(paper_margin_mou(block_variance), rel=1e-12)
    for tau in (0.1, 0.3, 0.49):
        n = 9 * math.log(2 / delta) / (8 * tau * tau) * 1000
        printed = printed_moru(sigma1, sigma2, n, tau, delta)
        assert printed == pytest.approx(paper_margin_morm(block_variance, tau), rel=1e-12)
    # tau -> 1/2 with delta doubled gives the constants of the complete form
    limit = printed_moru(sigma1, sigma2, 10**4, 0.5 - 1e-12, 2 * delta)
    assert limit == pytest.approx(printed_mou(sigma1, sigma2, 10**4, delta), rel=1e-9)


def test_the_floor_costs_the_printed_form_up_to_3_in_the_second_term() -> None:
    ratios_first, ratios_second = [], []
    for n in range(60, 1200):
        for level in (0.5, 0.9, 0.99):
            delta = 1 - level
            size = mou_blocks(level, n, 1)[1]
            if size >= 2 and n / (4.5 * math.log(1 / delta)) > 2:
                first = paper_margin_mou(4 / size) / printed_mou(1.0, 0.0, n, delta)
                second = paper_margin_mou(2 / (size * (size - 1)))
                ratios_first.append(first**2)
                ratios_second.append((second / printed_mou(0.0, 1.0, n, delta)) ** 2)
    assert 1.3 < max(ratios_first) < 1.6
    assert 2.4 < max(ratios_second) < 3.2


def test_corrected_bound_is_valid_where_the_exact_one_is_shorter() -> None:
    for delta in (0.1, 0.01, 0.001):
        n_blocks, size = mou_blocks(1 - delta, N)
        exact = math.sqrt(1 / size) * width_factor(n_blocks, delta)
        assert exact < paper_margin_mou(1 / size)


@pytest.mark.parametrize(
    ("delta", "tau", "printed"),
    [(0.01, 1 / 6, 23.2), (0.01, 0.45, 11.1), (0.001, 0.3, 17.3), (0.001, 0.45, 13.4)],
)
def test_repeated_partitions(delta: float, tau: float, printed: float) -> None:
    a = 9 * math.log(2 / delta) / (8 * tau**2)
    assert math.sqrt(a / repeated_p(math.floor(a), delta)) == pytest.approx(printed, abs=0.05)


@pytest.mark.parametrize("delta", [0.3, 0.01, 1e-8])
@pytest.mark.parametrize("n_blocks", [1, 2, 7, 214, 10**6])
def test_repeated_p_solves_its_equation(n_blocks: int, delta: float) -> None:
    p = repeated_p(n_blocks, delta)
    assert 0 < p < 0.5
    kl_of_half = -math.log(4 * p * (1 - p)) / 2
    assert n_blocks * kl_of_half == pytest.approx(-math.log(delta), rel=1e-6)
    assert repeated_margin(4.0, n_blocks, delta) == pytest.approx(2 / math.sqrt(p))


def test_wrong_arguments() -> None:
    for tau in (0.0, 0.5):
        with pytest.raises(ValueError, match="tau"):
            paper_margin_morm(1.0, tau)
    with pytest.raises(ValueError, match="delta"):
        paper_margin_mom(1.0, 100, 0.0)
    with pytest.raises(ValueError, match="variance"):
        paper_margin_mou(-1.0)
