"""The interval of a ratio: every R for which N - R D may be 0, by a plain scan; none without an end."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest

import distmom as dm
from distmom.inference.adaptive import answer_rule
from distmom.inference.answers import RuleAnswer
from distmom.inference.fieller import Quotients, fieller_ends, uneven
from distmom.numerics.blocks.moments import Moments
from distmom.numerics.kernels.components import jackknife_of_parts
from distmom.numerics.kernels.evaluate import block_sums

K = 9


def rule(n_groups: int, values: Any, variance: Any) -> RuleAnswer:
    shape = (n_groups, K)
    blocks = Moments(np.full(shape, 50), values.reshape(shape), variance.reshape(shape) * 50 * 49.0)
    return answer_rule(blocks, None, None, 0.9, n_blocks=K, block_source="statistics")


def quotients(rng: np.random.Generator, means: list[float], spread: float) -> Quotients:
    """Blocks of several groups with the ratio 0.7, and denominators of these means."""
    below = np.repeat(means, K) + spread * rng.normal(size=K * len(means))
    above = 0.7 * below + 0.5 * spread * rng.normal(size=below.size)
    each = np.tile([spread**2 * 0.74, spread**2 * 0.7, spread**2], (below.size, 1))
    return Quotients(above, below, each, np.repeat(np.arange(len(means)), K))


def test_ends_are_those_of_a_scan() -> None:
    means = [5.0, 2.5, 1.6]
    blocks = quotients(np.random.default_rng(0), means, 1.0)
    estimate = np.full(3, 0.7)
    found = fieller_ends(blocks, estimate, partial(rule, 3))
    scan = np.linspace(-2.0, 4.0, 1201)
    for g, d in enumerate(
        means
    ):  # the slow twin: the Cantelli interval of N - R D itself, for one R after the other
        mine = slice(g * K, g * K + K)
        rest = np.array([blocks.numerator[mine] - r * blocks.denominator[mine] for r in scan])
        of_n, both, of_d = blocks.components[mine].T
        spread = np.array([of_n - 2.0 * r * both + r * r * of_d for r in scan])
        one = rule(scan.size, rest, spread).intervals
        outside = scan[(one.cantelli_low > 0.0) | (one.cantelli_high < 0.0)]
        low, high = outside[outside < 0.7].max(), outside[outside > 0.7].min()
        interval, reason = found.shown(g)
        assert reason is None and interval == pytest.approx((low, high), abs=0.006), d


def test_without_an_end_there_is_no_interval() -> None:
    blocks = quotients(np.random.default_rng(1), [5.0, 0.3], 1.0)
    found = fieller_ends(blocks, np.full(2, 0.7), partial(rule, 2))
    assert found.unbounded.tolist() == [False, True]
    assert found.shown(0)[0] is not None
    interval, reason = found.shown(1)
    assert interval is None and reason is not None and "denominator of the ratio may be 0" in reason


def test_constant_denominators_leave_the_interval_of_the_numerator() -> None:
    blocks = quotients(np.random.default_rng(2), [4.0], 1.0)
    half = np.full(K, 0.5)
    components = blocks.components * np.array([1.0, 0.0, 0.0])
    found = fieller_ends(
        Quotients(blocks.numerator, half, components, blocks.group), np.array([5.6]), partial(rule, 1)
    )
    plain = rule(1, blocks.numerator / half, components[:, 0] / 0.25).intervals
    assert found.shown(0)[0] == pytest.approx((plain.cantelli_low[0], plain.cantelli_high[0]), rel=1e-12)


@pytest.mark.parametrize("weighted", [False, True])
def test_covariances_of_parts_are_those_of_leaving_rows_out(weighted: bool) -> None:
    kernel, rng = dm.kernels.concordance(), np.random.default_rng(3)
    x = np.round(rng.normal(size=(30, 2)), 1)
    weights = (rng.exponential(size=30),) if weighted else None
    found = jackknife_of_parts(kernel, block_sums(kernel, x, weights=weights), weights)
    left = []
    for i in range(30):
        mass = (np.delete(weights[0], i),) if weights else None
        left.append([part.mean for part in block_sums(kernel, np.delete(x, i, axis=0), weights=mass)])
    np.testing.assert_allclose(found, np.cov(np.array(left).T, ddof=0) * 29, rtol=1e-8)


def rare(rng: np.random.Generator, n: int, share: float) -> dict[str, Any]:
    outcome = (rng.random(n) < share).astype(float)
    return {"outcome": outcome, "score": rng.normal(size=n) + outcome}


OPTIONS: dict[str, Any] = {"kernel": "concordance", "rng": 0, "executor": dm.Threads(1)}
TRUTH = 0.7602  # of normal scores one standard deviation apart


def test_rare_outcomes() -> None:
    """Order statistics of block ratios would mislead, so that the default is the Cantelli interval there."""

    def run(share: float, **options: Any) -> Any:
        data = rare(np.random.default_rng(4), 9 * 400, share)
        return dm.ustatistic(data, ["outcome", "score"], blocks=9, **OPTIONS, **options)

    found = run(0.01, confidence_level=0.9)
    assert found.interval_kind == "cantelli" and found.interval[0] < TRUTH < found.interval[1]
    asked = run(0.01, confidence_level=0.9, interval="order")
    assert asked.interval_kind == "order" and asked.estimate == found.estimate
    few = run(0.003)
    assert few.interval is None and "denominator of the ratio may be 0" in few.interval_reason
    assert run(0.5).interval_kind == "order"
    nothing = np.full(5, np.nan)
    assert uneven(np.array([0.0, 0.0, 0.1, 0.2, 0.3]), nothing) and not uneven(np.full(5, 0.5), nothing)
    assert uneven(np.ones(5), np.full(5, 0.2)) and not uneven(np.ones(5), np.full(5, 0.1))
    assert not uneven(nothing, nothing)


def test_small_blocks_of_the_rule_without_a_denominator() -> None:
    """Half of the fine blocks have no pair of different outcomes, and the answer is that of all rows."""
    data = rare(np.random.default_rng(5), 40_000, 0.004)
    found = dm.ustatistic(data, ["outcome", "score"], **OPTIONS)
    assert np.isfinite(found.estimate) and abs(found.estimate - found.plain_estimate) < 0.06
    with pytest.raises(dm.NoAnswerError, match="use fewer blocks"):
        dm.ustatistic(
            rare(np.random.default_rng(6), 9_000, 0.0005), ["outcome", "score"], **OPTIONS, blocks=45
        )


@pytest.mark.parametrize("pairs", ["complete", "disjoint"])
def test_groups_weights_and_disjoint_pairs(pairs: str) -> None:
    rng = np.random.default_rng(7)
    data = rare(rng, 6_000, 0.3) | {"name": np.repeat(["a", "b"], 3_000), "w": np.ones(6_000)}
    options: dict[str, Any] = {**OPTIONS, "by": "name", "blocks": 9, "interval": "cantelli", "pairs": pairs}
    found = dm.ustatistic(data, ["outcome", "score"], **options)
    for one in found:
        assert one.interval[0] < TRUTH < one.interval[1]
        alone = {name: column[data["name"] == one.group["name"]] for name, column in data.items()}
        assert abs(alone["outcome"].mean() - 0.3) < 0.05
    if pairs == "complete":
        weighted = dm.ustatistic(data, ["outcome", "score"], **options, weights="w")
        for one, other in zip(found, weighted, strict=True):
            assert other.interval == pytest.approx(one.interval, rel=1e-9)
