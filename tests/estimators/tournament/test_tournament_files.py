"""A tournament with a bad file among many: no random block is without its rows, and the result says so."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from mean_lakes import write

import distmom as dm
from distmom.estimators.mean import plan as mean_plan

NOTE = "whole files contradict random blocks of rows, so some files are bad, but the answer is by rows"


def lake(folder: Path, *, bad: int | None = None, column: str = "y", n_files: int = 20) -> Path:
    """Of candidates a is the best; in a bad file one column is in other units."""
    g = np.random.default_rng(0)
    for k in range(n_files):
        x = g.normal(size=600)
        columns = {"y": 2.0 * x + g.normal(size=600), "a": 1.9 * x, "b": 3.0 * x, "z": np.zeros(600)}
        columns[column] = columns[column] * (60_000.0 if k == bad else 1.0)
        write(folder / f"{k:02}.parquet", columns)
    return folder


@pytest.mark.parametrize(
    "options", [{}, {"blocks": 15}, {"loss": "absolute", "blocks": dm.RandomBlocks(chunk_rows=5)}], ids=str
)
def test_a_bad_file_is_told_and_named(
    tmp_path: Path, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = lake(tmp_path / "t", bad=7)
    found = dm.tournament(folder, ["a", "b", "z"], "y", rng=0, **options)
    for line in found:
        assert line.flags[-1] == "files disagree" and not line.ok
        assert line.notes[-1] == f"{NOTE}; use blocks=FileBlocks(); bad files are among 1: 07.parquet"
    assert NOTE in str(found) and "files disagree" in found.to_arrow()["flags"][0].as_py()
    for batch_rows, threads in ((97, 1), (131_072, 3)):
        scan, place = dm.scan(folder, batch_rows=batch_rows), dm.Threads(threads)
        again = dm.tournament(scan, ["a", "b", "z"], "y", rng=0, executor=place, **options)
        assert again == found
    assert found.files_disagree and "Do not rely on this outcome" in found._repr_html_()
    monkeypatch.setattr(mean_plan, "POOL", 0)  # without a row sample, that sets the bad rows aside
    mean: Any = dm.mean(folder, "y", rng=0, blocks=105)
    assert mean.status == "files disagree" and mean.accused_files == ("07.parquet",)
    assert mean.notes[-1].startswith(NOTE)  # the same words
    remedy = {**options, "blocks": dm.FileBlocks()}
    units = dm.tournament(folder, ["a", "b", "z"], "y", rng=0, **remedy)
    assert units.champions == ("a",) and not any("files disagree" in line.flags for line in units)


def test_predictions_that_are_bad_in_one_file_spoil_their_candidate_alone(tmp_path: Path) -> None:
    found = dm.tournament(lake(tmp_path / "t", bad=3, column="a"), ["a", "b", "z"], "y", rng=0)
    assert {r.name for r in found if "files disagree" in r.flags} == {"a"}
    assert found.champions == ("b",) and "03.parquet" in found.candidates["a"].notes[-1]


def test_clean_files_and_few_files_say_nothing(tmp_path: Path) -> None:
    """Simulated beforehand: none of 2,400 candidates on clean lakes of four laws and 10 to 200 files."""
    few = dm.tournament(lake(tmp_path / "few", bad=3, n_files=9), ["a", "b"], "y", rng=0)
    clean = dm.tournament(lake(tmp_path / "clean"), ["a", "b", "z"], "y", rng=0)
    units = dm.tournament(tmp_path / "clean", ["a", "b", "z"], "y", rng=0, blocks=dm.FileBlocks())
    for found in (few, clean, units):
        assert not found.files_disagree
    assert "Use a." in clean._repr_html_() and not clean.files_disagree
    assert clean.champions == units.champions == ("a",)


@pytest.mark.parametrize(
    "options", [{"loss": "ranking"}, {"loss": "ranking", "blocks": dm.SampledBlocks(15)}], ids=str
)
def test_losses_of_pairs_go_by_the_columns(tmp_path: Path, options: dict[str, Any]) -> None:
    found = dm.tournament(lake(tmp_path / "t", bad=7), ["a", "b"], "y", rng=0, **options)
    for line in found:
        assert line.flags[-1] == "files disagree"
        assert line.notes[-1].startswith("blocks of files tell another story about the mean of y: bad files")


def test_a_state_goes_on_with_what_files_say(tmp_path: Path) -> None:
    folder, state = lake(tmp_path / "t", bad=7), tmp_path / "s"
    found = dm.tournament(folder, ["a", "b"], "y", rng=0, state=state)
    assert dm.tournament(folder, ["a", "b"], "y", rng=0, state=state) == found
    assert found[0].flags[-1] == "files disagree"
