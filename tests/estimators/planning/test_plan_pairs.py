"""`distmom.plan` for kernels of pairs: what all pairs would cost, and what is affordable."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest

import distmom as dm
from distmom.cli.program import program

RBF = dm.kernels.rbf(1.0)


def test_a_generic_kernel_on_a_lake_is_told_its_cost_and_offered_what_is_affordable() -> None:
    found = dm.plan(64e6, kernel=RBF, n_blocks=32)
    first = found.ways[0]
    assert first.n_pairs == 32 * math.comb(2_000_000, 2) and 6e13 < first.n_pairs < 7e13
    assert first.seconds > 3_600
    assert found.recommended.n_pairs <= 5e12 and "hours" in found.why
    assert found.recommended.exact is not None and found.recommended.exact > first.exact
    affordable = found.ways[1]
    assert affordable.n_blocks % 2 == 1 and affordable.n_pairs <= 5e12
    assert "6.4e+13" in str(found)


def test_a_kernel_with_a_fast_form_takes_all_pairs() -> None:
    found = dm.plan(64e6, kernel="gini", confidence_level=0.999)
    assert found.recommended is found.ways[0] and found.recommended.n_pairs == 0
    assert "fast form" in found.why and found.recommended.seconds < 60


def test_small_data_needs_no_budget() -> None:
    found = dm.plan(10_000, kernel=RBF)
    assert found.why == "the narrowest interval of these" and all(w.n_pairs <= 5e12 for w in found)
    sampled = dm.SampledPairs(found.ways[3].block_size)
    assert [w.options.get("pairs") for w in found] == [None, dm.DisjointPairs(), None, sampled]


@pytest.mark.parametrize("place", range(4))
def test_the_ways_are_calls(place: int) -> None:
    """Each way's options run, and give the planned blocks and pairs; the width is that of known variances."""
    x = np.random.default_rng(0).normal(size=2_001)
    kernel = dm.kernels.kernel(lambda a, b: np.abs(a - b))  # no fast form
    way = dm.plan(x.size, kernel=kernel, confidence_level=0.9, tau=0.3).ways[place]
    found = dm.ustatistic(x, kernel=kernel, rng=0, confidence_level=0.9, interval="exact", **way.options)
    assert found.n_blocks == way.n_blocks
    assert found.n_pairs == pytest.approx(way.n_pairs, rel=0.01)
    half = (found.interval[1] - found.interval[0]) / 2
    assert half == pytest.approx(way.exact * math.sqrt(2.0 - 4.0 / math.pi), rel=0.15)


@pytest.mark.parametrize("kernel", ["gini", RBF], ids=["a fast form", "pair by pair"])
def test_a_width_is_had_at_the_least_time(kernel: Any) -> None:
    n, width = 200_000, 0.07
    found = dm.plan(n, kernel=kernel, width=width)
    reached = [way for way in found if way.exact <= width]
    assert found.recommended.seconds == min(way.seconds for way in reached)
    assert [(w.name, w.n_blocks, w.exact) for w in found] == [
        (w.name, w.n_blocks, w.exact) for w in dm.plan(n, kernel=kernel)
    ]
    for way in found:  # the rows told are those of the way
        assert way.rows_for_width is None or (way.rows_for_width <= n) == (way.exact <= width)


def test_a_width_out_of_reach_tells_the_rows() -> None:
    found = dm.plan(2_000, kernel=RBF, width=0.01)
    assert all(way.exact > 0.01 for way in found) and "wider than wanted" in found.why
    needed = min(way.rows_for_width for way in found if way.rows_for_width)
    assert f"{needed:,} rows" in found.why and "rows for width" in str(found)
    assert found.recommended.exact == min(way.exact for way in found)
    again = dm.plan(needed, kernel=RBF, width=0.01, pair_budget=1e15)
    assert min(way.exact for way in again) <= 0.01


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"kernel": "gnii"}, ["gini"]),
        ({"kernel": "auc"}, ["kernel", "'auc'", "one sample"]),
        ({"kernel": "third-moment"}, ["kernel", "pairs of rows"]),
        ({"kernel": "gini", "width": -0.1}, ["width"]),
        ({"kernel": "gini", "pair_budget": 0}, ["pair_budget"]),
    ],
)
def test_refusals_are_one_line(options: dict[str, Any], words: list[str]) -> None:
    with pytest.raises(dm.ConfigError) as error:
        dm.plan(1_000, **options)
    for word in words:
        assert word in str(error.value) and "\n" not in str(error.value)


def test_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["plan", "64e6", "--kernel", "rbf", "--parameter", "bandwidth=1", "--blocks", "32"]
    assert program.run(words) == 0
    assert "samples of pairs" in capsys.readouterr().out
    assert program.run([*words, "--pair-budget", "1e9", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["plan"]["kernel"] == "rbf" and found["results"][0]["n_pairs"] > 6e13
