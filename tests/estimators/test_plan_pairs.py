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
    found = dm.plan(64e6, kernel=RBF, n_blocks=32, threads=2)
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
    assert [w.options.get("pairs") for w in found] == [None, "disjoint", None, "incomplete"]


@pytest.mark.parametrize("place", range(4))
def test_the_ways_are_calls(place: int) -> None:
    """Each way's options run, and give the planned blocks and pairs; the width is that of known variances."""
    x = np.random.default_rng(0).normal(size=2_001)
    kernel = dm.kernels.kernel(lambda a, b: np.abs(a - b))  # no fast form
    way = dm.plan(x.size, kernel=kernel, confidence_level=0.9, tau=0.3, projection_share=0.448).ways[place]
    found = dm.ustatistic(x, kernel=kernel, rng=0, confidence_level=0.9, interval="exact", **way.options)
    assert found.n_blocks == way.n_blocks
    assert found.n_pairs == pytest.approx(way.n_pairs, rel=0.01)
    half = (found.interval[1] - found.interval[0]) / 2
    assert half == pytest.approx(way.exact * math.sqrt(2.0 - 4.0 / math.pi), rel=0.15)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"kernel": "gnii"}, ["gini"]),
        ({"kernel": "auc"}, ["kernel", "'auc'", "one sample"]),
        ({"kernel": "third-moment"}, ["kernel", "pairs of rows"]),
        ({"kernel": "gini", "width": 0.1}, ["width", "kernel"]),
        ({"kernel": "gini", "projection_share": 1.5}, ["projection_share"]),
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
