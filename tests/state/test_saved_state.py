"""The public class, and what a new kind of job needs of the room."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import distmom as dm
from distmom.lake import FileRef
from distmom.state import Checkpoint, Fingerprint, Saved, shown
from distmom.state.checkpoint import Content
from distmom.state.saved import Change, change

PRINT = Fingerprint.of({"column": "x", "where": shown("(a 1)", "a = 1")}, {"n_blocks": 5}, 7, 7)


def write(folder: Path, n: int = 2) -> Path:
    folder.mkdir(exist_ok=True)
    for i in range(n):
        x = np.random.default_rng(i).normal(size=300)
        pq.write_table(pa.table({"x": x, "p": 0.9 * x, "q": 0.5 * x, "y": x + 1.0}), folder / f"{i}.parquet")
    return folder


def test_a_state_is_a_value(tmp_path: Path) -> None:
    state = dm.State(tmp_path / "s", on_change="restart")
    assert eval(repr(state), {"State": dm.State}) == state
    assert hash(state) == hash(dm.State(str(tmp_path / "s"), "restart"))
    assert os.fspath(state) == str(tmp_path / "s") and state.load("mean") is None
    for wrong, words in (
        (("",), "path"),
        ((None,), "path"),
        ((b"s",), "path"),
        (("s", "resume"), "on_change: must be"),
        (("s", "restrat"), "did you mean 'restart'"),
    ):
        with pytest.raises(dm.ConfigError, match=words):
            dm.State(*wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize("job", ["mean", "tournament", "learner"])
def test_a_state_is_taken_wherever_a_path_is(job: str, tmp_path: Path) -> None:
    lake = write(tmp_path / "lake")

    def run(state: Any, rng: Any = 0) -> bytes:
        if job == "mean":
            return np.float64(dm.mean(lake, "x", rng=rng, state=state).estimate).tobytes()  # type: ignore[union-attr]
        if job == "tournament":
            found = dm.tournament(lake, ["p", "q"], "y", rng=rng, state=state)
            return np.array([one.plain_estimate for one in found]).tobytes()
        learner = dm.RobustLinearRegression(random_state=rng, max_iter=9, early_stopping=False)
        return bytes(learner.fit(lake, "y", columns=["p"], state=state).coef_.tobytes())

    path = tmp_path / "s"
    first = run(dm.State(path))
    assert run(path) == first == run(dm.State(path), None), "by default with the seed of the state"
    os.utime(lake / "1.parquet", (1, 1))
    with pytest.raises(dm.DataError, match=r"1\.parquet.*on_change='restart'"):
        run(path)
    assert run(dm.State(path, on_change="restart")) == first
    assert run(path) == first
    with pytest.raises(dm.ConfigError, match="among the files"):
        run(lake / "s")


def test_a_job_of_rounds_needs_its_own_arrays_and_facts_alone(tmp_path: Path) -> None:
    state = dm.State(tmp_path / "s")
    files = (FileRef("a\udc80", 10, 20), FileRef("b", 30, 40))
    state.save(Saved("rounds", PRINT, files, {"round": 3}, {"x": np.arange(4.0), "names": (b"u", b"")}))
    found = state.load("rounds")
    assert found is not None
    assert (found.fingerprint, found.files, found.facts) == (PRINT, files, {"round": 3})
    assert found.fingerprint.seed == (7, 7)
    assert found.arrays["x"].tolist() == [0, 1, 2, 3] and found.arrays["names"] == (b"u", b"")
    with pytest.raises(
        dm.DataError, match=r"^state '.*s' is of kind 'rounds', not 'mean'; name another file$"
    ):
        state.load("mean")


@pytest.mark.parametrize(
    ("question", "design", "words"),
    [
        ({}, {}, None),
        ({"where": shown("(a 1)", "(a=1)")}, {}, None),
        ({"column": "y"}, {}, "column was 'x', now 'y'"),
        ({"where": shown("(a 2)", "a = 2")}, {}, "where was 'a = 1', now 'a = 2'"),
        ({"where": shown("(a 2)", "a = 1")}, {}, r"where was '\(a 1\)', now '\(a 2\)'"),
        ({}, {"n_blocks": 7}, "n_blocks was 5, now 7; use the same, or name another state$"),
        ({"column": "y"}, {"n_blocks": [7]}, "column was 'x', now 'y'; n_blocks was 5, now 7; use"),
    ],
    ids=str,
)
def test_one_comparison(
    question: dict[str, Any], design: dict[str, Any], words: str | None, tmp_path: Path
) -> None:
    state = dm.State(tmp_path / "s")
    state.save(Saved("rounds", PRINT))
    now = Fingerprint(PRINT.question | question, PRINT.design | design)
    if words is None:
        Checkpoint(state, "rounds").begin(now, ())
        return
    with pytest.raises(dm.ConfigError, match=f"^state '.*s' was made with other options: {words}"):
        Checkpoint(state, "rounds").begin(now, ())


def test_files_that_have_changed() -> None:
    known = [FileRef("a", 1, 1), FileRef("b", 1, 1)]
    assert change(known, known) is None
    assert change(known, [*known, FileRef("c", 1, 1)]) is None
    fixed = Change("blocks depend on them", "to start anew")
    assert change(known, known, fixed) is None
    added = change(known, [*known, FileRef("c", 1, 1)], fixed)
    assert added == ("blocks depend on them, so 1 new file (first: c) cannot be added", "to start anew")
    worse = change(known, [FileRef("b", 2, 1)], fixed)
    assert worse is not None
    changed, gone = worse.text.split(" and ")
    assert changed == "1 of its files has changed since (first: b (size 1 -> 2 bytes))"
    assert gone == "1 of its files has gone (first: a)"


def test_what_is_new_is_saved_whatever_ends_the_work(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    state, rounds = dm.State(tmp_path / "s"), 0
    caplog.set_level("INFO", "distmom")

    def content() -> Content | None:
        return Content((), {"rounds": rounds}, {}) if rounds != 3 else None

    def work(until: int, *, error: bool) -> int:
        nonlocal rounds
        keeper = Checkpoint(state, "rounds")
        keeper.begin(PRINT, ())
        rounds = 0 if keeper.saved is None else keeper.saved.facts["rounds"]
        with keeper.keeping(content) as note:
            while rounds < until:
                rounds += 1
                note()
            if error:
                raise KeyboardInterrupt
        keeper.save(content())
        return rounds

    with pytest.raises(KeyboardInterrupt):
        work(0, error=True)
    assert not state.file.exists(), "there was nothing to save"
    assert not caplog.messages, "and nobody says that there was"
    for until, saved in ((2, 2), (3, 2), (4, 4)):  # the third is no state that can be continued
        caplog.clear()
        with pytest.raises(KeyboardInterrupt):
            work(until, error=True)
        told = [one for one in caplog.messages if "progress is saved" in one]
        assert len(told) == (saved == until)
        found = state.load("rounds")
        assert found is not None and found.facts["rounds"] == saved
    assert work(5, error=False) == 5
