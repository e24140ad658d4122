"""Saved states and bad files, and runs that fail."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from mean_lakes import cut_work, same, write
from state_lakes import N, Opened, close, flat_lake, interrupted, refused, run, some_files

import distmom as dm


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return flat_lake(tmp_path_factory.mktemp("states") / "lake", N)


def test_files_left_out_are_tried_again(lake: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    some, state = some_files(lake, tmp_path / "lake", range(8)), tmp_path / "s"
    whole = (some / "003.parquet").read_bytes()
    (some / "003.parquet").write_bytes(whole[:-20])
    refused(dm.BadFileError, ["003.parquet"], lambda: run(some, {}, state=state))
    skip = {"on_bad_file": "skip"}
    found = run(some, skip, state=state)
    assert same(found, run(some, skip))
    assert [s["file"] for s in found.data["skipped"]] == ["003.parquet"]
    opened = Opened(monkeypatch)
    again = run(some, skip, state=state)
    assert same(found, again) and opened.taken() == ["003.parquet"]
    assert [s["file"] for s in again.data["skipped"]] == ["003.parquet"]
    refused(dm.BadFileError, ["003.parquet"], lambda: run(some, {}, state=state))
    some_files(lake, some, (8, 9))
    assert same(run(some, skip, state=state), run(some, skip)), "the end still grows as it would"
    (some / "003.parquet").write_bytes(whole)
    healed = run(some, {}, state=state)
    close(healed, run(some, {}))
    assert healed.data["skipped"] == [] and healed.data["n_files"] == 10
    (some / "003.parquet").write_bytes(whole[:-20])
    refused(dm.DataError, ["003.parquet (size", "changed since"], lambda: run(some, skip, state=state))


def test_a_bad_file_may_go(lake: Path, tmp_path: Path) -> None:
    some, state = some_files(lake, tmp_path / "lake", range(8)), tmp_path / "s"
    (some / "003.parquet").write_bytes(b"no Parquet")
    run(some, {"on_bad_file": "skip"}, state=state)
    (some / "003.parquet").unlink()
    found = run(some, {}, state=state)
    close(found, run(some, {}))
    assert found.data["skipped"] == [] and found.data["n_files"] == 7


def test_bad_footers_where_rows_are_counted(lake: Path, tmp_path: Path) -> None:
    some, state = some_files(lake, tmp_path / "lake", range(8)), tmp_path / "s"
    (some / "003.parquet").write_bytes(b"no Parquet")
    options = {"order": "stored", "on_bad_file": "skip"}
    right = run(some, options)
    for _ in range(2):
        found = run(some, options, state=state)
        assert same(found, right)
        assert [s["file"] for s in found.data["skipped"]] == ["003.parquet"]
    some_files(lake, some, [3])
    refused(dm.DataError, ["003.parquet", "changed"], lambda: run(some, options, state=state))
    assert same(run(some, options, state=state, on_change="restart"), run(some, options))


def test_a_bad_file_may_go_while_the_run_is_interrupted(
    lake: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    some, state = some_files(lake, tmp_path / "lake", range(8)), tmp_path / "s"
    whole = (some / "001.parquet").read_bytes()
    for then in ("gone", "healed"):
        (some / "001.parquet").write_bytes(whole[:-20])
        with monkeypatch.context() as patch:
            cut_work(patch, max_files=1)
            assert interrupted(some, state, 4, column="x", rng=7, threads=1, on_bad_file="skip")
        if then == "gone":
            (some / "001.parquet").unlink()
        else:
            (some / "001.parquet").write_bytes(whole)
        run(some, {}, state=state)
        found = run(some, {}, state=state)
        close(found, run(some, {}))
        assert found.data["skipped"] == []
        state.unlink()


def test_an_error_saves_what_was_read(lake: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    some, state = some_files(lake, tmp_path / "lake", range(8)), tmp_path / "s"
    whole = (some / "006.parquet").read_bytes()
    (some / "006.parquet").write_bytes(whole[:-20])
    cut_work(monkeypatch, max_files=1)
    opened = Opened(monkeypatch)
    refused(dm.BadFileError, ["006.parquet"], lambda: run(some, {}, state=state))
    (some / "006.parquet").write_bytes(whole)
    opened.taken()
    assert same(run(some, {}, state=state), run(some, {}))
    assert state.exists()


def test_a_run_that_fails_at_once_leaves_no_state(lake: Path, tmp_path: Path) -> None:
    refused(dm.ConfigError, ["nope"], lambda: dm.mean(lake, "nope", state=tmp_path / "s"))
    assert list(tmp_path.iterdir()) == []


def test_without_rows_the_files_are_still_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "lake" / "0.parquet", {"x": np.empty(0)})
    with pytest.raises(dm.NoAnswerError):
        dm.mean(tmp_path / "lake", rng=0, state=tmp_path / "s")
    write(tmp_path / "lake" / "1.parquet", {"x": np.arange(9.0)})
    opened = Opened(monkeypatch)
    found = dm.mean(tmp_path / "lake", state=tmp_path / "s")
    assert opened.taken() == ["1.parquet"]
    assert same(found, dm.mean(tmp_path / "lake", rng=0))
