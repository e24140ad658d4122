"""Several partitions against the rule on each of them, one at a time."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rule_groups import DISTRIBUTIONS, OUTLYING, moments_of

from distmom.inference.adaptive import answer_rule
from distmom.inference.status import Finding, NoInterval, flags_of
from distmom.numerics.blocks.moments import Moments
from distmom.theory.bounds import width_factor
from distmom.theory.ladder import ladder_levels
from distmom.theory.repeated import repeated_margin

FAST = settings(derandomize=True, deadline=None)
DELTA = 1.0 - 0.99


def partitions(x: np.ndarray, repeats: int, n_fine: int, g: np.random.Generator) -> Moments:
    """Moments of shape (repeats, n_fine): rows dealt to blocks in equal numbers, up to one."""
    dealt = [moments_of(x, g.permutation(np.arange(x.size) % n_fine), n_fine) for _ in range(repeats)]
    return Moments(*map(np.stack, zip(*dealt, strict=True)))


def batch(seed: int, sizes: list[int], distribution: str, outlying: str, repeats: int, n_fine: int):
    """Groups of any sizes: fine blocks (groups, repeats, n_fine), samples, and the rows themselves."""
    g = np.random.default_rng(seed)
    xs = [OUTLYING[outlying](g, DISTRIBUTIONS[distribution](g, n), np.zeros(n, int)) for n in sizes]
    rows = Moments(*map(np.stack, zip(*(partitions(x, repeats, n_fine, g) for x in xs), strict=True)))
    sample = np.full((len(sizes), 128), np.nan)
    for line, x in zip(sample, xs, strict=True):
        line[: min(x.size, 128)] = g.permutation(x)[:128]
    return rows, sample, np.array([min(n, 128) for n in sizes]), xs


def pooled_median(blocks: list[float]) -> float:
    numbers = sorted(b for b in blocks if not math.isnan(b))
    return numbers[(len(numbers) - 1) // 2] if numbers else math.nan


@FAST
@given(
    st.integers(0, 2**32),
    st.lists(st.integers(0, 3_000), min_size=1, max_size=3),
    st.sampled_from(["normal", "pareto", "constant", "mostly zero"]),
    st.sampled_from(["none", "one", "rows", "infinite"]),
    st.integers(2, 4),
    st.sampled_from(["auto", 7, 35]),
)
def test_the_answer_is_the_median_over_all_blocks(
    seed, sizes, distribution, outlying, repeats, n_blocks
) -> None:
    rows, sample, n_sample, _ = batch(seed, sizes, distribution, outlying, repeats, 105)
    found = answer_rule(rows, sample, n_sample, 0.99, n_blocks=n_blocks)
    each = [
        answer_rule(rows.at((slice(None), r)), sample, n_sample, 0.99, n_blocks=n_blocks)
        for r in range(repeats)
    ]
    first = each[0]
    assert np.array_equal(found.plain_estimate, first.plain_estimate, equal_nan=True)
    for g in range(len(sizes)):
        if first.status[g] & (Finding.NO_ROWS | Finding.SAMPLE_MEAN):
            assert (found.status[g], found.n_blocks[g]) == (first.status[g], first.n_blocks[g])
            np.testing.assert_equal(found.estimate[g], first.estimate[g])
            continue
        blocks = [b for one in each for b in one.block_estimates[g][: one.n_blocks[g]].tolist()]
        non_finite = sum(not math.isfinite(b) for b in blocks)
        kept = found.block_estimates[g][: len(blocks)]
        np.testing.assert_equal(kept, blocks)
        assert found.n_blocks[g] == min(one.n_blocks[g] for one in each)
        assert found.n_non_finite[g] == max(one.n_non_finite[g] for one in each)
        finite = non_finite < (len(blocks) + 1) // 2
        assert bool(found.status[g] & Finding.NO_FINITE_ANSWER) == (not finite) or n_blocks == "auto"
        if not found.status[g] & Finding.NO_FINITE_ANSWER:
            answers = blocks if n_blocks != "auto" else [float(one.estimate[g]) for one in each]
            assert found.estimate[g] == pooled_median(answers)
            flags = ~int(Finding.NO_FINITE_ANSWER)
            if not first.status[g] & Finding.NO_FINITE_ANSWER:
                assert found.status[g] & flags == first.status[g] & flags, "flags are those of the first one"


@FAST
@given(st.integers(0, 2**32), st.sampled_from(["normal", "pareto"]), st.integers(2, 5), st.integers(0, 3))
def test_the_cantelli_interval_at_a_given_number(seed, distribution, repeats, outlying) -> None:
    """Equal blocks: the scale is the lower median of the partitions', each seen in its own interval."""
    k = 15
    rows, sample, n_sample, _ = batch(seed, [2_100], distribution, "none", repeats, 105)
    found = answer_rule(rows, sample, n_sample, 0.99, n_blocks=k, outlying=outlying).intervals
    scales = []
    for r in range(repeats):
        one = answer_rule(rows.at((slice(None), r)), sample, n_sample, 0.99, n_blocks=k).intervals
        scales.append((one.cantelli_high[0] - one.cantelli_low[0]) / 2 / width_factor(k, DELTA))
    half = pooled_median(scales) * repeated_margin(1.0, k, DELTA, outlying)
    assert (found.cantelli_high[0] - found.cantelli_low[0]) / 2 == pytest.approx(half, rel=1e-9)
    assert found.cantelli_blocks[0] == k and found.order_reason[0] == NoInterval.NOT_WANTED


@pytest.mark.parametrize("level", [0.9, 0.99, 0.999])
def test_the_cantelli_interval_of_the_automatic_rule(level: float) -> None:
    """At the level with the shortest interval: centre and width from blocks merged by hand."""
    repeats, n_fine, size = 3, 105, 20
    rows, sample, n_sample, _ = batch(5, [n_fine * size], "normal", "none", repeats, n_fine)
    found = answer_rule(rows, sample, n_sample, level).intervals
    levels = ladder_levels(n_fine)
    delta = 1.0 - level
    score = {k: k * repeated_margin(1.0, k, delta) ** 2 for k in levels}
    k = min(score, key=score.__getitem__)
    means = rows.mean[0].reshape(repeats, k, n_fine // k).mean(axis=2)
    assert found.cantelli_blocks[0] == k
    assert found.cantelli_centre[0] == pytest.approx(pooled_median(means.ravel().tolist()), rel=1e-12)
    scales = []
    at = min(levels, key=lambda k: k * width_factor(k, delta) ** 2)
    for r in range(repeats):
        one = answer_rule(rows.at((slice(None), r)), sample, n_sample, level).intervals
        assert one.cantelli_blocks[0] == at
        scales.append(
            (one.cantelli_high[0] - one.cantelli_low[0]) / 2 / width_factor(at, delta) / math.sqrt(at)
        )
    half = pooled_median(scales) * math.sqrt(k) * repeated_margin(1.0, k, delta)
    assert (found.cantelli_high[0] - found.cantelli_low[0]) / 2 == pytest.approx(half, rel=1e-9)


def test_unequal_blocks_have_the_average_variance_of_a_partition() -> None:
    """Twice as many rows in some blocks: the mean of 1/size, the larger one of the two partitions."""
    g = np.random.default_rng(0)
    sizes = np.array([[10, 20, 10, 20, 10, 20, 10], [15, 15, 15, 15, 15, 15, 10]])
    means = g.normal(size=(2, 7)) / np.sqrt(sizes)
    rows = Moments(sizes[None], means[None], ((sizes - 1) * 1.0)[None])
    sample = g.normal(size=(1, 100))
    found = answer_rule(rows, sample, np.array([100]), 0.99, n_blocks=7)
    # the rule's scale of each partition: the larger of the two robust spreads, here divided by sqrt(7)
    spreads = []
    for r in range(2):
        within = np.sort(1.0 / sizes[r])[3]
        mad = 1.4826 * np.median(np.abs(means[r] - np.median(means[r])))
        spreads.append(max(math.sqrt(within), mad) / math.sqrt(7))
    times = max((s.sum() / s).mean() for s in sizes)
    half = min(spreads) * math.sqrt(times) * repeated_margin(1.0, 7, DELTA)
    interval = found.intervals
    assert (interval.cantelli_high[0] - interval.cantelli_low[0]) / 2 == pytest.approx(half, rel=1e-9)
    assert tuple(found.block_size[0]) == (10, 20)


def test_non_finite_blocks_count_as_arbitrary_ones() -> None:
    """One infinite row ruins a block of each partition; eight of them leave no bound, and no answer."""
    g = np.random.default_rng(1)
    x = g.normal(size=1_050)
    wide = {}
    for n_bad in (0, 1, 2, 60):
        y = x.copy()
        y[:n_bad] = np.inf
        rows = partitions(y, 3, 15, np.random.default_rng(2)).each(lambda a: a[None])
        found = answer_rule(rows, y[None, :100], np.array([100]), 0.99, n_blocks=15)
        assert found.n_non_finite[0] == max(np.isinf(rows.mean[0, r]).sum() for r in range(3))
        wide[n_bad] = found.intervals.cantelli_high[0] - found.intervals.cantelli_low[0]
    assert wide[0] < wide[1] < wide[2] and np.isnan(wide[60])
    assert flags_of(found.status[0])[0] == "no finite answer"
    assert found.intervals.cantelli_reason[0] == NoInterval.NO_ANSWER


def test_more_arbitrary_blocks_than_the_bound_can_bear() -> None:
    rows, sample, n_sample, _ = batch(0, [2_000], "normal", "none", 2, 105)
    found = answer_rule(rows, sample, n_sample, 0.99, n_blocks=7, outlying=4)
    assert found.intervals.cantelli_reason[0] == NoInterval.VACUOUS and np.isnan(
        found.intervals.cantelli_low[0]
    )
    constant, sample, n_sample, _ = batch(0, [2_000], "constant", "none", 2, 105)
    found = answer_rule(constant, sample, n_sample, 0.99, n_blocks=7)
    assert found.intervals.cantelli_low[0] == found.estimate[0] == found.intervals.cantelli_high[0] == 0.1


def test_groups_and_portions_do_not_see_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    rows, sample, n_sample, _ = batch(3, [500, 2_000, 0, 4_000, 30], "normal", "rows", 3, 105)
    whole = answer_rule(rows, sample, n_sample, 0.99)
    for g in range(5):
        one = answer_rule(rows.at([g]), sample[[g]], n_sample[[g]], 0.99)
        for name in ("estimate", "status", "n_blocks", "n_non_finite"):
            np.testing.assert_equal(getattr(whole, name)[g], getattr(one, name)[0])
        np.testing.assert_equal(whole.intervals.cantelli_low[g], one.intervals.cantelli_low[0])
    monkeypatch.setattr("distmom.inference.adaptive.CELLS_AT_ONCE", 1)
    apart = answer_rule(rows, sample, n_sample, 0.99)
    np.testing.assert_array_equal(apart.block_estimates, whole.block_estimates)
    np.testing.assert_array_equal(apart.intervals.cantelli_high, whole.intervals.cantelli_high)


def test_files_that_disagree_come_first_as_without_repeats() -> None:
    """Whole files at 1e6: every partition is lost, the cells of files answer, and the status says so."""
    g = np.random.default_rng(4)
    n_files, each = 200, 60
    file = np.repeat(np.arange(n_files), each)
    x = g.normal(size=file.size)
    x[file < 3] = 1e6
    rows = partitions(x, 3, 105, g).each(lambda a: a[None])
    cells = Moments(*(a[None] for a in moments_of(x, g.permutation(n_files)[file], n_files)))
    pad = Moments(*(np.pad(a, ((0, 0), (0, 945 - n_files))) for a in cells))
    sample, n_sample = g.permutation(x)[None, :1024], np.array([1024])
    found = answer_rule(rows, sample, n_sample, 0.99, files=pad)
    alone = answer_rule(rows.at((slice(None), 0)), sample, n_sample, 0.99, files=pad)
    assert found.files_first[0] and found.estimate[0] == alone.estimate[0]
    assert found.intervals.cantelli_low[0] == alone.intervals.cantelli_low[0]
    assert found.status[0] == alone.status[0]
