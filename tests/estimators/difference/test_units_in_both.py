"""Units in both variants are counted and told; so are lifts over a control that is negative, or may be 0."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import distmom as dm
import distmom.cluster.plan


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
    assert f"<dd>{crossing}</dd>" in found._repr_html_()
    assert ("a randomised experiment should have none" in found._repr_html_()) == (crossing > 0)
    if crossing:
        assert told[0].startswith("37 units, 7.1% of the smaller variant's, are in both variants")
        assert "check the assignment; crossover='omit' leaves them out" in told[0]


def test_without_them_there_may_be_nothing_to_tell() -> None:
    with pytest.raises(dm.NoAnswerError, match=r"leaves out 500 units in several variants.* keep them"):
        dm.difference(experiment(500, 500), "spent", by="arm", unit="user", crossover="omit")


def test_pairs_and_independent_rows() -> None:
    paired = dm.difference(experiment(500, 500), "spent", by="arm", unit="user", rng=0)
    assert paired.n_units_in_both == 500 and any("as in a paired design" in note for note in paired.notes)
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
    [(-10.0, True, "negative"), (0.0, False, "does not differ significantly from 0"), (10.0, True, "")],
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


@pytest.mark.parametrize("where", [None, "spent < 1e9"])
@pytest.mark.parametrize("unit", ["user", ["user", "seen"]])
def test_they_are_left_out_by_choice(unit: Any, where: str | None) -> None:
    rows = experiment(1_000, 37)
    found = dm.difference(rows, "spent", by="arm", unit=unit, crossover="omit", where=where, rng=0)
    rest = {name: a[rows["user"] >= 37] for name, a in rows.items()}
    right = dm.difference(rest, "spent", by="arm", unit=unit, where=where, rng=0)
    assert (found.estimate, found.interval, found.n_used) == (right.estimate, right.interval, right.n_used)
    assert found.n_units_in_both == 0 and "left out: 37 units in several variants" in found.notes
    alone = dm.difference(rest, "spent", by="arm", unit=unit, crossover="omit", where=where, rng=0)
    assert alone.notes == right.notes  # none to leave out


@pytest.mark.slow
def test_of_many_units_in_files_and_folders_exactly_those_are_left_out(tmp_path: Path) -> None:
    """More pairs than the sketch keeps; texts and nulls as units, a part of the unit in folders."""
    rows = experiment(12_000, 2_500, rows=4)
    keys = [None if u == 11 else f"u{u}" for u in rows["user"]]
    half = rows["user"] % 3
    for one in range(3):
        mine = np.flatnonzero(half == one)
        table = pa.table({name: a[mine] for name, a in rows.items()} | {"key": [keys[i] for i in mine]})
        for part in range(2):
            (tmp_path / f"half={one}").mkdir(exist_ok=True)
            size = -(-table.num_rows // 2)
            pq.write_table(table.slice(part * size, size), tmp_path / f"half={one}" / f"{part}.parquet")
    options: dict[str, Any] = {"by": "arm", "unit": ["key", "half"], "rng": 0}
    found = dm.difference(tmp_path, "spent", crossover="omit", **options)
    right = dm.difference(tmp_path, "spent", where="user >= 2500", **options)
    assert (found.estimate, found.n_used) == (right.estimate, 9_500 * 4)
    assert found.n_units_in_both == 0 and "2,500 units in several" in found.notes[0]
    small = dm.difference(
        dm.scan(tmp_path, batch_rows=777), "spent", crossover="omit", executor=dm.Threads(1), **options
    )
    assert small.block_estimates.tolist() == found.block_estimates.tolist()


def test_equal_values_of_files_of_several_types_are_one_variant(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """1 and 1.0 are one group, also where different units of work have met them."""
    for name in ("MOST_FILES", "LEAST_FILES"):
        monkeypatch.setattr(distmom.cluster.plan, name, 1)
    user = np.arange(400)
    for number, kind in enumerate((np.int64, np.float64)):
        arm = user % 2
        arm[7] = number
        columns = {"user": user, "arm": arm.astype(kind), "spent": 1.0 + user % 5}
        pq.write_table(pa.table(columns), tmp_path / f"{number}.parquet")
    found = dm.difference(tmp_path, "spent", by="arm", unit="user", crossover="omit", rng=0)
    assert "left out: 1 unit in several variants" in found.notes
    assert found.n_used == 798


def test_what_cannot_be_left_out_is_refused() -> None:
    rows = experiment(100, 3)
    for unit in (None, "file"):
        with pytest.raises(dm.ConfigError, match=r"crossover: 'omit'.*name the columns"):
            dm.difference(rows, "spent", by="arm", unit=unit, crossover="omit")
    with pytest.raises(dm.ConfigError, match="crossover: must be one of 'keep', 'omit'"):
        dm.difference(rows, "spent", by="arm", unit="user", crossover="drop")  # type: ignore[arg-type]
    stream = pa.RecordBatchReader.from_batches(pa.table(rows).schema, pa.table(rows).to_batches())
    with pytest.raises(dm.ConfigError, match="read only once"):
        dm.difference(stream, "spent", by="arm", unit="user", crossover="omit")
    plan = dm.explain(dm.difference, rows, "spent", by="arm", unit="user", crossover="omit")
    assert "one pass more" in plan["crossover"]
