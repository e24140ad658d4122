"""Notes below a table: each result is asked for its own once, however often they are put in other words."""

from __future__ import annotations

import numpy as np
import pytest

import distmom as dm
from distmom.cli.show import show_results

ROWS = {"x": np.r_[np.arange(600.0), np.full(40, 1e9)], "g": np.arange(640) % 2}


@pytest.mark.parametrize("explain", [False, True])
def test_results_are_asked_once(
    explain: bool, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    results, asked = dm.mean(ROWS, "x", by="g", rng=0), []
    remarks = dm.MeanResult.remarks
    monkeypatch.setattr(dm.MeanResult, "remarks", lambda self: asked.append(self.group) or remarks(self))
    show_results(results, as_json=False, quiet=False, explain=explain)
    assert asked == [{"g": 0}, {"g": 1}]
    assert "x (0): 20 rows (6.25%) lie far from all others" in capsys.readouterr().err
