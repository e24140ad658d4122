"""A tournament with a bad file among many: it is left out before the matches, and named."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from mean_lakes import write

import distmom as dm
from distmom.estimators.tournament.contest import Contest


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
    "options",
    [{}, {"blocks": 15}, {"loss": "absolute", "blocks": dm.RandomBlocks(chunk_rows=5)}, {"loss": "ranking"}],
    ids=str,
)
@pytest.mark.one_in(4)
def test_a_bad_file_is_left_out_and_named(tmp_path: Path, options: dict[str, Any]) -> None:
    folder = lake(tmp_path / "t", bad=7)
    found = dm.tournament(folder, ["a", "b", "z"], "y", rng=0, **options)
    without = dm.tournament(dm.scan(folder, exclude="07.parquet"), ["a", "b", "z"], "y", rng=0, **options)
    assert found.accused_files == ("07.parquet",) and "a" in found.champions
    assert found.champions == without.champions and found.exit_code == 0
    for line in found:
        other = without.candidates[line.name]
        assert "files disagree" in line.flags and not line.ok
        assert (line.estimate, line.interval) == (other.estimate, other.interval)
    assert "07.parquet" in str(found) and "files disagree" in found.to_arrow()["flags"][0].as_py()
    assert "07.parquet" in found._repr_html_() and found.to_dict()["survey"]["accused_files"] == [
        "07.parquet"
    ]
    scan, place = dm.scan(folder, batch_rows=97), dm.Threads(3)
    assert dm.tournament(scan, ["a", "b", "z"], "y", rng=0, executor=place, **options) == found
    units = dm.tournament(folder, ["a", "b", "z"], "y", rng=0, **{**options, "blocks": dm.FileBlocks()})
    assert "a" in units.champions and not any("files disagree" in line.flags for line in units)


def test_a_file_of_bad_predictions_decides_nothing_silently(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They may be what the candidate is like there: with them, another one is the champion."""
    folder = lake(tmp_path / "t", bad=3, column="a")
    found = dm.tournament(folder, ["a", "b", "z"], "y", rng=0)
    assert found.accused_files == ("03.parquet",) and found.champions == ("a",)
    assert not found.decided and found[0].flags[0] == "not decided"
    assert "alone the champion is b: whether these are bad decides" in found.remarks[-1]
    assert "; not decided" in str(found) and "not decided" in found._repr_html_()
    monkeypatch.setattr(Contest, "surveyed", False)
    assert dm.tournament(folder, ["a", "b", "z"], "y", rng=0).champions == ("b",)  # the control


def test_clean_files_and_few_files_say_nothing(tmp_path: Path) -> None:
    few = dm.tournament(lake(tmp_path / "few", n_files=9), ["a", "b"], "y", rng=0)
    clean = dm.tournament(lake(tmp_path / "clean"), ["a", "b", "z"], "y", rng=0)
    units = dm.tournament(tmp_path / "clean", ["a", "b", "z"], "y", rng=0, blocks=dm.FileBlocks())
    for found in (few, clean, units):
        assert not found.accused_files and not found.remarks and found.ok and found.decided
    assert "Use a." in clean._repr_html_()
    assert clean.champions == units.champions == ("a",)


def test_a_state_goes_on_with_what_the_survey_leaves(tmp_path: Path) -> None:
    folder, state = lake(tmp_path / "t", bad=3, column="a"), tmp_path / "s"
    found = dm.tournament(folder, ["a", "b"], "y", rng=0, state=state)
    again = dm.tournament(folder, ["a", "b"], "y", rng=0, state=state)
    assert again == found == dm.tournament(folder, ["a", "b"], "y", rng=0)
    assert again.data["rounds"]["n_rounds_before"] >= 2  # with the file, and without it
    assert found.accused_files == ("03.parquet",)
