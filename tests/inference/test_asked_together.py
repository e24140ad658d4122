"""Many variants asked in step: the same bits as one by one, in a few calls of the rule."""

import numpy as np
import pytest

from distmom.inference.variants import lifts, together
from distmom.inference.variants.differences import Paired, compared
from distmom.inference.variants.ratios import RatioBlocks, ratio_steps
from distmom.inference.variants.together import all_answered, answered
from distmom.numerics.blocks.moments import Moments

LEVEL = 0.95


def variant(number: int) -> RatioBlocks:
    """Blocks of a variant: of any size, some with a denominator, outliers or non-finite blocks."""
    random = np.random.default_rng(number)
    n_fine, size = 945, int(random.choice([1, 2, 9, 40, 300]))
    x = random.lognormal(0.1, 1.5, (n_fine, size)) + (number % 5 == 0)
    x[random.random(n_fine) < 0.01 * (number % 4 == 1)] *= 1e6
    if number % 11 == 3:
        x[:40] = np.inf
    with np.errstate(invalid="ignore"):
        m2 = ((x - x.mean(1, keepdims=True)) ** 2).sum(1)
    blocks = Moments(np.full(n_fine, size), x.mean(1), m2)
    below = random.uniform(0.5, 2.0, n_fine) if number % 3 == 0 else None
    return RatioBlocks(blocks, below, n_fine * size)


def told(pair):
    answer, lift = pair
    arrays = (answer.estimate, answer.status, answer.intervals.order_low, answer.intervals.cantelli_high)
    return [a.tobytes() for a in arrays], repr(lift)


@pytest.mark.parametrize("wanted", ["auto", "order", "cantelli", "none"])
@pytest.mark.one_in(2)
def test_variants_together_have_the_bits_of_each_alone(wanted):
    cells = [variant(number) for number in range(7)]
    together_ = all_answered([ratio_steps(one) for one in cells], LEVEL)
    alone = [answered(ratio_steps(one), LEVEL) for one in cells]
    for one, other in zip(together_, alone, strict=True):
        assert np.float64(one.value).tobytes() == np.float64(other.value).tobytes()
        assert one.denominator == other.denominator
        assert one.answer.estimate.tobytes() == other.answer.estimate.tobytes()
        assert one.answer.status.tolist() == other.answer.status.tolist()
    pairs = [Paired(together_[0], one, LEVEL) for one in together_[1:]]
    assert list(map(told, compared(pairs, wanted))) == [told(*compared([p], wanted)) for p in pairs]


def test_lifts_are_found_together_in_portions(monkeypatch):
    """Each of a thousand variants had a calculation of its own."""
    calls = []
    rule = lifts.rule_of
    monkeypatch.setattr(lifts, "rule_of", lambda *a, **k: calls.append(1) or rule(*a, **k))
    ratios = all_answered([ratio_steps(variant(number)) for number in (2, 2, 7, 12)], LEVEL)
    pairs = [Paired(ratios[0], one, LEVEL) for one in ratios[1:]]
    whole, n_together = list(map(told, compared(pairs, "auto"))), len(calls)
    assert n_together <= 10  # a plain fixed-point iteration takes up to 40 rounds
    monkeypatch.setattr(lifts, "VALUES_AT_ONCE", 1)
    assert list(map(told, compared(pairs, "auto"))) == whole
    assert len(calls) > 2 * n_together


def test_the_ends_of_a_lift_are_the_lifts_that_may_be_zero():
    """At an end of the interval the interval of variant - (1 + L) control has its own end at 0."""
    control, one = all_answered([ratio_steps(variant(number)) for number in (2, 7)], LEVEL)
    pair = Paired(control, one, LEVEL)
    lift, (_, blocks) = pair.lift("auto"), answered(pair.steps(), LEVEL)
    for line, end in enumerate((lift.value, *lift.interval)):
        about = blocks.variant - (1.0 + end) * blocks.control
        found = lifts.rule_of(about[None], np.array([blocks.size]), LEVEL)
        at = (found.estimate, found.intervals.order_low, found.intervals.order_high)[line]
        assert abs(at[0]) < 1e-11 * np.abs(blocks.control).mean()


def test_the_rule_is_asked_as_often_for_many_variants_as_for_one(monkeypatch):
    calls = []
    rule = together.answer_rule
    monkeypatch.setattr(together, "answer_rule", lambda *a, **k: calls.append(1) or rule(*a, **k))
    cells = [variant(2) for _ in range(50)]
    answered(ratio_steps(cells[0]), LEVEL)
    n_alone = len(calls)
    all_answered([ratio_steps(one) for one in cells], LEVEL)
    assert len(calls) == 2 * n_alone
