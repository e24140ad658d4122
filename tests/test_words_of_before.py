"""Words of earlier versions: calls name the word now, states and models are opened."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import distmom as dm
from distmom.report import Results
from distmom.state.container import Container
from distmom.state.state import read_state, write_state
from distmom.status import RETIRED_STATUSES, Status, listed_statuses

X = {"x": np.random.default_rng(0).normal(size=500)}


@pytest.mark.parametrize(("before", "now"), [("exact", "cantelli"), ("paper", "closed-form")])
def test_an_interval_of_before_is_named_as_it_is_called_now(before: str, now: str) -> None:
    with pytest.raises(dm.ConfigError, match=f"^interval: '{before}' is now '{now}'$"):
        dm.mean(X, interval=before)
    with pytest.raises(dm.ConfigError, match=f"^interval: '{before}' is now '{now}'$"):
        dm.ustatistic(X, kernel="gini", interval=before)


def test_a_word_that_a_function_never_had_is_no_word_of_before() -> None:
    """`dm.compare` has neither: the closed form is no remedy there."""
    with pytest.raises(dm.ConfigError, match=r"^interval: 'exact' is now 'cantelli'$"):
        dm.compare([X, X], interval="exact")
    with pytest.raises(dm.ConfigError, match=r"^interval: must be one of .* not 'paper'$"):
        dm.compare([X, X], interval="paper")


@pytest.mark.parametrize("before", RETIRED_STATUSES)
def test_a_status_of_before_is_named_as_it_is_called_now(before: str) -> None:
    now = str(RETIRED_STATUSES[before])
    with pytest.raises(dm.ConfigError, match=f"^raise_if: '{before}' is now '{now}'$"):
        dm.mean(X, rng=0).raise_if(before)
    with pytest.raises(dm.ConfigError, match=f"^fail_on: '{before}' is now '{now}'$"):
        Results.failing(f"contaminated, {before}")
    assert before not in tuple(Status)


def test_a_list_of_statuses_is_cut_between_them_only() -> None:
    text = "contaminated,sample mean, no guarantee , any,,plain mean, no guarantee"
    cut = ["contaminated", "sample mean, no guarantee", "any", "", "plain mean, no guarantee"]
    assert listed_statuses(text) == cut and listed_statuses("") == [""]


def test_a_state_of_before_goes_on(tmp_path: Path) -> None:
    """Its kind of interval has another name now; the sums are the same."""
    lake, state = tmp_path / "lake", tmp_path / "state"
    lake.mkdir()
    for i in range(3):
        pq.write_table(pa.table({"x": X["x"][i::3]}), lake / f"{i}.parquet")
    want = dm.mean(str(lake), "x", rng=0, interval="cantelli", blocks=9, state=str(state))
    kept = read_state(state)
    facts = json.loads(json.dumps(kept.facts).replace('"cantelli"', '"exact"'))
    assert facts != kept.facts
    write_state(state, Container(kept.kind, facts, kept.arrays))
    merged = dm.merge_states(str(state))
    assert (merged.estimate, merged.interval_kind) == (want.estimate, "cantelli")
    found = dm.mean(str(lake), "x", rng=0, interval="cantelli", blocks=9, state=str(state))
    assert found == want and found.interval_kind == "cantelli"


def test_a_model_of_before_is_loaded(tmp_path: Path) -> None:
    pytest.importorskip("sklearn")
    rows = np.random.default_rng(0).normal(size=(300, 2))
    model = dm.RobustKMeans(3, random_state=0, max_iter=20).fit(rows)
    dm.save_model(model, tmp_path / "m")
    file = tmp_path / "m" / "model.json"
    told = json.loads(file.read_text())
    told["learned"]["wild_share_"] = told["learned"].pop("outlier_share_")
    told["arrays"] = [name.replace("feature_scale_", "feature_spread_") for name in told["arrays"]]
    (tmp_path / "m" / "feature_scale_.npy").rename(tmp_path / "m" / "feature_spread_.npy")
    file.write_text(json.dumps(told))
    back = dm.load_model(tmp_path / "m")
    assert (back.predict(rows) == model.predict(rows)).all() and back.outlier_share_ == model.outlier_share_
