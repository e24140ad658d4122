"""Ways to take a mean: each number against its definition, evaluated the slow way."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import binom, norm

from distmom.errors import ConfigError
from distmom.estimators.planning.ways import (
    automatic_way,
    contaminated_way,
    order_halfwidth,
    paper_way,
    partition_way,
    repeated_way,
    rows_for_way,
    sampled_way,
)
from distmom.theory.intervals import order_rank


@pytest.mark.parametrize(("n", "k"), [(40, 5), (1_000, 9), (10_000, 27), (10**6, 63), (10**12, 63)])
def test_the_automatic_way_takes_the_level_of_the_rule(n: int, k: int) -> None:
    way = automatic_way(n, 0.01)
    assert (way.n_blocks, way.block_size, way.rows_drawn) == (k, n // k, n)


def test_widths_of_a_partition_solve_the_binomial_tail() -> None:
    n, k, o, delta = 10_000, 59, 10, 0.01
    way = partition_way(n, delta, k, o)
    p = 1.0 / (1.0 + way.exact**2 * (n // k))  # type: ignore[operator]
    assert binom.sf((k + 1) // 2 - o - 1, k - o, p) == pytest.approx(delta, rel=1e-9)
    assert contaminated_way(10**9, delta, o).n_blocks == 59
    assert way.survives == 29


def test_a_sampling_scheme_draws_36_n_at_tau_045() -> None:
    way = sampled_way(10**7, 0.01, False, 0.45)
    assert way.rows_drawn / 10**7 == pytest.approx(4 * 0.45**2 / (9 * 0.05**2), rel=1e-3)


def test_survival_of_samples_by_simulation() -> None:
    """With that many outlying rows, half of the samples are dirty with probability below delta.

    400 draws of K samples each; a true probability of 0.1 gives more than 64 failures with probability below
    1e-4. Negative control: three times as many outlying rows fail nearly always.
    """
    rng = np.random.default_rng(1)
    n, delta = 5_000, 0.1
    way = sampled_way(n, delta, False, 0.3)
    for o, least, most in ((way.survives, 0, 64), (3 * way.survives, 380, 400)):
        # a sample without replacement misses all o rows with the hypergeometric probability
        clean = rng.hypergeometric(o, n - o, way.block_size, (400, way.n_blocks)) == 0
        failures = int(((~clean).sum(1) >= (way.n_blocks + 1) // 2).sum())
        assert least <= failures <= most


def test_the_order_halfwidth_is_that_of_normal_block_means() -> None:
    """20,000 intervals of 63 normal values: the mean half-width has a relative error of about 0.1 %."""
    rng = np.random.default_rng(0)
    values = np.sort(rng.normal(size=(20_000, 63)), axis=1)
    rank = order_rank(63, 0.01)
    assert rank is not None
    half = (values[:, 63 - rank] - values[:, rank - 1]).mean() / 2
    assert order_halfwidth(63, 63, 0.01) == pytest.approx(half, rel=0.01)
    assert order_halfwidth(63, 5, 0.01) is None


def test_the_repeated_way_is_the_automatic_one_with_the_width_of_its_best_level() -> None:
    way, once = repeated_way(10**6, 0.01, 5), automatic_way(10**6, 0.01)
    assert (way.n_blocks, way.survives, way.rows_drawn) == (once.n_blocks, once.survives, 5 * 10**6)
    # 9 blocks; the best number of all, 11, is no level and gives 9.44
    assert way.exact is not None and once.exact is not None
    assert way.exact * 1e3 == pytest.approx(9.50, abs=0.01) and way.exact > once.exact
    assert once.exact * 1e3 > norm.ppf(0.995)


@pytest.mark.parametrize("width", [0.5, 0.01])
def test_rows_for_a_width_are_the_least(width: float) -> None:
    def way(n: int):  # type: ignore[no-untyped-def]
        return paper_way(n, 0.01)

    n = rows_for_way(way, width)
    assert n is not None
    assert way(n).exact <= width < way(int(n * 0.99) - 2).exact * 1.01


def test_no_number_of_rows_is_enough_for_a_share_of_outlying_rows() -> None:
    assert rows_for_way(lambda n: contaminated_way(n, 0.01, math.ceil(0.01 * n)), 0.01, most=10**7) is None


@pytest.mark.parametrize("n", [1, 4, 30])
def test_too_few_rows_are_refused_by_name(n: int) -> None:
    with pytest.raises(ConfigError, match="n_rows"):
        automatic_way(n, 0.01)
    with pytest.raises(ConfigError, match="blocks: must exceed"):
        partition_way(n, 0.01, 2 * n + 1)
