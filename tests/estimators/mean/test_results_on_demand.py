"""Results of many groups, made when they are asked for, beside those that are made at once."""

from __future__ import annotations

import json
import pickle
import re
import warnings
import weakref
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import distmom as dm
from distmom.errors import DoubtfulResultError, NoAnswerError, UnknownResultError
from distmom.estimators.mean import answer
from distmom.report import on_demand, results, table, write
from distmom.report.of_many import remarkable, rows_left_out
from distmom.report.on_demand import OnDemand
from distmom.report.page.render import page
from distmom.report.results import members
from distmom.report.write import json_pieces, write_results

CALLS: dict[str, dict[str, Any]] = {
    "one column": {"column": "x", "by": "a"},
    "two columns, one of times": {"column": ["x", "t"], "by": ["a", "b"]},
    "weights": {"column": ["x", "y"], "by": "a", "weights": "w"},
    "vectors": {"column": ["x", "y"], "by": "b", "joint": "geometric"},
    "samples": {"column": "y", "by": "b", "blocks": dm.SampledBlocks(11, 50)},
    "units": {"column": "y", "by": "b", "blocks": dm.UnitBlocks("u")},
    "the paper": {"column": "y", "by": "a", "blocks": "paper", "interval": "closed-form"},
}


def rows(n: int) -> pa.Table:
    g = np.random.default_rng(5)
    x = g.lognormal(1.0, 1.0, n)
    x[g.random(n) < 0.02] = -9999.0
    x[:3] = [np.nan, np.inf, np.nan]
    return pa.table(
        {
            "x": x,
            "y": pa.array(g.normal(size=n), mask=g.random(n) < 0.05),
            "t": pa.array(g.integers(0, 10**15, n), pa.timestamp("us")),
            "w": g.uniform(0.0, 2.0, n) * (g.random(n) < 0.9),
            "u": g.integers(0, 200, n),
            "a": g.integers(0, 12, n),
            "b": pa.array(g.choice(["north", "south", "", None], n).tolist(), pa.string()),
        }
    )


def both(monkeypatch: pytest.MonkeyPatch, data: Any, **call: Any) -> tuple[dm.Results, dm.Results, list[str]]:
    found, told = [], []
    for many in (1, 10**9):
        monkeypatch.setattr(answer, "MANY", many)
        with warnings.catch_warnings(record=True) as met:
            warnings.simplefilter("always")
            found.append(dm.mean(data, rng=1, executor=dm.Threads(1), **call))
        told += [str(one.message) for one in met]
    made, at_once = found
    return made, at_once, told


def fields(results: Any) -> list[list[tuple[str, Any]]]:
    told = [{k: v for k, v in vars(r).items() if k not in ("run", "data")} for r in results]
    return [[(k, v.tobytes() if isinstance(v, np.ndarray) else repr(v)) for k, v in t.items()] for t in told]


def raised(results: dm.Results, *words: str) -> str:
    try:
        results.raise_if(*words)
    except DoubtfulResultError as error:
        return str(error)
    return "nothing"


@pytest.mark.parametrize("name", CALLS)
def test_they_say_the_same_in_all(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    made, at_once, told = both(monkeypatch, rows(4_000), **CALLS[name])
    assert isinstance(members(made), OnDemand) and isinstance(members(at_once), tuple)
    assert fields(made) == fields(at_once)
    assert [fields([r]) for r in remarkable(made)] == [fields([r]) for r in remarkable(at_once)]
    assert fields(made.said_as(str.upper)) == fields(at_once.said_as(str.upper))
    assert made.count_statuses() == at_once.count_statuses()
    assert made == at_once and at_once == made and hash(made) == hash(at_once)
    assert made.to_arrow().equals(at_once.to_arrow())
    assert made.to_dict()["results"] == at_once.to_dict()["results"]
    assert (len(made), repr(made), str(made)) == (len(at_once), repr(at_once), str(at_once))
    assert (made.ok, made.exit_code) == (at_once.ok, at_once.exit_code)
    for words in ("any", "contaminated", "no rows"):
        failing = dm.Results.failing(words)
        assert made.exit_code_if(failing) == at_once.exit_code_if(failing)
    for asked in ((), ("contaminated",), ("share screened out", "ok")):
        assert raised(made, *asked) == raised(at_once, *asked)
    half = len(told) // 2
    assert told[:half] == told[half:]


def test_they_are_a_sequence_and_travel(monkeypatch: pytest.MonkeyPatch) -> None:
    made, at_once, _ = both(monkeypatch, rows(4_000), **CALLS["two columns, one of times"])
    assert made[-1] == at_once[-1] and made[3:5] == at_once[3:5]
    assert made.index(at_once[7]) == 7 and made.count(at_once[7]) == 1
    assert made["t", 3, "north"] == at_once["t", 3, "north"]
    for key in ("nothing", ("x", 3)):
        with pytest.raises(UnknownResultError) as of_made:
            made[key]
        with pytest.raises(UnknownResultError) as of_others:
            at_once[key]
        assert str(of_made.value) == str(of_others.value)
    with pytest.raises(IndexError):
        made[len(made)]
    again = pickle.loads(pickle.dumps(made))
    assert again == made and again.run == made.run and again[0].data == made.data


def test_files_that_are_accused_are_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for i in range(24):
        g = np.random.default_rng(i)
        table = {"x": g.normal(size=900) + 50.0 * (i == 3), "g": g.integers(0, 2, 900)}
        pq.write_table(pa.table(table), tmp_path / f"{i:02}.parquet")
    for blocks in ("auto", 9):
        made, at_once, _ = both(monkeypatch, tmp_path, column="x", by="g", blocks=blocks)
        assert fields(made) == fields(at_once)
        assert all(r.accused_files == ("03.parquet",) and r.files_named for r in made)


def test_no_finite_answer_is_still_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answer, "MANY", 1)
    table = pa.table({"x": pa.nulls(40, pa.float64()), "g": np.arange(40) % 4})
    with pytest.raises(NoAnswerError, match="none of the 10 rows has a value"):
        dm.mean(table, "x", by="g", executor=dm.Threads(1))


def test_text_shows_the_first_and_last_of_very_many(monkeypatch: pytest.MonkeyPatch) -> None:
    table = pa.table({"g": np.arange(3_000) % 1_200, "x": np.random.default_rng(0).normal(size=3_000)})
    found = dm.mean(table, "x", by="g", rng=1, executor=dm.Threads(1))
    made: list[int] = []
    make = answer.AnswerColumns.make
    monkeypatch.setattr(answer.AnswerColumns, "make", lambda self, g: made.append(g) or make(self, g))
    text = str(found)
    assert set(made) == {*range(25), *range(1_175, 1_200)}
    assert (
        "first and last 25 of 1,200 results, with their notes; to_arrow(), to_polars() and a loop have all"
        in text
    )
    (told,) = [line for line in text.splitlines() if line.startswith("status of all: ")]
    assert sum(int(n.replace(",", "")) for n in re.findall(r"\(([\d,]+)\)", told)) == 1_200
    lines = [line.split() for line in text.splitlines()]
    shown = [int(line[0]) for line in lines if line and line[0].replace(",", "").isdigit()]
    assert shown == [*range(25), *range(1_175, 1_200)]


@pytest.mark.parametrize("call", CALLS)
def test_documents_are_written_in_pieces(monkeypatch: pytest.MonkeyPatch, call: str) -> None:
    made, at_once, _ = both(monkeypatch, rows(900), **CALLS[call])
    pieces = list(json_pieces(made, ensure_ascii=False))
    document = made.document()
    assert len(pieces) > len(made) and json.loads("".join(pieces)) == document
    assert "".join(pieces) == json.dumps(document, indent=1, ensure_ascii=False) + "\n"
    whole = at_once.to_arrow()
    monkeypatch.setattr(table, "TOGETHER", 2)
    pieced = made.to_arrow()
    assert pieced.schema == whole.schema and repr(pieced.to_pydict()) == repr(whole.to_pydict())  # NaN, too
    told, once = (
        {name: (n, {what: k for what, k in some.items() if k}) for name, (n, some) in found.items()}
        for found in map(rows_left_out, (made, at_once))
    )
    assert told == once


def count_alive(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many results there are at once, whenever one is made."""
    alive, counts, make = weakref.WeakSet[Any](), list[int](), answer.AnswerColumns.make

    def counted(self: answer.AnswerColumns, g: int) -> Any:
        one = make(self, g)
        alive.add(one)
        counts.append(len(alive))
        return one

    monkeypatch.setattr(answer.AnswerColumns, "make", counted)
    return counts


@pytest.mark.parametrize("ending", ["parquet", "csv"])
def test_files_are_written_in_pieces(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, ending: str) -> None:
    made, at_once, _ = both(monkeypatch, rows(900), column=["x", "t"], by=["a", "b"])
    write_results(at_once, tmp_path / f"whole.{ending}")
    alive = count_alive(monkeypatch)
    monkeypatch.setattr(table, "TOGETHER", 4)
    monkeypatch.setattr(write, "ROW_GROUP", 20)
    write_results(made, tmp_path / f"pieces.{ending}")
    assert len(made) > 60 and 0 < max(alive) < 20
    whole, pieces = (tmp_path / f"{name}.{ending}" for name in ("whole", "pieces"))
    if ending == "csv":
        assert pieces.read_text() == whole.read_text()
        return
    assert pq.ParquetFile(pieces).num_row_groups == -(-len(made) // 20)
    first, second = (pq.read_table(path) for path in (whole, pieces))
    assert first.schema == second.schema and repr(first.to_pydict()) == repr(second.to_pydict())  # NaN, too


@pytest.mark.parametrize("ending", ["parquet", "csv"])
def test_a_row_group_that_was_written_is_not_held(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, ending: str
) -> None:
    """The first one, the last one and the pieces of the next were held side by side."""
    made, _, _ = both(monkeypatch, rows(900), column=["x", "t"], by=["a", "b"])
    groups: list[Any] = []
    alive: list[int] = []
    concat = pa.concat_tables

    def counted(tables: list[Any]) -> Any:
        alive.append(sum(group() is not None for group in groups))
        found = concat(tables)
        groups.append(weakref.ref(found))
        return found

    monkeypatch.setattr(pa, "concat_tables", counted)
    monkeypatch.setattr(table, "TOGETHER", 4)
    monkeypatch.setattr(write, "ROW_GROUP", 20)
    write_results(made, tmp_path / f"pieces.{ending}")
    assert len(alive) >= 3 and max(alive) == 0


def test_memory_is_given_back_while_results_are_made(monkeypatch: pytest.MonkeyPatch) -> None:
    found, _, _ = both(monkeypatch, rows(2_000), column="x", by="a")
    given: list[int] = []
    every = replace(members(found), let_go=lambda: given.append(1))  # type: ignore[type-var]
    monkeypatch.setattr(on_demand, "LET_GO", 4)
    assert len(list(every)) == 12 and len(given) == 3


def test_a_survey_of_groups_keeps_no_results(monkeypatch: pytest.MonkeyPatch) -> None:
    """All groups have a flag, since they are small: each result is looked at and let go."""
    monkeypatch.setattr(answer, "MANY", 1)
    g = np.random.default_rng(0)
    data = pa.table({"k": np.arange(4_000) % 500, "x": g.normal(size=4_000)})
    alive = count_alive(monkeypatch)
    found = dm.ustatistic(data, "x", kernel="gini", by="k", rng=0, executor=dm.Threads(1))
    assert len(found) == 500 and 0 < max(alive) < 20


def test_a_report_makes_each_result_once(monkeypatch: pytest.MonkeyPatch) -> None:
    found, _, _ = both(monkeypatch, rows(2_000), column="x", by="a")
    asked: list[int] = []

    class Counted:
        """The columns of the results, and what was asked of them."""

        def __init__(self, part: Any) -> None:
            self.part = part

        def __len__(self) -> int:
            return len(self.part)

        def __getattr__(self, name: str) -> Any:
            return getattr(self.part, name)

        def make(self, g: int) -> Any:
            asked.append(g)
            return self.part.make(g)

    [part] = members(found).parts
    found._results = members(found).__class__.of([Counted(part)]).told(data=found.data, run=found.run)
    told = page(found.story(), {})
    assert sorted(asked) == list(range(12))
    monkeypatch.setattr(results, "MOST_HELD", 11)  # too many to be held
    assert page(found.story(), {}) == told and len(asked) > 2 * 12
