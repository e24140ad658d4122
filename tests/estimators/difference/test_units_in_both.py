"""Units in both variants are counted and told; so are lifts over a control that is negative, or may be 0."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import distmom as dm


def experiment(n_units: int, crossing: int, rows: int = 3) -> dict[str, np.ndarray]:
    """Units of a few rows each, of which the first ones have a row in each arm."""
    user = np.repeat(np.arange(n_units), rows)
    arm = np.where(user % 2, "new", "old")
    second = (np.arange(user.size) % rows == 1) & (user < crossing)
    arm[second] = np.where(arm[second] == "new", "old", "new")
    spent = np.random.default_rng(n_units).gamma(2.0, size=user.size)
    return {"user": user, "arm": arm, "spent": spent, "seen": np.ones(user.size)}


@pytest.mark.parametrize("denominator", [None, "seen"])
@pytest.mark.parametrize("crossing", [0, 37])
def test_they_are_counted_and_told(crossing: int, denominator: str | None) -> None:
    rows = experiment(1_000, crossing)
    found = dm.difference(rows, "spent", by="arm", unit="user", denominator=denominator, rng=0)
    new, old = (set(rows["user"][rows["arm"] == arm]) for arm in ("new", "old"))
    assert found.n_units_in_both == len(new & old) == crossing and found.n_units_exact
    told = [note for note in found.notes if "in both variants" in note]
    assert bool(told) == (crossing > 0)
    assert (
        f"<dd>{crossing}</dd>" in found._repr_html_().replace("\n", "")
        or "both variants" in found._repr_html_()
    )
    if crossing:
        assert told[0].startswith("37 units, 7.1% of the smaller variant's, are in both variants")
        assert "check the assignment" in told[0]


def test_pairs_and_independent_rows() -> None:
    paired = dm.difference(experiment(500, 500), "spent", by="arm", unit="user", rng=0)
    assert paired.n_units_in_both == 500 and any("as in pairs" in note for note in paired.notes)
    alone = dm.difference(experiment(500, 500), "spent", by="arm", rng=0)
    assert alone.n_units_in_both is None and not any("both" in note for note in alone.notes)


def test_of_many_units_the_number_is_estimated() -> None:
    """Of 30,000 units 3,000 are in both: 33,000 pairs, of which 16,383 are kept, about half of the 3,000."""
    found = dm.difference(experiment(30_000, 3_000), "spent", by="arm", unit="user", rng=0)
    assert not found.n_units_exact
    assert abs(found.n_units_in_both - 3_000) < 320  # 4 standard deviations of about 80: once in 15,000
    assert any(note.startswith("about ") and "in both variants" in note for note in found.notes)


def test_several_variants_are_each_counted_with_the_control() -> None:
    rows = experiment(600, 10)
    third = {name: np.concatenate([a, a[:30]]) for name, a in rows.items()}
    third["arm"][-30:] = "so"
    found = dm.difference(third, "spent", by="arm", unit="user", control="old", rng=0)
    old, last = (set(third["user"][third["arm"] == arm]) for arm in ("old", "so"))
    assert [one.n_units_in_both for one in found] == [10, len(old & last)]


@pytest.mark.parametrize(
    ("shift", "lifted", "words"),
    [(-10.0, True, "negative"), (0.0, False, "not clearly away from 0"), (10.0, True, "")],
)
def test_lift_over_a_control(shift: float, lifted: bool, words: str) -> None:
    g = np.random.default_rng(0)
    x = g.normal(size=4_000) + shift
    arm = np.repeat(["a", "b"], 2_000)
    x[arm == "b"] += 1.0
    found = dm.difference({"x": x, "arm": arm}, "x", by="arm", rng=0)
    assert np.isfinite(found.lift) == lifted and (found.lift_interval is not None) == lifted
    said: Any = " ".join([*found.notes, found.lift_reason or ""])
    assert words in said and ("is negative" in said) == (words == "negative")
    if lifted:
        assert found.lift == pytest.approx(1 / shift, abs=0.02)
