"""What all public functions share: one path for plan and run, the session's defaults, the recorded call."""

from __future__ import annotations

import warnings
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import distmom as dm

X = np.random.default_rng(0).normal(size=2_000)
DATA = {"x": X, "y": X + 1.0, "arm": np.arange(2_000) % 2, "p": X, "q": X - 1.0}
CALLS: dict[str, tuple[Any, tuple[Any, ...], dict[str, Any]]] = {
    "mean": (dm.mean, ("x",), {}),
    "ustatistic": (dm.ustatistic, ("x",), {"kernel": "gini"}),
    "difference": (dm.difference, ("x",), {"by": "arm"}),
    "compare": (dm.compare, ("x",), {"by": "arm", "test": dm.Permutations(99, 200)}),
    "describe": (dm.describe, (["x", "y"],), {}),
    "tournament": (dm.tournament, (["p", "q"], "y"), {}),
}


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    for part in range(4):
        rows = {name: values[500 * part : 500 * part + 500] for name, values in DATA.items()}
        pq.write_table(pa.table(rows), tmp_path / f"{part}.parquet")
    return tmp_path


@pytest.mark.parametrize("name", CALLS)
def test_an_explanation_reads_no_row_and_says_what_the_run_does(
    name: str, lake: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    function, args, words = CALLS[name]
    with monkeypatch.context() as patch:

        def never(*args: Any, **kwargs: Any) -> Any:
            raise AssertionError("rows were read")

        patch.setattr("distmom.lake.reader.Reader.batches", never)
        plan = dm.explain(function, lake, *args, rng=3, **words)
    assert plan["n_files"] >= 4 and plan["seed"] == 3 and plan["skipped"] == []
    found = dm.Results.of(function(lake, *args, rng=3, **words))
    assert found.run["seed"] == 3 and found.run["seconds"] > 0.0


@pytest.mark.parametrize("name", CALLS)
def test_an_explanation_refuses_what_the_run_refuses(name: str, lake: Path) -> None:
    function, args, words = CALLS[name]
    for wrong in ({"where": "nothing > 1"}, {"executor": dm.Threads(memory_limit="1MB")}):
        errors = []
        for call in (function, lambda *a, f=function, **k: dm.explain(f, *a, **k)):
            with pytest.raises(dm.DistmomError) as caught:
                call(lake, *args, rng=0, **words, **wrong)
            errors.append(caught.value)
        assert type(errors[0]) is type(errors[1]) and str(errors[0]) == str(errors[1])


@pytest.mark.parametrize("name", CALLS)
def test_a_recorded_call_repeats_the_result(name: str, lake: Path) -> None:
    function, args, words = CALLS[name]
    first = function(lake.as_posix(), *args, **words)
    again = eval(dm.Results.of(first).run["call"]["code"], {"dm": dm})
    assert dm.Results.of(again).run["seed"] == dm.Results.of(first).run["seed"]
    for a, b in zip(dm.Results.of(first), dm.Results.of(again), strict=True):
        assert a == b


@pytest.mark.parametrize("name", CALLS)
def test_names_of_the_past_have_an_answer(name: str) -> None:
    function, args, words = CALLS[name]
    with pytest.raises(TypeError, match=rf"threads: now executor=dm\.Threads\(n\); see help\(dm\.{name}\)"):
        function(DATA, *args, **words, threads=2)
    with pytest.raises(TypeError, match=r"seed: now rng=…"):
        function(DATA, *args, **words, seed=2)


def test_no_function_takes_more_than_sixteen_parameters() -> None:
    import inspect

    for name in dm.__all__:
        value = getattr(dm, name)
        if callable(value) and not isinstance(value, type):
            assert len(inspect.signature(value).parameters) <= 16, name


def test_defaults_of_a_session_hold_until_the_end_of_the_block() -> None:
    plain = dm.mean(X, rng=0)
    with dm.options(rng=0, confidence_level=0.9):
        inner = dm.mean(X)
        assert inner.confidence_level == 0.9 and inner.run["seed"] == 0
        assert dm.mean(X, confidence_level=0.99) == plain, "what is said counts more"
        with dm.options(rng=1):
            assert dm.mean(X).run["seed"] == 1 and dm.mean(X).confidence_level == 0.9
        assert dm.mean(X).run["seed"] == 0
    assert dm.mean(X).confidence_level == 0.99
    with pytest.raises(dm.ConfigError, match="options: no option is called 'seed'"):
        dm.options(seed=1)
    with pytest.raises(dm.ConfigError, match="confidence_level"):
        dm.options(confidence_level=95)


def test_progress_is_told_by_an_object_of_the_session(lake: Path) -> None:
    class Count:
        rows = 0

        def begin(self, n_units: int, n_bytes: int) -> None:
            pass

        def advance(self, n_rows: int, n_bytes: int) -> None:
            self.rows += n_rows

        def end(self) -> None:
            pass

    count = Count()
    with dm.options(progress=count):
        dm.mean(lake, "x")
    assert count.rows == 2_000


@pytest.mark.filterwarnings("error::distmom.errors.DoubtfulResultWarning")
def test_a_doubtful_result_warns_once() -> None:
    bad = X.copy()
    bad[::400] = 1e9
    with pytest.warns(dm.DoubtfulResultWarning, match=r"x: contaminated") as caught:
        dm.mean({"x": bad, "y": X}, ["x", "y"], rng=0)
    assert len(caught) == 1 and caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        dm.mean(X, rng=0)
        with dm.options(warn=False):
            dm.mean(bad, rng=0)


def test_places_are_equal_in_bits(lake: Path) -> None:
    plain = dm.mean(lake, "x", rng=0)
    for place in (dm.Threads(1), dm.Threads(3, memory_limit="4GB")):
        assert dm.mean(lake, "x", rng=0, executor=place) == plain
        assert eval(repr(place), {"Threads": dm.Threads}) == place
    for wrong, words in ((2, "Threads"), (dm.Threads, "is a class"), (object(), "Dask client")):
        with pytest.raises(dm.ConfigError, match=words):
            dm.mean(lake, "x", executor=wrong)
    for make in (lambda: dm.Threads(0), lambda: dm.Processes(0), lambda: dm.Threads(memory_limit="plenty")):
        with pytest.raises(dm.ConfigError):
            make()


@pytest.mark.parametrize(
    "call",
    [
        lambda wide: dm.mean(wide),
        pytest.param(lambda wide: dm.explain(dm.describe, dm.scan(wide)), marks=pytest.mark.slow),
        pytest.param(lambda wide: dm.compare([wide, wide]), marks=pytest.mark.slow),
        pytest.param(lambda wide: dm.ustatistic(wide, kernel="gini"), marks=pytest.mark.slow),
    ],
    ids=["mean", "describe", "compare", "ustatistic"],
)
def test_an_array_of_more_columns_than_rows_is_said_to_be_one(call: Any) -> None:
    wide = np.zeros((2, 10_000))
    few = dm.options(executor=dm.Threads(1, memory_limit="600MB"))
    with few, pytest.raises(dm.ResourceError) as refused:
        call(wide)
    assert str(refused.value).startswith(
        "data: has 2 rows and 10,000 columns, each with a state of its own; for one column of all values "
        "give x.reshape(-1), for 2 columns x.T ("
    )


def test_an_array_of_many_rows_is_not_said_to_be_wide() -> None:
    with pytest.raises(dm.ResourceError) as refused:
        dm.mean(np.zeros((10_000, 30)), executor=dm.Threads(1, memory_limit="140MB"))
    assert "reshape" not in str(refused.value)


def test_data_in_memory_goes_to_no_cluster() -> None:
    """Nobody listens there: whoever wanted the cluster would say so."""
    pytest.importorskip("sklearn")
    rows = {"x": np.arange(300.0), "y": np.arange(300.0), "k": np.arange(300) % 2}
    nowhere = dm.Cluster("tcp://127.0.0.1:1")
    for ask in (
        lambda: dm.mean(rows, "x", executor=nowhere),
        lambda: dm.ustatistic(rows, "x", kernel="gini", executor=nowhere),
        lambda: dm.compare(rows, "x", by="k", test=dm.Permutations(19), executor=nowhere),
        lambda: dm.difference(rows, "x", by="k", executor=nowhere),
        lambda: dm.describe(rows, executor=nowhere),
        lambda: dm.tournament(rows, target="y", candidates=["x"], executor=nowhere),
        lambda: dm.train(rows, "regression", target="y", executor=nowhere),
        lambda: dm.RobustKMeans(2, random_state=0, max_iter=5).fit(rows, columns=["x"], executor=nowhere),
    ):
        assert ask() is not None


def test_what_is_too_large_is_told_by_results_and_by_no_warning_of_numpy() -> None:
    """A third of the values cannot even be added; the project's tests take warnings for errors."""
    g = np.random.default_rng(0)
    large = np.where(np.arange(3_000) % 3, g.normal(size=3_000), 1.7e308)
    rows = {"x": large, "y": g.normal(size=3_000), "k": np.arange(3_000) % 2}
    accumulator = dm.MeanAccumulator("x", rng=0)
    accumulator.update(rows)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dm.DoubtfulResultWarning)
        for ask in (
            lambda: dm.mean(rows, "x"),
            lambda: dm.mean(rows, ["x", "y"], joint=True),
            lambda: dm.describe(rows),
            lambda: dm.difference(rows, "x", by="k"),
            lambda: dm.compare(rows, "x", by="k", test=dm.Permutations(19)),
            lambda: dm.ustatistic(rows, ["x", "y"], kernel="covariance"),
            lambda: dm.tournament(rows, target="y", candidates=["x", "k"]),
            accumulator.result,
        ):
            with suppress(dm.NoAnswerError):
                assert ask() is not None
