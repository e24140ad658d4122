"""No command gives a wrong answer on the demo lake, damaged in four ways, without a word."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow.dataset as ds
import pytest

import distmom as dm
from distmom.estimators.survey import Surveyor
from tests.statistics.damage_table import (
    CODES,
    COMMANDS,
    FACTOR,
    FILES,
    UNIT,
    Answer,
    Cell,
    cells,
    of_result,
    write_lakes,
)

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore:block_size")]


@pytest.fixture(scope="module")
def lakes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return write_lakes(tmp_path_factory.mktemp("damage"))


ALONE = ("gini, `FileBlocks`",)
"""Blocks of whole files bear bad files, and do not ask the survey for rows."""


@pytest.mark.parametrize(
    "command",
    [pytest.param(name, marks=[pytest.mark.xfail(strict=False)] * (name in ALONE)) for name in COMMANDS],
)
def test_no_cell_is_wrong(command: str, lakes: dict[str, Path]) -> None:
    assert not {name: cell.text() for name, cell in cells(lakes, command).items() if cell.wrong}


@pytest.mark.parametrize("damage", [FILES, FACTOR, UNIT])
def test_least_squares_are_moved(damage: str, lakes: dict[str, Path]) -> None:
    """The negative control of the learners."""
    slopes = []
    for name in ("clean", damage):
        table = ds.dataset(lakes[name]).to_table(columns=["dep_delay", "distance", "arr_delay"])
        rows = np.stack([column.to_numpy() for column in table.drop_null()], axis=1)
        design = np.column_stack([rows[:, :2], np.ones(len(rows))])
        slopes.append(np.linalg.lstsq(design, rows[:, 2])[0])
    assert np.abs(slopes[0] - slopes[1])[2] > 2.0


@pytest.mark.parametrize("damage", [FILES, CODES, UNIT])
def test_without_the_survey_cells_are_wrong(
    damage: str, lakes: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The negative control: it is the survey that leaves out, and tells."""

    def gini(name: str) -> Answer:
        return of_result(dm.ustatistic(lakes[name], "arr_delay", kernel="gini", rng=0))

    clean, surveyed = gini("clean"), gini(damage)
    assert not Cell(clean, surveyed).wrong
    monkeypatch.setattr(Surveyor, "suspect", lambda *_: [])
    alone = gini(damage)
    assert not Cell(clean, alone).within and (damage == FILES or Cell(clean, alone).wrong)
