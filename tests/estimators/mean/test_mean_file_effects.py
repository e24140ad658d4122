"""Rows of a file that resemble each other: the result says that its interval is too short."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from flat import flat
from mean_lakes import write

import distmom as dm
from distmom.estimators.mean.notes import ALIKE
from distmom.inference.file_blocks import EFFECT, resembling


def lake(folder: Path, effect: float, n_files: int = 60, n_rows: int = 200) -> Path:
    """Files whose means differ by `effect` standard deviations of a row."""
    g = np.random.default_rng(3)
    for i in range(n_files):
        write(folder / f"{i:02}.parquet", {"x": g.exponential(size=n_rows) + effect * g.standard_normal()})
    return folder


@pytest.mark.parametrize(
    ("effect", "options", "told"),
    [
        (0.0, {}, False),
        (0.05, {}, False),  # within: 1, between: 1 + 200 * 0.05**2 = 1.5
        (0.3, {}, True),  # between: 19
        (0.3, {"n_blocks": 21}, True),
        (0.3, {"block_by": "file"}, False),
        (0.3, {"order": "stored"}, False),
    ],
)
def test_file_effects_are_told(tmp_path: Path, effect: float, options: dict[str, Any], told: bool) -> None:
    found = flat(dm.mean)(lake(tmp_path, effect), "x", rng=0, **options)
    assert (ALIKE in found.notes) == told
    assert found.status == "ok"


@pytest.mark.slow
def test_the_remedy_holds(tmp_path: Path) -> None:
    """Over lakes of such files the interval by files covers their common mean, the one by rows does not."""
    covered = {"rows": 0, "file": 0}
    for seed in range(40):
        g = np.random.default_rng(seed)
        folder = tmp_path / str(seed)
        for i in range(60):
            write(folder / f"{i:02}.parquet", {"x": g.standard_normal(100) + 0.5 * g.standard_normal()})
        for name, options in {"rows": {}, "file": {"block_by": "file"}}.items():
            found = flat(dm.mean)(folder, "x", rng=seed, confidence_level=0.95, **options)
            covered[name] += found.interval[0] <= 0.0 <= found.interval[1]
    assert covered["file"] >= 31  # P(Bin(40, 0.95) < 31) = 1e-4
    assert covered["rows"] < 31


def test_the_margin_grows_with_fewer_cells() -> None:
    effect = np.full(4, EFFECT * 1.3)
    assert resembling(effect, np.array([10, 50, 300, 945])).tolist() == [False, False, True, True]
    assert not resembling(np.array([np.nan]), np.array([945]))[0]
