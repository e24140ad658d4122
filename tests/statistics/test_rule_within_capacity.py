"""Damaged data within capacity: the answer keeps its risk and intervals, and says it was repaired.

Thresholds as in the tests of false alarms: the 1 - 1e-4 quantile under the claim. The sample mean and five
blocks are the negative controls: the same data must break them.
"""

from __future__ import annotations

import numpy as np
import pytest
from rule_distributions import DAMAGES, REGULAR, Damage, answer, most_events, most_nmse, portions, tally, to

from distmom.inference.adaptive import answer_rule
from distmom.inference.status import Finding, flags_of
from distmom.numerics.blocks.moments import Moments
from distmom.theory.ladder import fine_blocks

REPEATS = {1000: 120, 10_000: 40, 30_000: 20}

# claimed nMSE and flag; damages of too few rows or beyond the breakdown point at that n are left out
WITHIN = [
    ("rows 0.01% = 10⁶", 10_000, 2.0, 0.999),
    ("rows 0.01% = 10⁶", 30_000, 2.0, 0.999),
    ("rows 0.1% = 10⁶", 1000, 2.0, 0.999),
    ("rows 0.1% = 10⁶", 10_000, 2.0, 0.999),
    ("rows 0.1% = 10⁶", 30_000, 2.0, 0.999),
    ("rows 1% = 10⁶", 1000, 2.5, 0.999),
    ("rows 1% = 10⁶", 10_000, 2.2, 0.999),
    ("rows 1% = 10⁶", 30_000, 2.6, 0.999),
    ("rows 0.5% = ±10⁴σ", 1000, 2.2, 0.999),
    ("rows 0.5% = ±10⁴σ", 10_000, 2.0, 0.999),
    ("rows 0.5% = ±10⁴σ", 30_000, 2.4, 0.999),
    ("units 1% = 10⁶", 1000, 2.0, 0.999),
    ("units 1% = 10⁶", 10_000, 2.0, 0.999),
    ("units 5% = 10⁶", 1000, 2.1, 0.999),
    ("units 5% = 10⁶", 10_000, 2.1, 0.999),
    ("units 10% = 10⁴", 1000, 2.6, 0.999),
    ("units 10% = 10⁴", 10_000, 2.3, 0.999),
    ("units 2% × 1000", 1000, 2.1, 0.85),
    ("units 2% × 1000", 10_000, 2.0, 0.95),
]


@pytest.mark.parametrize("name", list(REGULAR))
@pytest.mark.one_in(12)
def test_risk_and_coverage_within_capacity(name):
    """nMSE and flag as listed, coverage of order >= 0.96, cantelli >= 0.99; the sample mean breaks."""
    for damage, n, nmse, flag in WITHIN:
        repeats = REPEATS[n]
        got = tally(REGULAR[name], DAMAGES[damage], n, repeats, seed=n)
        place = (damage, n, got)
        assert got.nmse <= most_nmse(repeats, nmse), place
        assert repeats - got.flagged <= most_events(repeats, 1 - flag), place
        assert repeats - got.order <= most_events(repeats, 0.04), place
        assert repeats - got.exact <= most_events(repeats, 0.01), place
        if "1000" not in damage:  # values times 1000 need not move the mean of a symmetric distribution
            assert got.plain_nmse > 100 * nmse, place


@pytest.mark.parametrize("name", ["normal", "Student 3", "lognormal", "Pareto 3"])
def test_five_blocks_break_where_the_rule_holds_and_are_flagged(name):
    """Negative control: ten outlying rows of 10,000 beat five blocks; their finer levels say so."""
    distribution, damage = REGULAR[name], DAMAGES["rows 0.1% = 10⁶"]
    five = tally(distribution, damage, 10_000, 40, seed=1, n_blocks=5, n_fine=fine_blocks(5))
    assert five.nmse > 1e6
    assert 40 - five.flagged <= most_events(40, 0.05)
    assert tally(distribution, damage, 10_000, 40, seed=1).nmse <= most_nmse(40, 2.0)


def test_the_number_screened_out_is_the_number_of_outlying_blocks():
    distribution, g = REGULAR["normal"], np.random.default_rng(2)
    x = next(portions(distribution, 10_000, 30, g))
    found = answer(x, Damage(0.01, to(1e6)), distribution, g)
    # 100 rows thrown at 945 blocks
    expected = 945 * (1 - (1 - 1 / 945) ** 100)
    assert abs(found.n_screened_out.mean() - expected) < 5 * np.sqrt(100 * 100 / 945 / 2 / 30)
    assert all(flags_of(s) == ("contaminated",) for s in found.status)


def test_infinite_rows_are_screened_out_like_outlying_ones():
    distribution, g = REGULAR["lognormal"], np.random.default_rng(3)
    x = next(portions(distribution, 10_000, 60, g))
    x[:, ::1000] = np.inf
    x[:, 500::2000] = -np.inf
    with np.errstate(invalid="ignore"):
        found = answer(x, Damage(), distribution, g)
    assert np.mean((found.estimate - distribution.mean) ** 2) * 10_000 / distribution.sd**2 <= most_nmse(
        60, 2.0
    )
    assert (found.n_non_finite == 15).all()
    assert np.isin(found.n_screened_out, [15, 16]).all()  # the tail of the distribution may add a block
    assert not np.isfinite(found.plain_estimate).any()


@pytest.mark.parametrize(("k", "n_non_finite"), [(21, 3), (63, 10), (9, 1)])
def test_a_given_number_with_non_finite_blocks_covers(k, n_non_finite):
    """Both intervals count non-finite blocks as arbitrary; claim: each covers with probability >= 0.99.

    The non-finite blocks are infinite on one side: ignoring them, the order interval would be off centre.
    """
    n_fine, repeats = fine_blocks(k), 600
    g = np.random.default_rng(k)
    mean = g.normal(size=(repeats, n_fine)) / np.sqrt(10)
    m2 = g.chisquare(9, (repeats, n_fine))
    step = n_fine // k
    mean[:, : n_non_finite * step : step] = np.inf
    m2[~np.isfinite(mean)] = np.nan
    found = answer_rule(Moments(np.full(mean.shape, 10), mean, m2), None, None, 0.99, n_blocks=k)
    inner = found.intervals
    assert (found.n_non_finite == n_non_finite).all() and ((found.status & Finding.CONTAMINATED) > 0).all()
    assert (inner.cantelli_reason == 0).all()
    assert np.sum((inner.cantelli_low > 0) | (inner.cantelli_high < 0)) <= most_events(repeats, 0.01)
    if k > 9:
        assert (inner.order_reason == 0).all() and (inner.order_level >= 0.99).all()
        assert np.sum((inner.order_low > 0) | (inner.order_high < 0)) <= most_events(repeats, 0.01)
