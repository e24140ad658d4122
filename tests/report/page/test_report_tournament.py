"""The picture of the duels."""

from __future__ import annotations

from xml.etree import ElementTree

import numpy as np

import distmom as dm


def test_the_matrix_of_duels_is_drawn() -> None:
    g = np.random.default_rng(0)
    x = g.normal(size=900)
    columns = {"y": x + g.normal(size=900), "a": x, "b\x1b": 2 * x, "c": 2.01 * x}
    found = dm.tournament(columns, ["a", "b\x1b", "c"], "y", rng=0, match=dm.Match(beta_r=0.05))
    root = ElementTree.fromstring(found.plot().svg)
    assert "champions: a" in (root.get("aria-label") or "")
    cells = [e for e in root if (e.get("class") or "").startswith("cell") and float(e.get("width") or 0) > 20]
    assert len(cells) == 9 and [e.get("class") for e in cells[::4]] == ["cell self"] * 3
