"""A column without values, in all rows or in one sample, has no answer; the others have theirs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import distmom as dm

N = 2_000
HALF = np.arange(N) % 2
X = np.random.default_rng(0).normal(size=N) + HALF
ROWS = pa.table(
    {
        "x": X,
        "dead": pa.array([None] * N, pa.float64()),
        "untyped": pa.nulls(N),
        "one_arm": pa.array([None if h else float(v) for h, v in zip(HALF, X, strict=True)]),
        "infinite": np.where(HALF, np.inf, X),
        "half": HALF,
        "unit": np.arange(N) // 4,
    }
)
DEAD = ("dead", "untyped", "one_arm")
OPTIONS: dict[str, Any] = {"rng": 0, "test": dm.Permutations(99), "confidence_level": 0.9}


@pytest.mark.parametrize("how", [{"by": "half"}, {"where": ["half = 0", "half = 1"]}])
@pytest.mark.parametrize("blocks", ["auto", 31, dm.UnitBlocks("unit")])
@pytest.mark.parametrize("dead", DEAD)
@pytest.mark.one_in(4)
def test_the_other_columns_have_their_results(dead: str, how: dict[str, Any], blocks: Any) -> None:
    alone = dm.compare(ROWS, "x", **OPTIONS, **how, blocks=blocks)
    both = dm.compare(ROWS, ["x", dead], **OPTIONS, **how, blocks=blocks)
    live, none = both[:3], both[3:]
    for one, right in zip(live, alone, strict=True):
        assert (one.estimate, one.interval, one.p_holm) == (
            right.estimate,
            right.interval,
            right.p_holm,
        )
    for one in none:
        assert one.column == dead and np.isnan(one.estimate) and one.interval is None
        assert one.status == "no rows" and one.p_value is None and one.p_reason and not one.drifted
        told = any("0 rows of sample 2 of 2 have all values" in note for note in one.notes)
        assert told == (dead == "one_arm")
    assert both.exit_code == 5  # as of a mean of which one column has no answer


def test_infinite_values_of_one_arm() -> None:
    found = dm.compare(ROWS, ["x", "infinite"], by="half", **OPTIONS)
    assert [one.status == "no finite answer" for one in found] == [False] * 3 + [True, False, True]
    assert found[4].estimate == 1.0  # AUC bears them


def test_values_too_large_to_be_added_do_not_drift_from_themselves() -> None:
    """NaN is below nothing, so no permutation seemed as extreme: p was the smallest there is."""
    sign = np.random.default_rng(1).integers(0, 2, 600) * 2.0 - 1.0
    for size, large in ((1.7e308, True), (1e-308, False)):
        found = {one.compared_by: one for one in dm.compare([{"x": size * sign}] * 2, "x", **OPTIONS)}
        assert not any(one.drifted for one in found.values())
        assert found["auc"].p_value == 1.0 and found["auc"].status == "ok"
        for name in ("mean", "energy"):
            assert (found[name].p_value is None) == large == (found[name].status == "no finite answer")
            assert ("too large" in (found[name].p_reason or "")) == large


@pytest.mark.parametrize("dead", DEAD)
def test_nothing_but_dead_columns_is_refused(dead: str) -> None:
    with pytest.raises(dm.NoAnswerError, match=rf"of '{dead}': 0 (of 2000 rows|rows of sample 2)"):
        dm.compare(ROWS, dead, by="half", **OPTIONS)
    with pytest.raises(dm.NoAnswerError):
        dm.compare(ROWS, ["dead", "one_arm"], by="half", **OPTIONS)


@pytest.mark.parametrize(
    "more",
    [
        {"kernel": "gini"},
        {"kernel": "gini", "blocks": dm.SampledBlocks(11, 200)},
        {"kernel": "gini", "pairs": dm.SampledPairs(300), "blocks": 11},
        {"kernel": "gini", "pairs": "disjoint"},
        {"kernel": "auc", "by": "half"},
    ],
)
@pytest.mark.one_in(3)
def test_statistics_of_pairs_too(more: dict[str, Any]) -> None:
    found = dm.ustatistic(ROWS, ["x", "dead"], rng=0, **more)
    assert (
        np.isfinite(found[0].estimate)
        and found[0].estimate == dm.ustatistic(ROWS, "x", rng=0, **more).estimate
    )
    assert np.isnan(found[1].estimate) and found[1].status.no_answer
    with pytest.raises(dm.NoAnswerError):
        dm.ustatistic(ROWS, "dead", rng=0, **more)


def test_a_page_and_a_table_of_a_dead_column() -> None:
    found = dm.compare(ROWS, ["x", "one_arm"], by="half", **OPTIONS)
    assert "no rows" in str(found) and "0 rows of sample 2 of 2" in str(found)
    assert "one_arm" in found._repr_html_()
