"""Clean data: how often the rule cries wolf, and whether its answer and intervals are as good as claimed.

Seeds are fixed. Every threshold is the 1 - 1e-4 quantile under the claim (`rule_distributions.RISK`), so a
single comparison fails with probability 1e-4 if its claim holds and the seed were drawn anew.
"""

from __future__ import annotations

import numpy as np
import pytest
from rule_distributions import (
    DAMAGES,
    HARD,
    OWN,
    REGULAR,
    fine_moments,
    most_events,
    most_nmse,
    portions,
    row_sample,
    tally,
)

from distmom.inference.adaptive import answer_rule
from distmom.inference.status import Finding, NoInterval

REPEATS = {1000: 250, 10_000: 80, 30_000: 40, 100_000: 12}
CLEAN = DAMAGES["clean"]


@pytest.mark.parametrize("name", [*REGULAR, *OWN])
@pytest.mark.one_in(9)
def test_distributions_of_finite_variance_raise_no_alarm(name):
    """Claims: alarm <= 0.002, nMSE <= 2, order interval covers the mean >= 0.97, exact >= 0.99."""
    distribution = {**REGULAR, **OWN}[name]
    for n, repeats in REPEATS.items():
        got = tally(distribution, CLEAN, n, repeats, seed=n)
        assert got.flagged <= most_events(repeats, 0.002), (n, got)
        assert got.nmse <= most_nmse(repeats, 2.0), (n, got)
        assert got.order_given == got.cantelli_given == repeats, (n, got)
        assert repeats - got.order <= most_events(repeats, 0.03), (n, got)
        assert repeats - got.exact <= most_events(repeats, 0.01), (n, got)
        assert got.beyond == 0


@pytest.mark.parametrize(
    ("name", "n", "alarm"),
    [
        ("Pareto 2.1", 10_000, 0.01),
        ("Pareto 2.1", 100_000, 0.01),
        ("90% zeros", 1000, 0.01),
        ("90% zeros", 10_000, 0.005),
        ("99% zeros", 10_000, 0.01),
        ("99% zeros", 100_000, 0.01),
        ("Bernoulli 0.01", 10_000, 0.01),
        ("Bernoulli 0.01", 100_000, 0.01),
        ("lognormal sigma 2", 1000, 0.1),
        ("lognormal sigma 2", 10_000, 0.15),
        ("lognormal sigma 2", 100_000, 0.03),
        ("Pareto 1.5", 10_000, 0.25),  # no variance: some alarm is right
    ],
)
def test_hard_distributions_raise_few_alarms(name, n, alarm):
    repeats = REPEATS[n]
    got = tally(HARD[name], CLEAN, n, repeats, seed=n)
    assert got.flagged <= most_events(repeats, alarm), got


def test_rare_events_need_large_blocks():
    """1% ones, 30,000 rows: with 8 rows a block, as continuous distributions need, most blocks would hold
    zeros only.

    The row sample tells that one value dominates. Without it (the negative control) the typical block has no
    spread: nothing could be tested, one outlying row would go unnoticed, and there would be no interval.
    """
    distribution, n, g = HARD["Bernoulli 0.01"], 30_000, np.random.default_rng(7)
    x = next(portions(distribution, n, 40, g))
    sample = row_sample(x, g)
    found = answer_rule(fine_moments(x, 945), *sample, 0.99)
    few = Finding.DOMINATED_BY_FEW_ROWS  # news of another kind, and true here
    assert (found.status == few).all() and (found.intervals.cantelli_reason == NoInterval.GIVEN).all()
    assert np.mean((found.estimate - 0.01) ** 2) * n / distribution.sd**2 <= most_nmse(40, 2.0)
    x[:, 5] = 1e6
    outlying = answer_rule(fine_moments(x, 945), *sample, 0.99)
    assert (outlying.status == Finding.CONTAMINATED | few).all() and (outlying.n_screened_out == 1).all()
    assert np.mean((outlying.estimate - 0.01) ** 2) * n / distribution.sd**2 <= most_nmse(40, 2.0)
    blind = answer_rule(fine_moments(x, 945), None, None, 0.99)
    assert (blind.status == 0).all() and not (blind.path_margin > 0).any()
    assert (blind.intervals.cantelli_reason == NoInterval.CONSTANT_BLOCKS).all()


@pytest.mark.parametrize("n_blocks", [7, 21, 101])
def test_given_numbers_of_blocks_raise_no_alarm(n_blocks):
    n_fine = n_blocks * (1023 // n_blocks - (1 - 1023 // n_blocks % 2))
    for name in ("normal", "lognormal", "Pareto 3", "Poisson 0.3"):
        got = tally(REGULAR[name], CLEAN, 20_000, 60, seed=3, n_blocks=n_blocks, n_fine=n_fine)
        assert got.flagged <= most_events(60, 0.002), (name, got)
        assert got.cantelli_given == 60 and 60 - got.exact <= most_events(60, 0.01), (name, got)


def test_few_rows_for_five_blocks():
    """39 rows: the sample mean, its own risk, and a status that promises nothing; 40 rows: five blocks."""
    distribution, g = REGULAR["normal"], np.random.default_rng(0)
    for n, plain in ((39, True), (40, False)):
        x = distribution.draw(g, (2000, n))
        found = answer_rule(fine_moments(x, 105), *row_sample(x, g), 0.99)
        assert ((found.status & Finding.SAMPLE_MEAN) > 0).all() == plain
        np.testing.assert_allclose(found.plain_estimate, x.mean(axis=1), atol=1e-12)
        nmse = np.mean(found.estimate**2) * n
        assert nmse <= most_nmse(2000, 1.0 if plain else 1.6)
