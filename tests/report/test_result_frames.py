"""Results as frames of other libraries, and equal where they say the same."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import distmom as dm

G = np.random.default_rng(0)
N = 2_000
X = G.normal(size=N)
TABLE = pa.table(
    {
        "x": X,
        "y": X + G.normal(size=N),
        "g": np.array(["a", "b", "c"])[np.arange(N) % 3],
        "one": ["only"] * N,
        "arm": np.arange(N) % 2,
        "t": np.datetime64("2024-05-17", "s") + np.arange(N).astype("m8[s]"),
        "d": np.arange(N).astype("m8[s]"),
    }
)
FEW = {"x": X, "g": np.minimum(np.arange(N) // 15, 130)}
"""Groups of which one beyond the first hundred has an interval."""

FOUND: dict[str, Callable[[], Any]] = {
    "mean": lambda: dm.mean(TABLE, "x", rng=0),
    "means": lambda: dm.mean(TABLE, ["x", "y"], rng=0),
    "means of times and numbers": lambda: dm.mean(TABLE, ["x", "t", "d"], rng=0),
    "means by groups": lambda: dm.mean(TABLE, "x", by="g", rng=0),
    "times by groups": lambda: dm.mean(TABLE, "t", by="g", rng=0),
    "mean of one group": lambda: dm.mean(TABLE, "x", by="one", rng=0),
    "many groups": lambda: dm.mean(FEW, "x", by="g", rng=0),
    "vector": lambda: dm.mean(TABLE, ["x", "y"], joint=True, rng=0),
    "vectors": lambda: dm.mean(TABLE, ["x", "y"], joint=True, by="g", rng=0),
    "statistic": lambda: dm.ustatistic(TABLE, "x", kernel="gini", rng=0),
    "statistics": lambda: dm.ustatistic(TABLE, "x", kernel="gini", by="g", rng=0),
    "matrix": lambda: dm.ustatistic(TABLE, ["x", "y"], kernel="covariance", rng=0),
    "difference": lambda: dm.difference(TABLE, "x", by="arm", rng=0),
    "differences": lambda: dm.difference(TABLE, "x", by="g", control="a", rng=0),
    "comparison": lambda: dm.compare(TABLE, "x", by="arm", test=dm.Permutations(99), rng=0),
    "profile": lambda: dm.describe(TABLE, ["x", "t", "g"], rng=0),
    "tournament": lambda: dm.tournament(TABLE, ["x", "arm"], "y", rng=0),
    "training": lambda: dm.train(
        TABLE, "regression", target="y", columns="x", options={"max_iter": 5}, rng=0
    ),
}


@pytest.fixture(scope="module")
def found() -> dict[str, Any]:
    return {name: call() for name, call in FOUND.items()}


@pytest.mark.parametrize("name", FOUND)
@pytest.mark.one_in(3)
def test_a_frame_of_results_is_their_table(found: dict[str, Any], name: str) -> None:
    results = found[name]
    table = results.to_polars()
    assert pl.DataFrame(results).equals(table) and pl.from_arrow(pa.table(results)).equals(table)
    assert pd.DataFrame.from_arrow(results).equals(results.to_pandas())
    first = dm.Results.of(results)[0]
    alone = first.to_polars()
    assert pl.DataFrame(first).equals(alone) and pl.from_arrow(pa.table(first)).equals(alone)
    assert pd.DataFrame.from_arrow(first).equals(first.to_pandas())
    for relation in (results, first):  # DuckDB finds the variable
        rows = duckdb.sql("FROM relation")
        assert rows.columns == relation.to_arrow().column_names
        assert len(rows.fetchall()) == relation.to_arrow().num_rows


@pytest.mark.parametrize("name", FOUND)
def test_lists_of_results_are_frames_with_a_row_for_each(found: dict[str, Any], name: str) -> None:
    results = list(dm.Results.of(found[name]))
    assert not isinstance(results[0], Iterable)  # a result that were would be one cell of pandas, not a row
    with pytest.raises(ValueError, match="constructor not properly called"):  # docs/howto/frames.md quotes it
        pd.DataFrame(results[0])
    every = pl.DataFrame(results, infer_schema_length=None)
    assert len(every) == len(pd.DataFrame(results)) == len(pd.DataFrame(dm.Results.of(found[name])))
    assert len(pl.DataFrame(results[:3])) == len(results[:3])
    numbers = pd.DataFrame(results)["n_rows"]
    assert numbers.tolist() == every["n_rows"].to_list() == [r.n_rows for r in results]
    if "path" in every.columns and results[0].path:
        [first, *_] = every["path"].to_list()[0]
        assert first["estimate"] == results[0].path[0].estimate == [*results[0].path[0]][1]


@pytest.mark.parametrize("name", FOUND)
def test_results_of_equal_runs_and_pickled_ones_are_equal(found: dict[str, Any], name: str) -> None:
    again = FOUND[name]()
    assert again == found[name] and pickle.loads(pickle.dumps(again)) == found[name]
    other = dm.Results.of(found[name])
    assert dm.Results.of(again) == other and again.run["seconds"] != found[name].run["seconds"]


def test_trainings_differ_by_what_was_learned(found: dict[str, Any]) -> None:
    other = dm.train(TABLE, "regression", target="y", columns="x", options={"max_iter": 6}, rng=0)
    assert other != found["training"]


def test_results_have_all_of_a_sequence(found: dict[str, Any]) -> None:
    results = found["differences"]
    assert results.index(results[1]) == 1 and results.count(results[0]) == 1
    assert list(reversed(results)) == [results[1], results[0]] and results[0] in results
    assert dm.mean(found["means by groups"], "estimate").n_rows == 3  # and is data for the next question
