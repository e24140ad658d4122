"""One survey for every command: bad files and shares of rows are left out before the statistic, or told."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import distmom as dm
from distmom.cluster.executors.threads import ThreadExecutor
from distmom.estimators import survey
from distmom.lake.filters import parse_filter
from distmom.lake.within import Within
from distmom.passes.scan import as_scan

N_FILES, N = 40, 1_000
BAD = (3, 11, 17, 23, 38)
CODE = -9_999.0
Damage = Callable[[np.ndarray, np.random.Generator, int], np.ndarray]


def nothing(x: np.ndarray, g: np.random.Generator, number: int) -> np.ndarray:
    return x


def bad_files(x: np.ndarray, g: np.random.Generator, number: int) -> np.ndarray:
    return 60_000.0 * x if number in BAD else x


def codes(x: np.ndarray, g: np.random.Generator, number: int) -> np.ndarray:
    return np.where(g.random((x.shape[0], 1)) < 0.01, CODE, x)


def factor(x: np.ndarray, g: np.random.Generator, number: int) -> np.ndarray:
    return np.where(g.random((x.shape[0], 1)) < 0.02, 1_000.0 * x, x)


DAMAGES: dict[str, Damage] = {"bad files": bad_files, "codes": codes, "factor": factor}
WORDS = {"bad files": "files disagree", "codes": "share screened out", "factor": "share screened out"}


def write(folder: Path, damage: Damage = nothing) -> Path:
    """Two dependent columns of skewed rows, and the arm of an experiment."""
    g, of_damage = np.random.default_rng(0), np.random.default_rng(1)
    folder.mkdir()
    for number in range(N_FILES):
        z = g.normal(size=(N, 2)) @ np.array([[1.0, 0.5], [0.0, 0.8]])
        x = damage(20.0 + 5.0 * z, of_damage, number)
        arm = np.where(g.random(N) < 0.5, "a", "b")
        columns = {"x": x[:, 0], "y": x[:, 1], "z": z[:, 0], "arm": arm}
        pq.write_table(pa.table(columns), folder / f"{number:02}.parquet")
    return folder


@pytest.fixture(scope="module")
def lakes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    root = tmp_path_factory.mktemp("survey")
    each = {"clean": nothing, **DAMAGES}
    return {name: write(root / name.replace(" ", "-"), damage) for name, damage in each.items()}


def first_column(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.abs(a - b) ** 0.5


STATISTICS: dict[str, tuple[Any, dict[str, Any]]] = {
    "gini": ("x", {"kernel": "gini"}),
    "gini in 101 blocks": ("x", {"kernel": "gini", "blocks": 101}),
    "kendall": (["x", "y"], {"kernel": "kendall"}),
    "variance of samples": ("x", {"kernel": "variance", "blocks": dm.SampledBlocks(51, size=200)}),
    "disjoint": ("x", {"kernel": "variance", "pairs": dm.DisjointPairs()}),
    "own": ("x", {"kernel": dm.kernels.kernel(first_column, degree=2), "blocks": 101}),
}


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("name", STATISTICS)
@pytest.mark.one_in(9)
def test_a_statistic_is_that_of_the_good_rows(name: str, damage: str, lakes: dict[str, Path]) -> None:
    column, how = STATISTICS[name]
    clean, found = (dm.ustatistic(lakes[lake], column, rng=0, **how) for lake in ("clean", damage))
    assert clean.ok and clean.interval is not None and clean.far_rows is None
    wide = 2.0 * (clean.interval[1] - clean.interval[0])
    assert abs(found.estimate - clean.estimate) < wide
    assert WORDS[damage] in found.flags and not found.status.no_answer
    if damage == "bad files":
        assert found.accused_files == tuple(f"{number:02}.parquet" for number in BAD)
    else:
        assert found.far_rows.action == "screened out"
        assert found.far_rows.share == pytest.approx({"codes": 0.01, "factor": 0.02}[damage], rel=0.2)


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.one_in(3)
def test_a_matrix_is_that_of_the_good_rows(damage: str, lakes: dict[str, Path]) -> None:
    clean, found = (
        dm.ustatistic(lakes[lake], ["x", "y"], kernel="covariance", rng=0) for lake in ("clean", damage)
    )
    assert np.abs(found.estimate / clean.estimate - 1.0).max() < 0.1
    assert WORDS[damage] in found.flags


@pytest.mark.slow
def test_what_is_clean_has_the_bits_of_a_call_without_a_survey(
    lakes: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    call: dict[str, Any] = {"kernel": "gini", "rng": 0}
    found = dm.ustatistic(lakes["clean"], ["x", "z"], **call)
    beside = dm.ustatistic(lakes["codes"], ["x", "z"], **call)  # x is bad, z is not
    alone = dm.ustatistic(lakes["codes"], "z", **call)
    monkeypatch.setattr(survey.Surveyor, "suspect", lambda *_: [])
    assert found == dm.ustatistic(lakes["clean"], ["x", "z"], **call)
    assert beside[1] == alone == dm.ustatistic(lakes["codes"], "z", **call)
    assert dm.ustatistic(lakes["codes"], "x", **call).estimate > 10.0 * beside[0].estimate  # the control


def test_memory_and_lakes_agree_on_any_number_of_threads(lakes: dict[str, Path]) -> None:
    found = [dm.ustatistic(lakes["codes"], "x", kernel="gini", rng=0, executor=dm.Threads(n)) for n in (1, 2)]
    assert found[0] == found[1]
    x = np.concatenate([pq.read_table(file)["x"].to_numpy() for file in sorted(lakes["codes"].iterdir())])
    assert dm.ustatistic(x, kernel="gini", rng=0).status == "share screened out"


def test_few_outlying_rows_are_borne_as_ever() -> None:
    x = np.random.default_rng(0).normal(size=20_000)
    x[::4_000] = 1e9
    found = dm.ustatistic(x, kernel="gini", rng=0)
    assert found.far_rows is None and found.plain_estimate > 1e5 and found.n_used == x.size


def test_files_that_cannot_be_told_are_beyond_the_breakdown_point(
    lakes: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(survey.Surveyor, "_bad_files", lambda *_: ())
    found = dm.ustatistic(lakes["bad files"], "x", kernel="gini", rng=0)
    assert found.status == "breakdown point exceeded" and "do not rely" in found.notes[0]


@pytest.mark.slow
def test_a_difference_is_that_of_the_good_files_and_without_codes(lakes: dict[str, Path]) -> None:
    call: dict[str, Any] = {"by": "arm", "control": "a", "rng": 0}
    clean, *damaged = (dm.difference(lakes[name], "x", **call) for name in ("clean", "bad files", "codes"))
    assert clean.ok and clean.interval is not None
    wide = 2.0 * (clean.interval[1] - clean.interval[0])
    for found, word in zip(damaged, ("files disagree", "share screened out"), strict=True):
        assert abs(found.difference - clean.difference) < wide and found.status == word
        assert abs(found.lift - clean.lift) < wide / 10.0
    assert any("where='x != " in text for text in damaged[1].remarks())
    told = dm.difference(lakes["factor"], "x", **call)  # no code: left to the analyst
    assert "share far out" in told.flags and told.far_rows.action == "told"
    assert told.n_used == clean.n_used


def test_a_difference_beyond_the_breakdown_point_has_no_lift(
    lakes: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(survey.Surveyor, "_bad_files", lambda *_: ())
    found = dm.difference(lakes["bad files"], "x", by="arm", rng=0)
    assert found.status == "breakdown point exceeded" and np.isnan(found.lift) and found.lift_interval is None


@pytest.mark.slow
def test_a_comparison_leaves_out_bad_files_and_codes(
    lakes: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    call: dict[str, Any] = {"statistics": "mean", "rng": 0, "test": dm.Permutations(99)}
    clean, *damaged = (
        dm.compare([lakes["clean"], lakes[name]], "x", **call) for name in ("clean", "bad files", "codes")
    )
    for found, word in zip(damaged, ("files disagree", "share screened out"), strict=True):
        assert abs(found.estimate - clean.estimate) < 0.3 and found.status == word and not found.drifted
    monkeypatch.setattr(survey.Surveyor, "_bad_files", lambda *_: ())
    beyond = dm.compare([lakes["clean"], lakes["bad files"]], "x", **call)
    assert (beyond.status, beyond.p_value, beyond.drifted) == ("breakdown point exceeded", None, False)


def test_the_plan_names_the_survey(lakes: dict[str, Path]) -> None:
    assert "a pass for the mean" in dm.explain(dm.ustatistic, lakes["clean"], "x", kernel="gini")["survey"]
    by = dm.explain(dm.ustatistic, lakes["clean"], "x", kernel="gini", by="arm")
    assert "a pass for the mean" in by["survey"]


def test_rows_within_bounds() -> None:
    rows = {"x": pa.array([1.0, None, float("nan"), 5.0, float("inf")]), "k": pa.array([1, 1, 1, 2, 1])}
    one = Within((("x", -np.inf, 5.0),))
    assert one.mask(rows, 5).tolist() == [True, True, True, False, False]
    both = Within((("x", 0.0, np.inf),), parse_filter("k = 1"))
    assert both.mask(rows, 5).tolist() == [True, True, True, False, True]
    assert both.columns == ("x", "k") and both.text == "(k = 1) and 0 < x < inf"
    assert one.mask({"x": pa.nulls(1)}, 2).tolist() == [True, True]
    assert one.identity != Within((("x", -np.inf, 5.5),)).identity


@pytest.fixture(scope="module")
def other_unit(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A lake in which one of six kinds of rows has another unit."""
    return write(tmp_path_factory.mktemp("unit") / "lake", unit_of_a_kind)


def unit_of_a_kind(x: np.ndarray, g: np.random.Generator, number: int) -> np.ndarray:
    return np.where(g.random((x.shape[0], 1)) < 0.17, 60_000.0 * x, x)


@pytest.mark.parametrize("name", STATISTICS)
@pytest.mark.one_in(9)
def test_a_second_group_is_told_by_every_statistic(
    name: str, other_unit: Path, lakes: dict[str, Path]
) -> None:
    column, how = STATISTICS[name]
    found = dm.ustatistic(other_unit, column, rng=0, **how)
    assert found.status == "share far out" and found.far_rows.times == pytest.approx(60_000, rel=0.05)
    assert found.far_rows.share == pytest.approx(0.17, abs=0.01)
    assert any("a second group, about 60,000 times as large" in text for text in found.remarks())
    assert dm.ustatistic(lakes["clean"], column, rng=0, **how).ok


@pytest.mark.slow
def test_a_second_group_is_told_by_comparisons(other_unit: Path, lakes: dict[str, Path]) -> None:
    assert dm.difference(other_unit, "x", by="arm", control="a", rng=0).status == "share far out"
    found = dm.compare([lakes["clean"], other_unit], "x", statistics="mean", rng=0, test=dm.Permutations(99))
    assert found.status == "share far out"
    both = dm.mean(other_unit, "x", rng=0)
    assert both.status == "share far out" and both.far_rows.action == "told"


def test_what_the_mean_says_of_rows_is_passed_on(tmp_path: Path) -> None:
    """Rows of a file alike, and a mean that few rows carry: not to what these do not concern."""
    g = np.random.default_rng(0)
    for number in range(40):
        alike = g.normal() + g.normal(size=500)
        few = np.where(g.random(500) < 0.0005, 1e4 * np.exp(g.normal(size=500)), g.random(500))
        rows = {
            "alike": alike,
            "few": few,
            "z": g.normal(size=500),
            "arm": np.where(g.random(500) < 0.5, 1, 2),
        }
        pq.write_table(pa.table(rows), tmp_path / f"{number}.parquet")
    word = {name: dm.mean(tmp_path, name, rng=0).status for name in ("alike", "few", "z")}
    assert word["alike"] == "rows correlated" and word["z"] == "ok" != word["few"]
    gini = dm.ustatistic(tmp_path, ["z", "few", "alike"], kernel="gini", rng=0)
    assert [one.status for one in gini] == ["ok", word["few"], "rows correlated"]
    assert gini[2].notes[0].startswith("rows within a file are correlated (alike)")
    assert gini[0] == dm.ustatistic(tmp_path, "z", kernel="gini", rng=0)
    assert dm.ustatistic(tmp_path, ["z", "few"], kernel="kendall", rng=0).ok
    assert dm.difference(tmp_path, "alike", by="arm", rng=0).ok
    assert dm.ustatistic(tmp_path, "alike", kernel="gini", blocks=dm.FileBlocks(), rng=0).ok


def test_the_mean_is_asked_once_of_what_stays(
    lakes: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []
    question = survey.Surveyor._question
    monkeypatch.setattr(survey.Surveyor, "_question", lambda *a: asked.append(a[2]) or question(*a))
    dm.ustatistic(lakes["codes"], ["x", "z"], kernel="gini", rng=0)
    assert asked == [("x", "z"), ("x",)]  # all columns, then what is left of the bad one


def test_a_variant_in_another_unit_is_told() -> None:
    g = np.random.default_rng(0)
    arm, x = g.integers(0, 2, 8_000), g.normal(20.0, 5.0, 8_000)
    assert dm.difference({"x": x, "arm": arm}, "x", by="arm", rng=0).ok
    assert dm.difference({"x": np.where(arm, 10.0 * x, x), "arm": arm}, "x", by="arm", rng=0).ok
    found = dm.difference({"x": np.where(arm, 60.0 * x, x), "arm": arm}, "x", by="arm", rng=0)
    assert found.status == "share far out" and "times as large as those of '0'" in found.notes[0]


def test_fewer_columns_share_a_pass_where_memory_is_short() -> None:
    g = np.random.default_rng(3)
    data = {f"x{c:02}": g.standard_t(3, 20_000) for c in range(12)}
    scan, passes = as_scan(data), list[int]()

    def riders(_: Any, columns: Sequence[str]) -> None:
        passes.append(len(columns))

    def surveyor(executor: ThreadExecutor) -> survey.Surveyor:
        return survey.Surveyor(0, executor, None, together=12, riders=riders)

    plenty = ThreadExecutor(1, 4_000_000_000)
    needed = [surveyor(plenty).check(scan, list(data)[:n]).needed(1) for n in (3, 4, 12)]
    want = [replace(one, run={}) for one in surveyor(plenty).means(scan, list(data))]
    assert passes == [12]
    passes.clear()
    short = ThreadExecutor(1, int(needed[0] + needed[1]) // 2)
    found = [replace(one, run={}) for one in surveyor(short).means(scan, list(data))]
    assert passes == [3, 3, 3, 3]
    assert repr(found) == repr(want)
    with pytest.raises(dm.ResourceError, match="projected memory"):
        surveyor(ThreadExecutor(1, 10_000_000)).check(scan, list(data))
