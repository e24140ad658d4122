"""Tournaments among one, equals, failures, and on too few rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from mean_lakes import write

import distmom as dm

G = np.random.default_rng(0)
X = G.normal(size=3_000)
Y = X + G.normal(size=3_000)


def test_a_candidate_without_rivals_is_champion() -> None:
    found = dm.tournament({"y": Y, "p": X}, ["p"], "y", rng=0)
    assert found.champions == found.finalists == ("p",) and found.beta_r == 0.0
    assert found[0].n_allowed == 0 and found[0].threshold == 0.0


def test_identical_candidates_win_together() -> None:
    found = dm.tournament({"y": Y, "a": X, "b": X, "c": 3 * X}, ["c", "a", "b"], "y", rng=0)
    assert found.champions == found.finalists == ("a", "b")
    assert not found.duels.loses[1, 2] and not found.duels.loses[2, 1]


def test_both_may_be_unbeaten_on_an_even_number_of_blocks() -> None:
    # one candidate is better on half of the blocks, the other on the other half
    y = np.zeros(4_000)
    found = dm.tournament(
        {"y": y, "a": np.where(np.arange(4_000) % 2, 1.0, 2.0), "b": np.full(4_000, 1.5)},
        ["a", "b"],
        "y",
        rng=0,
        blocks=2,
    )
    loses = found.duels.loses
    assert not (loses[0, 1] and loses[1, 0])


def test_all_stay_where_no_match_is_allowed() -> None:
    found = dm.tournament({"y": Y, "a": X, "b": 3 * X}, ["a", "b"], "y", rng=0, match=dm.Match(beta_r=1e9))
    assert found.finalists == ("a", "b") and [r.n_allowed for r in found] == [0, 0]


@pytest.mark.slow
def test_a_level_that_leaves_nobody_is_explained() -> None:
    # three that beat each other in a circle: each is best on a third of the units
    unit = np.arange(3_000) // 50
    third = unit % 3
    columns = {"y": np.zeros(3_000), "block": unit.astype(float)}
    costs = {"a": (1.0, 2.0, 3.0), "b": (2.0, 3.0, 1.0), "c": (3.0, 1.0, 2.0)}
    for name, cost in costs.items():
        columns[name] = np.array(cost)[third]
    options: dict[str, Any] = {"blocks": dm.UnitBlocks("block", 3), "loss": "absolute"}
    seed = next(s for s in range(1_000) if _circular(columns, options, s))
    found = dm.tournament(columns, list(costs), "y", rng=seed, **options)
    assert found.beta_r > 0.0 and found.champions
    with pytest.raises(dm.NoAnswerError, match="the smallest beta_r that leaves one is"):
        less = dm.Match(beta_r=found.beta_r * 0.99)
        dm.tournament(columns, list(costs), "y", rng=seed, match=less, **options)


def _circular(columns: dict[str, np.ndarray], options: dict[str, Any], seed: int) -> bool:
    try:
        found = dm.tournament(columns, ["a", "b", "c"], "y", rng=seed, **options)
    except dm.NoAnswerError:
        return False
    return bool(found.duels.loses.any(axis=1).all())


def test_a_candidate_whose_loss_is_not_finite_loses_and_is_named() -> None:
    bad = np.where(np.arange(3_000) % 2, X, np.nan)
    found = dm.tournament({"y": Y, "bad": bad, "poor": 5 * X}, ["bad", "poor"], "y", rng=0)
    assert found.champions == ("poor",)
    line = found.candidates["bad"]
    assert line.status == "beaten" and line.n_non_finite_blocks == line.n_blocks
    assert line.n_missing == 1_500 and "not finite" in line.notes[0]
    assert line.estimate == np.inf and line.to_dict()["estimate"] is None


def test_a_few_missing_predictions_ruin_few_blocks() -> None:
    mask = np.arange(3_000) == 7
    table = pa.table({"y": Y, "good": pa.array(X, mask=mask), "poor": 5 * X})
    found = dm.tournament(table, ["good", "poor"], "y", rng=0)
    line = found.candidates["good"]
    assert found.champions == ("good",) and line.n_missing == line.n_non_finite_blocks == 1


def test_nobody_has_a_finite_loss() -> None:
    nothing = np.full(3_000, np.nan)
    with pytest.raises(dm.NoAnswerError, match="no candidate has a finite loss"):
        dm.tournament({"y": Y, "a": nothing, "b": nothing}, ["a", "b"], "y", rng=0)


def test_rows_without_a_target_do_not_count() -> None:
    y = Y.copy()
    y[5] = np.nan
    table = pa.table({"y": pa.array(y, mask=np.arange(3_000) < 3), "p": X, "q": 2 * X})
    found = dm.tournament(table, ["p", "q"], "y", rng=0)
    assert (found[0].n_rows, found[0].n_used, found[0].n_null, found[0].n_nan) == (3_000, 2_996, 3, 1)


@pytest.mark.parametrize("n_rows", [6, 30, 100, 190])
def test_fewer_rows_than_blocks(n_rows: int) -> None:
    found = dm.tournament({"y": Y[:n_rows], "a": X[:n_rows], "b": 9 * X[:n_rows]}, ["a", "b"], "y", rng=0)
    assert all(1 <= k <= 21 for k in found.settings["blocks"])
    given = dm.tournament({"y": Y[:90], "a": X[:90], "b": 9 * X[:90]}, ["a", "b"], "y", rng=0, blocks=63)
    assert max(given.settings["blocks"]) <= 63 and sum(given.settings["blocks"]) == 90


def test_too_few_rows_for_three_parts() -> None:
    with pytest.raises(dm.NoAnswerError, match=r"part . of 3 has no rows: 2 in all"):
        dm.tournament({"y": Y[:2], "a": X[:2]}, ["a"], "y", rng=0)
    with pytest.raises(dm.NoAnswerError, match="no rows with a target"):
        dm.tournament({"y": np.full(50, np.nan), "a": X[:50]}, ["a"], "y", rng=0)


def test_contamination_takes_the_blocks_that_it_needs() -> None:
    columns = {"y": Y, "a": X, "b": 3 * X}
    few = dm.tournament(columns, ["a", "b"], "y", contamination=10, rng=0).settings
    many = dm.tournament(columns, ["a", "b"], "y", contamination=0.01, rng=0).settings
    assert few["contamination"] == 10 and many["contamination"] == 30
    assert few["blocks"][0] < many["blocks"][0]
    with pytest.raises(dm.ConfigError, match="could outvote"):
        dm.tournament(columns, ["a", "b"], "y", contamination=0.49, rng=0)
    with pytest.raises(dm.ConfigError, match="may outvote 5 blocks; use more than"):
        dm.tournament(columns, ["a", "b"], "y", contamination=10, rng=0, blocks=5)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"candidates": []}, "give at least one"),
        ({"candidates": ["y"]}, "the target itself"),
        ({"candidates": ["a", "a"]}, "two are called 'a'"),
        ({"candidates": ["nothing"]}, "no column 'nothing'"),
        ({"candidates": {"f": lambda row: row["x"]}}, "features: candidate 'f' does not say"),
        ({"candidates": {"f": 7}}, "must be a column, a function of the features or a model"),
        ({"loss": "square"}, "did you mean 'squared'"),
        ({"loss": dm.Loss("squared", 2.0)}, "only huber and pinball have one"),
        ({"loss": dm.Loss("pinball", 1.5)}, "Loss: parameter: must lie between 0 and 1, the quantile"),
        ({"blocks": dm.SampledBlocks()}, "are for pairwise losses, not squared"),
        ({"match": 0.1}, r"must be a Match, not 0\.1"),
        ({"blocks": "paper"}, "takes 'auto' or a number"),
        ({"target": None}, "target: name the column"),
        ({"features": ["y"], "candidates": {"f": len}}, "would see the target"),
        ({"state": "s"}, "state: data in memory, streams and frames have no files"),
    ],
)
def test_wrong_arguments_are_told(arguments: dict[str, Any], message: str, tmp_path: Path) -> None:
    given = {"candidates": ["a"], "target": "y", **arguments}
    if "state" in given:
        given["state"] = tmp_path / "s"
    with pytest.raises(dm.ConfigError, match=message):
        dm.tournament({"y": Y, "a": X}, rng=0, **given)


@pytest.mark.parametrize("level", [-1.0, np.inf, np.nan, True, "0.1"])
def test_a_level_is_a_finite_number(level: Any) -> None:
    with pytest.raises(dm.ConfigError, match="Match: beta_r: must be a finite number of at least 0"):
        dm.Match(beta_r=level)


def test_a_candidate_that_fails_is_named() -> None:
    def broken(row: dict[str, np.ndarray]) -> np.ndarray:
        raise ValueError("no idea")

    with pytest.raises(dm.DataError, match=r"candidate 'broken' failed in .*, line \d+: ValueError: no idea"):
        dm.tournament({"y": Y, "a": X}, [broken], "y", features="a", rng=0)
    with pytest.raises(dm.DataError, match="must return one number per row"):
        dm.tournament({"y": Y, "a": X}, {"short": lambda row: row["a"][1:]}, "y", features="a", rng=0)


def test_losses_below_zero_are_refused() -> None:
    with pytest.raises(dm.DataError, match="is negative for some rows"):
        dm.tournament({"y": Y, "a": X}, ["a"], "y", loss=lambda y, f: y - f, rng=0)


def test_bad_files_are_skipped_and_listed(tmp_path: Path) -> None:
    for i in range(3):
        write(tmp_path / f"{i}.parquet", {"y": Y[i::3], "a": X[i::3], "b": 2 * X[i::3]})
    (tmp_path / "1.parquet").write_bytes(b"PAR1 nothing")
    with pytest.raises(dm.DataError, match=r"1\.parquet"):
        dm.tournament(tmp_path, ["a", "b"], "y", rng=0)
    found = dm.tournament(
        dm.scan(tmp_path, on_bad_file="skip"), ["a", "b"], "y", rng=0, match=dm.Match(beta_r=1e9)
    )
    assert found.data["n_files"] == 3
    assert [s["file"] for s in found.data["skipped"]] == ["1.parquet"] and found.exit_code == 4
    assert found[0].n_rows == 2_000


def test_times_are_refused() -> None:
    """Each column of times is counted from a day of its own: losses of such would be 0."""
    day = np.datetime64("2024-01-01") + np.arange(300)
    columns = {"y": day, "a": day + np.timedelta64(3, "D"), "b": day + np.timedelta64(90, "D")}
    with pytest.raises(dm.DataError, match="column 'y' holds timestamps; losses take numbers"):
        dm.tournament(columns, ["a", "b"], "y", rng=0)


def test_models_see_only_rows_that_count() -> None:
    def strict(row: dict[str, np.ndarray]) -> np.ndarray:
        if not np.isfinite(row["x"]).all():
            raise ValueError("a missing feature")
        return row["x"]

    x, y = X.copy(), Y.copy()
    x[:40], y[:20] = np.nan, np.nan
    table = {"y": y, "x": x, "u": np.arange(3_000.0)}
    candidates = {"strict": strict, "poor": lambda row: 5 * row["x"]}
    found = dm.tournament(table, candidates, "y", features="x", where="u >= 40", rng=0)
    assert found.champions == ("strict",) and found[0].n_missing == 0 and found[0].n_used == 2_960
    with pytest.raises(dm.DataError, match="a missing feature"):
        dm.tournament(table, candidates, "y", features="x", rng=0)
