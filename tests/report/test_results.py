"""What a result knows of itself, however it came about."""

from __future__ import annotations

import dataclasses
import json
import pickle
import re
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import distmom as dm
from distmom.report.attributes import with_attributes

X = np.random.default_rng(0).normal(size=4_000)


def lake(path: Path) -> str:
    path.mkdir(parents=True)
    for i, part in enumerate(np.array_split(X, 4)):
        pq.write_table(pa.table({"x": part}), path / f"{i}.parquet")
    return str(path)


def made(way: str, tmp_path: Path, blocks: Any, **options: Any) -> Any:
    """An answer from a call, from an accumulator, or from a state that is shown again."""
    if way == "stream":
        stream = dm.MeanAccumulator("x", blocks=blocks, rng=0, **options)
        stream.update({"x": X})
        return stream.result()
    state = tmp_path / "x.state"
    called = dm.mean(lake(tmp_path / "in"), "x", blocks=blocks, rng=0, state=state, **options)
    return called if way == "call" else dm.merge_states(state)


@pytest.mark.parametrize("way", ["call", "state"])
def test_contiguous_blocks_are_not_said_to_be_random(tmp_path: Path, way: str) -> None:
    found = made(way, tmp_path, dm.StoredBlocks(100))
    text = dict(found.telling().facts)["method"]
    assert found.design == dm.StoredBlocks(100) and "The rows make 100 blocks" in text
    assert "random" not in text and "consecutive" in " ".join(found.telling().assumptions)


@pytest.mark.parametrize("way", ["call", "stream", "state"])
def test_the_filter_and_the_promise_are_known(tmp_path: Path, way: str) -> None:
    found = made(way, tmp_path, 101, where="x < 2", contamination=3)
    assert found.design == dm.RandomBlocks(101) and found.contamination == 3
    assert found.data["where"] == "x < 2"
    assert "the interval allows for 3 bad rows" in dict(found.telling().facts)["bad rows tolerated"]
    if way != "stream":
        assert str(tmp_path / "in") in str(found.data["source"])


def test_units_are_called_what_they_are(tmp_path: Path) -> None:
    where = lake(tmp_path / "in")
    files = dm.mean(where, "x", blocks=dm.FileBlocks(3), rng=0)
    units = dm.ustatistic(
        {"x": X, "u": np.arange(X.size) % 50}, "x", kernel="gini", blocks=dm.UnitBlocks("u"), rng=0
    )
    assert (files.blocks_of, units.blocks_of) == ("files", "units")
    assert "Whole files were randomly assigned" in dict(files.telling().facts)["method"]
    assert "Whole units were randomly assigned" in dict(units.telling().facts)["method"]


def test_the_design_is_the_one_that_was_asked_for() -> None:
    for design in (dm.RandomBlocks("paper"), dm.StoredBlocks("paper"), dm.RandomBlocks(9, repeats=3)):
        assert dm.mean(X, blocks=design, rng=0).design == design
        assert dm.ustatistic(X, kernel="gini", blocks=design, rng=0).design == design
    assert json.loads(json.dumps(dm.mean(X, blocks=7, rng=0).to_dict()))["design"] == "RandomBlocks(7)"


def test_documentation_has_all_attributes() -> None:
    for kind in (dm.MeanResult, dm.VectorResult, dm.UStatisticResult, dm.CompareResult, dm.DifferenceResult):
        text = str(kind.__doc__)
        for name in (field.name for field in dataclasses.fields(kind)):
            assert f"{name} :" in text or f"{name}," in text or f", {name} " in text, (kind, name)
    base = "A.\n\nAttributes\n----------\na, b : int\n    Numbers.\nc : str"
    own = "B.\n\nAttributes\n----------\nb : float\n\nNotes\n-----\nNone."
    assert with_attributes(own, base) == (
        "B.\n\nAttributes\n----------\nb : float\na : int\n    Numbers.\nc : str\n\nNotes\n-----\nNone."
    )
    assert with_attributes(None, base) is None


OUTLYING = np.concatenate([X[:-40], np.full(40, 1e9)])
KEYS = np.array(["UA", "OO", "B6"])[np.arange(X.size) % 3]


def groups(**columns: Any) -> Any:
    return dm.mean({"x": X, "k": KEYS, **columns}, ["x", *columns], by="k", rng=0)


def test_a_status_is_one_word_and_flags_are_all() -> None:
    clean, outlying = dm.mean(X, rng=0), dm.mean(OUTLYING, rng=0)
    assert (clean.status, clean.flags, clean.ok) == ("ok", (), True)
    word, every = outlying.status, outlying.flags
    assert (word, every, outlying.ok) == ("contaminated", ("contaminated",), False)
    assert clean.status is dm.Status.OK and repr(clean.status) == "'ok'" and f"{clean.status}" == "ok"
    assert hash(outlying.status) == hash("contaminated") and outlying.status in {"contaminated"}
    told = json.loads(json.dumps(outlying.to_dict()))
    assert (told["status"], told["flags"]) == ("contaminated", ["contaminated"])
    assert type(outlying.to_dict()["status"]) is str
    assert outlying.to_arrow().select(["status", "flags"]).to_pylist() == [
        {"status": "contaminated", "flags": "contaminated"}
    ]


def test_every_word_has_its_kind() -> None:
    assert {word for word in dm.Status if word.no_answer} == {
        "no rows",
        "no finite answer",
        "breakdown point exceeded",
    }
    assert all(word.fine for word in ("ok", "champion", "beaten", "converged") for word in [dm.Status(word)])
    assert not any(dm.Status(word).fine for word in ("contaminated", "no values", "cycle", "still improving"))


def test_a_doubtful_result_is_refused_where_it_is_asked_to() -> None:
    clean, outlying = dm.mean(X, rng=0), dm.mean(OUTLYING, rng=0)
    assert clean.raise_if() is clean and clean.raise_if("contaminated") is clean
    assert outlying.raise_if("files disagree", dm.Status.NO_ROWS) is outlying
    for words in ((), ("contaminated",), ("ok", dm.Status.CONTAMINATED)):
        with pytest.raises(dm.DoubtfulResultError, match=r"^x: the status is 'contaminated'; look into"):
            outlying.raise_if(*words)
    with pytest.raises(dm.ConfigError, match="did you mean 'contaminated'"):
        clean.raise_if("contamnated")
    both = dm.mean({"x": X, "y": OUTLYING}, ["x", "y"], rng=0)
    assert both.raise_if("no rows") is both and not both.ok
    with pytest.raises(dm.DoubtfulResultError, match=r"^y: "):
        both.raise_if()


def test_results_are_found_by_their_keys() -> None:
    one, two = groups(), groups(y=2.0 * X)
    assert one["UA"] is one["x", "UA"] is one[2] and one["UA"].group == {"k": "UA"}
    assert two["y", "OO"].column == "y" and two["y", "OO"].group == {"k": "OO"}
    assert one[-1] is one[2] and one[:2] == (one[0], one[1])
    days = dm.mean({"x": X, "d": np.arange(X.size) % 2}, "x", by="d", rng=0)
    assert days["1"] is days[(1,)] is days[1]
    columns = dm.mean({"x": X, "y": X}, ["x", "y"], rng=0)
    assert columns["y"] is columns[1]
    for key, words in {
        "UAA": r"none has the key 'UAA'; there are B6, OO, UA; did you mean 'UA'\?",
        "x": r"3 have the key 'x'; ask for one, such as \['x', 'B6'\]",
    }.items():
        with pytest.raises(dm.UnknownResultError, match=words) as caught:
            one[key]
        assert isinstance(caught.value, LookupError) and isinstance(caught.value, dm.ConfigError)
    with pytest.raises(IndexError):
        one[3]


def results(tmp_path: Path) -> dict[str, Any]:
    table = {"x": X, "y": 2.0 * X + 1.0, "k": KEYS, "a": np.arange(X.size) % 2, "p": X}
    times = pa.table({"t": pa.array((1e9 * (X + 10)).astype(np.int64), pa.timestamp("ns", "UTC"))})
    return {
        "mean": dm.mean(X, rng=0),
        "times": dm.mean(times, "t", rng=0),
        "no answer": dm.mean({"x": np.append(X[:10], np.inf), "k": ["a"] * 10 + ["b"]}, "x", by="k", rng=0),
        "groups": groups(),
        "vector": dm.mean(table, ["x", "y"], joint=True, rng=0),
        "u": dm.ustatistic(table, "x", kernel="gini", rng=0),
        "matrix": dm.ustatistic(table, ["x", "y"], kernel="covariance", rng=0),
        "difference": dm.difference(table, "x", by="a", rng=0),
        "compare": dm.compare(table, "x", by="a", statistics="mean", test=dm.Permutations(99, 200), rng=0),
        "describe": dm.describe({"x": OUTLYING, "k": KEYS}, rng=0),
        "tournament": dm.tournament(table, ["p", "x"], "y", rng=0),
        "train": dm.train(table, "regression", target="y", columns="x", rng=0, options={"max_iter": 20}),
    }


KINDS = (
    *("mean", "times", "no answer", "groups", "vector", "u", "matrix", "difference", "compare", "describe"),
    *("tournament", "train"),
)


@pytest.fixture(scope="module")
def every(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return results(tmp_path_factory.mktemp("every"))


@pytest.mark.parametrize("kind", KINDS)
def test_an_unpickled_result_is_equal(every: dict[str, Any], kind: str) -> None:
    found = every[kind]
    again = pickle.loads(pickle.dumps(found))
    assert again == found and hash(again) == hash(found) and {found: 1}[again] == 1
    assert all(found != other for name, other in every.items() if name != kind)
    one = found if isinstance(found, dm.MeanResult | dm.VectorResult) else None
    if one is not None:
        assert (
            dataclasses.replace(one, run={}, data={})
            == one
            != dataclasses.replace(one, n_rows=one.n_rows + 1)
        )


@pytest.mark.parametrize("kind", KINDS)
def test_frames_are_those_of_arrow(every: dict[str, Any], kind: str) -> None:
    found = every[kind]
    table = found.to_arrow()
    assert list(found.to_pandas().columns) == found.to_polars().columns == table.column_names
    assert found.to_polars().height == len(found.to_pandas()) == table.num_rows


def test_frames_hold_keys_of_any_size() -> None:
    polars = pytest.importorskip("polars")
    keys = [Decimal("99999999999999999999999999999999999999.5"), Decimal(1), None]
    table = pa.table({"x": np.arange(300.0), "k": pa.array(keys * 100, pa.decimal256(60, 2))})
    found = dm.mean(table, "x", by="k", rng=0)
    for frame in (found.to_polars(), polars.DataFrame(found)):
        assert frame["k"].to_list() == [None, "1.00", "99999999999999999999999999999999999999.50"]
    assert found.to_arrow()["k"].type == pa.string()


def test_a_frame_that_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    found = dm.mean(X, rng=0)
    for name in ("pandas", "polars"):
        monkeypatch.setitem(sys.modules, name, None)
        with pytest.raises(
            dm.ConfigError, match=rf"^to_{name}: {name} is not installed; pip install {name}, or use"
        ):
            getattr(found, f"to_{name}")()


def test_the_table_of_statuses_in_the_reference_has_all_of_them_and_no_other():
    page = (Path(__file__).parents[2] / "docs/reference/statuses.md").read_text("utf-8")
    lines = page[page.index("| status | what it means |") :].split("\n\n")[0].splitlines()[2:]
    found = {
        word: line.rstrip(" |").rsplit(" | ", 1)[1]
        for line in lines
        for word in re.findall(r"`([^`]+)`", line.split(" | ")[0])
    }
    assert found == {str(status): "5" if status.no_answer else "0" for status in dm.Status}
