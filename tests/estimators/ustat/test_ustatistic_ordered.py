"""Rows in an order of their values: the bias inside random blocks, and the words that tell it."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import distmom as dm
from distmom.estimators.ustat.doubts import worth_telling

GINI = 2.0 / np.sqrt(np.pi)
DISTRIBUTIONS: dict[str, Any] = {
    "normal": lambda g, n: g.normal(size=n),
    "student": lambda g, n: g.standard_t(2.1, n),
    "lognormal": lambda g, n: g.lognormal(0.0, 2.0, n),
    "rare": lambda g, n: (g.random(n) < 0.02) * 1.0,
    "outlying": lambda g, n: np.where(g.random(n) < 0.001, 1e9, g.normal(size=n)),
}


def told(data: Any, **options: Any) -> bool:
    found = dm.ustatistic(data, **{"kernel": "gini", "rng": 0, **options})
    said = "rows in order" in found.flags
    assert said == any("random order first" in note for note in found.notes)
    return said


def test_a_sorted_column_is_told_and_random_order_is_the_remedy() -> None:
    """Of 10,000 rows the bias is one per cent: the interval at 90% misses, in random order it does not."""
    x = np.sort(np.random.default_rng(1).normal(size=10_000))
    exact = dm.ustatistic({"x": x}, kernel="gini", rng=0, blocks=1).estimate
    options: dict[str, Any] = {"kernel": "gini", "confidence_level": 0.9, "rng": 0}
    found = dm.ustatistic({"x": x}, **options)
    assert found.flags == ("rows in order",) and found.estimate / exact - 1 == pytest.approx(
        0.0105, abs=0.003
    )
    assert not found.interval[0] < exact < found.interval[1]
    assert re.search(r"a bias of about 0\.01\d? of the size", str(found))
    mixed = dm.ustatistic({"x": np.random.default_rng(3).permutation(x)}, **options)
    assert mixed.status == "ok" and mixed.interval[0] < exact < mixed.interval[1]


@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
@pytest.mark.one_in(3)
def test_rows_in_no_order_are_no_false_alarm(distribution: str) -> None:
    """The ratio is 1 on average for any distribution; below 0.5 with 105 blocks once in 1e5 if normal."""
    for seed in range(8):
        x = DISTRIBUTIONS[distribution](np.random.default_rng(seed), 9_000)
        assert not told({"x": x}, interval="none")


def test_what_is_told_and_what_is_not() -> None:
    g = np.random.default_rng(2)
    x = np.sort(g.normal(size=10_000))
    y = g.normal(size=x.size)
    assert told({"x": x, "y": y}, kernel="covariance")
    assert told({"x": x, "y": x + y}, kernel="kendall")
    assert told([{"x": x}, {"x": y}], kernel="energy")
    assert told({"x": x}, pairs="disjoint", blocks=105, interval="none")
    assert not told([{"x": x}, {"x": y}], kernel="auc")  # no two rows of one sample
    assert not told({"x": x}, blocks=3)  # three large blocks
    assert not told({"x": x}, blocks=dm.SampledBlocks(35, 200))  # samples are not spread evenly
    assert not told({"x": np.tile(np.arange(12.0), 1_000)}, interval="none")  # periodic rows do no harm
    assert not worth_telling(1 / 67_000, 1.128, (1.1276, 1.1284))  # blocks of 64 million rows


def test_each_group_by_itself() -> None:
    g = np.random.default_rng(3)
    x = np.concatenate([np.sort(g.normal(size=8_000)), g.normal(size=8_000)])
    found = dm.ustatistic({"x": x, "k": np.repeat([1, 2], 8_000)}, "x", kernel="gini", by="k", rng=0)
    assert [r.flags for r in found] == [("rows in order",), ()]
