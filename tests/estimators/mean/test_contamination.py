"""An assumed number of arbitrary rows: how many blocks it asks for, and intervals that allow for it."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from flat import flat
from mean_lakes import write

import distmom as dm
from distmom.estimators.mean.contamination import outlying_number
from distmom.estimators.survey import Surveyor
from distmom.inference import intervals as rule_intervals
from distmom.inference.adaptive import answer_rule
from distmom.inference.status import NoInterval
from distmom.numerics.blocks.moments import Moments
from distmom.theory.bounds import width_factor
from distmom.theory.intervals import order_level, order_rank
from distmom.theory.ladder import fine_blocks
from distmom.theory.planning import best_blocks
from distmom.theory.repeated import repeated_margin

G = np.random.default_rng(0)
X = G.standard_t(3, 20_060)  # 20 rows in each of 1,003 = 17 * 59 fine blocks


def half(found: dm.MeanResult) -> float:
    assert found.interval is not None, found.interval_reason
    return (found.interval[1] - found.interval[0]) / 2


def test_a_share_counts_as_it_is_written() -> None:
    """In floats 0.07 * 100 exceeds 7, and its ceiling would be 8."""
    assert outlying_number(0.07, 100) == 7 and math.ceil(0.07 * 100) == 8
    for percent in range(1, 50):
        assert outlying_number(percent / 100, 10_000) == 100 * percent
    assert [outlying_number(0.01, n) for n in (1, 100, 101, 150)] == [1, 1, 2, 2]
    assert outlying_number(3, 10) == 3


def test_ten_rows_ask_for_59_blocks() -> None:
    found = dm.mean(X, contamination=10, rng=0)
    assert (found.n_blocks, found.interval_kind) == (59, "cantelli")
    assert found.notes == ("allows for 10 arbitrary rows",)
    assert found.block_size == (340, 340)
    assert found.contamination == 10
    told = dm.explain(dm.mean, X, contamination=10)
    assert (told["n_blocks"], told["contamination"], told["fine_blocks"]) == (59, 10, 1003)
    assert dm.explain(dm.mean, X)["contamination"] is None


@pytest.mark.parametrize("options", [{}, {"order": "stored"}, {"fine": "many"}], ids=str)
def test_the_cantelli_width_is_that_with_arbitrary_blocks(options: dict[str, Any]) -> None:
    """The same blocks with and without: the widths differ by the factors alone."""
    clean = flat(dm.mean)(
        X, n_blocks=59, interval="cantelli", rng=0, **{k: v for k, v in options.items() if k != "fine"}
    )
    found = flat(dm.mean)(X, contamination=10, rng=0, **options)
    if "fine" not in options:  # other fine blocks, other labels
        assert np.array_equal(found.block_estimates, clean.block_estimates)
        assert half(found) / half(clean) == pytest.approx(width_factor(59, 0.01, 10) / width_factor(59, 0.01))
    least = dm.mean(X, contamination=10, rng=0, blocks=21)
    assert half(least) > 5 * half(found)  # more than twice the rows, but no more: finite, and useless


def test_the_order_interval_takes_its_ranks_from_the_other_blocks() -> None:
    found = dm.mean(X, contamination=10, interval="order", rng=0)
    rank = order_rank(59, 0.01, 10)
    assert rank is not None and rank < order_rank(59, 0.01)  # type: ignore[operator]
    ordered = np.sort(found.block_estimates)
    assert found.interval == (ordered[rank - 1], ordered[59 - rank])
    assert found.actual_level == order_level(59, rank, 10) >= 0.99
    few = dm.mean(X, contamination=10, interval="order", rng=0, blocks=21)
    assert few.interval == (np.sort(few.block_estimates)[0], np.sort(few.block_estimates)[20])
    many = dm.mean(X, contamination=10, interval="order", confidence_level=0.9999, rng=0, blocks=21)
    assert many.interval is None and many.interval_reason == "too few blocks for this confidence level"


def test_repeated_partitions_allow_for_arbitrary_rows_too() -> None:
    found = dm.mean(X, contamination=10, rng=0, blocks=dm.RandomBlocks(repeats=3))
    k = best_blocks(X.size, 0.01, 10, repeated=True)
    assert found.n_blocks == k and found.block_estimates.size == 3 * k
    clean = dm.mean(X, rng=0, blocks=dm.RandomBlocks(k, repeats=3))
    assert np.array_equal(found.block_estimates, clean.block_estimates)
    right = repeated_margin(1.0, k, 0.01, 10) / repeated_margin(1.0, k, 0.01)
    assert half(found) / half(clean) == pytest.approx(right)


@pytest.mark.parametrize("outlying", [1e12, -1e12, np.inf, 30.0])
@pytest.mark.parametrize("options", [{}, {"repeats": 3}], ids=["one partition", "three"])
def test_ten_arbitrary_rows_are_within_the_interval(outlying: float, options: dict[str, Any]) -> None:
    """Wherever they are; the sample mean is lost. (Student 3: the mean is 0.)"""
    x = X.copy()
    x[G.permutation(x.size)[:10]] = outlying
    found = flat(dm.mean)(x, contamination=10, rng=0, **options)
    assert found.interval is not None and found.interval[0] < 0.0 < found.interval[1]
    assert abs(found.estimate) < 0.1
    if abs(outlying) > 1e3:
        assert found.flags == ("contaminated",), "flags stay, as for any given number of blocks"


def test_non_finite_blocks_count_if_they_are_more() -> None:
    x = X.copy()
    x[[5, 400, 9_000]] = np.inf
    three = dm.mean(x, interval="cantelli", rng=0, blocks=59)
    assert three.n_non_finite_blocks == 3
    assert half(dm.mean(x, contamination=2, rng=0, blocks=59)) == half(three)
    assert half(dm.mean(x, contamination=3, rng=0, blocks=59)) == half(three)
    five = half(dm.mean(x, contamination=5, rng=0, blocks=59))
    assert five / half(three) == pytest.approx(width_factor(59, 0.01, 5) / width_factor(59, 0.01, 3))


def test_no_arbitrary_row_is_a_number_too() -> None:
    found = dm.mean(X, contamination=0, rng=0)
    assert found.n_blocks == best_blocks(X.size, 0.01) == 7
    assert found.notes == ("allows for 0 arbitrary rows",)


# --- how the rows are counted


def test_a_share_is_of_the_rows_that_pass(tmp_path: Path) -> None:
    for i in range(4):
        write(tmp_path / f"{i}.parquet", {"x": X[i * 1000 : (i + 1) * 1000], "u": np.arange(1000) % 4})
    found = dm.mean(tmp_path, "x", where="u = 1", contamination=0.01, rng=0)
    assert found.n_used == 1_000
    assert found.notes == ("allows for 1% of arbitrary rows: the mean of the others in a window",)
    assert dm.mean(tmp_path, "x", where="u = 1", contamination=10, rng=0).n_blocks == best_blocks(
        1_000, 0.01, 10
    )
    with pytest.raises(dm.ConfigError, match=r"contamination: 500 arbitrary rows of 1,000"):
        dm.mean(tmp_path, "x", where="u = 1", contamination=500, rng=0)
    with pytest.raises(dm.NoAnswerError, match="filter"):
        dm.mean(tmp_path, "x", where="u = 9", contamination=1, rng=0)
    told = dm.explain(dm.mean, tmp_path, "x", where="u = 1", contamination=10)
    assert told["contamination"] == 10 and "without" in told["filter"]


def test_files_are_counted_where_they_are_blocks(tmp_path: Path) -> None:
    for i in range(400):
        write(tmp_path / f"{i:03}.parquet", {"x": X[i * 20 : (i + 1) * 20]})
    found = dm.mean(tmp_path, contamination=0.01, rng=0, blocks=dm.FileBlocks())
    # 4 of 400 files; cells are drawn by hash, so blocks hold about as many rows
    assert best_blocks(400, 0.01, 4) == 25
    assert found.notes[0] == "allows for 4 arbitrary files" and 22 <= found.n_blocks <= 25
    for i in range(4):
        write(tmp_path / f"{i:03}.parquet", {"x": np.full(20, 1e9)})
    outlying = dm.mean(tmp_path, contamination=4, rng=0, blocks=dm.FileBlocks())
    assert outlying.interval is not None and outlying.interval[0] < 0.0 < outlying.interval[1]
    with pytest.raises(dm.ConfigError, match=r"contamination: 200 arbitrary files of 400 .* at most 199"):
        dm.mean(tmp_path, contamination=200, rng=0, blocks=dm.FileBlocks())


def test_units_are_counted_where_they_are_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """As many blocks as for many units, whose number is not known before; few units leave no interval."""
    u = np.arange(20_060) % 2_006
    table = {"x": X, "u": u}
    clean = dm.mean(table, "x", contamination=10, rng=0, blocks=dm.UnitBlocks("u"))
    assert clean.notes[0] == "allows for 10 arbitrary units"
    assert clean.n_blocks == best_blocks(10**9, 0.01, 10)
    outlying = {"x": np.where(u < 10, 1e9, X), "u": u}
    found = dm.mean(outlying, "x", contamination=10, rng=0, blocks=dm.UnitBlocks("u"))
    assert half(found) < 2.0 and found.interval is not None
    assert found.interval[0] < 0.0 < found.interval[1]
    assert (
        abs(dm.mean(outlying, "x", rng=0, blocks=dm.UnitBlocks("u", 9)).estimate) < 0.1
    )  # the rows are left out
    monkeypatch.setattr(Surveyor, "means", lambda *_: {})
    assert dm.mean(outlying, "x", rng=0, blocks=dm.UnitBlocks("u", 9)).estimate > 1e6, (
        "nine blocks are outvoted"
    )
    given = dm.mean(outlying, "x", contamination=10, rng=0, blocks=dm.UnitBlocks("u", 45))
    assert given.n_blocks == 45 and half(given) > half(found)
    few = dm.mean(
        {"x": X, "u": np.arange(20_060) % 20}, "x", contamination=10, rng=0, blocks=dm.UnitBlocks("u")
    )
    assert few.n_units == 20 and few.interval is None
    assert few.interval_reason == NoInterval.VACUOUS.words
    with pytest.raises(dm.ConfigError, match=r"a share as contamination: units are only counted while"):
        dm.mean(table, "x", contamination=0.01, rng=0, blocks=dm.UnitBlocks("u"))


def test_all_arbitrary_rows_may_lie_in_one_group() -> None:
    """A large group has its interval, a small one the reason why not; 33 rows ask for more than 66 blocks."""
    table = pa.table({"x": X, "g": ["small"] * 60 + ["large"] * (X.size - 60)})
    large, small = dm.mean(table, "x", by="g", contamination=33, rng=0)
    assert large.group == {"g": "large"} and large.interval is not None
    assert small.interval is None and small.interval_reason == "fewer rows than blocks"
    table = pa.table({"x": X, "g": ["small"] * 600 + ["large"] * (X.size - 600)})
    _, middle = dm.mean(table, "x", by="g", contamination=33, rng=0)
    assert middle.interval is not None and half(middle) > half(large)


def test_as_many_arbitrary_blocks_as_others_leave_no_interval() -> None:
    """Seven blocks with four arbitrary ones: no number is printed, but the reason."""
    moments = Moments(np.full((1, 7), 50), G.normal(size=(1, 7)), np.full((1, 7), 49.0))
    found = answer_rule(moments, X[None, :100], np.array([100]), 0.99, n_blocks=7, outlying=4).intervals
    assert (
        found.cantelli_reason[0] == NoInterval.VACUOUS
        and np.isnan([found.cantelli_low, found.cantelli_high]).all()
    )
    assert found.order_reason[0] == NoInterval.TOO_FEW_BLOCKS and np.isnan(found.order_low[0])
    assert "outlying" in NoInterval.VACUOUS.words
    seven = answer_rule(moments, X[None, :100], np.array([100]), 0.99, n_blocks=7, outlying=10**6).intervals
    assert seven.cantelli_reason[0] == NoInterval.VACUOUS


# --- what cannot be had


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"contamination": 10_030}, ["10,030 arbitrary rows of 20,060", "at most 10,029"]),
        ({"contamination": 10, "n_blocks": 20}, ["10 arbitrary rows", "20 blocks", "more than 20", "59"]),
        ({"contamination": 10, "block_size": 1_000}, ["10 arbitrary", "19 blocks", "more than 20"]),
        ({"contamination": 0.5}, ["contamination", "0.5"]),
        ({"contamination": -1}, ["contamination", "-1"]),
        ({"contamination": True}, ["contamination", "True"]),
        ({"contamination": "1%"}, ["contamination", "'1%'"]),
        ({"contamination": float("nan")}, ["contamination", "nan"]),
        ({"contamination": 3, "scheme": "swor"}, ["SampledBlocks", "contamination", "use RandomBlocks"]),
        ({"contamination": 3, "scheme": "monte_carlo"}, ["SampledBlocks", "contamination"]),
        ({"contamination": 3, "n_blocks": "paper"}, ["contamination", "blocks='paper'", "use blocks='auto'"]),
        ({"contamination": 3, "interval": "closed-form"}, ["contamination", "interval='closed-form'"]),
    ],
    ids=str,
)
def test_errors_name_numbers_and_the_remedy(options: dict[str, Any], words: list[str]) -> None:
    with pytest.raises(dm.ConfigError) as caught:
        flat(dm.mean)(X, rng=0, **options)
    text = str(caught.value)
    assert "\n" not in text and all(word in text for word in words), text


def test_more_blocks_than_can_be_kept() -> None:
    x = np.zeros(3_000_000, np.float32)
    with pytest.raises(
        dm.ConfigError, match=r"300,000 .* ask for 1,\d+,\d+ blocks.*1,000,000.*above 600,000"
    ):
        dm.mean(x, contamination=300_000, rng=0)
    with pytest.raises(dm.ConfigError, match=r"600,000 arbitrary rows ask for .* blocks.*where"):
        dm.mean(x, contamination=600_000, rng=0)
    with pytest.raises(dm.ResourceError, match=r"projected memory .* exceeds the limit of 500 MB"):
        dm.mean(x, contamination=100_000, rng=0, executor=dm.Threads(1, memory_limit="500MB"))


def test_a_per_cent_of_many_rows() -> None:
    """10,000 arbitrary rows of a million: some 40,000 blocks of 25 rows, and the answer holds."""
    g = np.random.default_rng(3)
    x = g.normal(size=1_000_000)
    x[g.permutation(x.size)[:10_000]] = 1e9
    found = dm.mean(x, contamination=10_000, rng=0)
    assert found.n_blocks > 39_000 and found.interval is not None
    assert found.interval[0] < 0.0 < found.interval[1] and abs(found.estimate) < 0.2
    assert 0.1 < half(found) < 0.5
    broken = dm.mean(x, blocks=101, rng=0)
    assert broken.status == "share screened out", "101 blocks bear 50 rows: the row sample bears the others"


def test_thousands_of_unequal_blocks_have_a_bound_in_closed_form(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is never below the solved one, and at most as wide as if all were as small as the smallest."""
    g = np.random.default_rng(0)
    for non_finite in (0, 3, 20):
        size = g.integers(10, 60, (1, 61))
        spread = np.array([1.0])
        solved = rule_intervals._sized_margin(size, spread, 61, non_finite, 0.01)
        smallest = spread * math.sqrt(size.mean() / size.min()) * width_factor(61, 0.01, non_finite)
        monkeypatch.setattr(rule_intervals, "MOST_SOLVED", 60)
        closed = rule_intervals._sized_margin(size, spread, 61, non_finite, 0.01)
        monkeypatch.undo()
        assert solved * (1 - 1e-9) <= closed <= smallest, non_finite
    lone = rule_intervals._sized_margin(np.array([[1] * 1001 + [9] * 1000]), np.ones(1), 2001, 1000, 0.01)
    assert lone == pytest.approx(math.sqrt(10001 / 2001) * width_factor(2001, 0.01, 1000)), "as the smallest"


def test_the_widths_of_fine_blocks_are_what_a_given_number_has() -> None:
    """Contamination takes the fine blocks of its number of blocks, so the same labels."""
    assert fine_blocks(59) == 1003
    given, assumed = (flat(dm.mean)(X, rng=0, **o) for o in ({"n_blocks": 59}, {"contamination": 10}))
    assert np.array_equal(given.block_estimates, assumed.block_estimates) and given.path == assumed.path
