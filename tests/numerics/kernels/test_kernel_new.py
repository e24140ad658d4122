"""A new kernel is a function and its row in the catalogue: calls and the command line know its name."""

from __future__ import annotations

import json
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import distmom as dm
from distmom.cli.program import program
from distmom.numerics.kernels.catalogue import KERNELS
from distmom.numerics.kernels.function import kernel

X = np.random.default_rng(0).normal(size=60)


def larger(x: Any, y: Any) -> Any:
    """The larger of two values: its mean is that of the maximum of two rows."""
    return np.maximum(x, y)


@pytest.fixture
def row(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(KERNELS, "mean-maximum", lambda: kernel(larger))


def slow(x: np.ndarray) -> float:
    return float(np.mean([max(a, b) for a, b in combinations(x.tolist(), 2)]))


def test_it_is_known_by_its_name(row: None) -> None:
    found = dm.ustatistic(X, kernel="mean_maximum", blocks=1, rng=0)
    assert found.estimate == pytest.approx(slow(X), rel=1e-12)
    halves = dm.ustatistic({"x": X, "g": np.arange(60) % 2}, "x", kernel="mean-maximum", by="g", blocks=1)
    assert [one.estimate for one in halves] == pytest.approx([slow(X[::2]), slow(X[1::2])], rel=1e-12)


def test_the_command_line_knows_it(row: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pq.write_table(pa.table({"x": X}), tmp_path / "a.parquet")
    words = ["ustat", str(tmp_path), "-c", "x", "--kernel", "mean-maximum", "--blocks", "1", "--json"]
    assert program.run(words) == 0
    (one,) = json.loads(capsys.readouterr().out)["results"]
    assert one["estimate"] == pytest.approx(slow(X), rel=1e-12)


def test_without_the_row_it_is_not() -> None:
    with pytest.raises(dm.ConfigError, match="mean-maximum"):
        dm.ustatistic(X, kernel="mean-maximum")
