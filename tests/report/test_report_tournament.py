"""The picture of the duels."""

from __future__ import annotations

import numpy as np

import distmom as dm


def test_the_matrix_of_duels_is_drawn() -> None:
    g = np.random.default_rng(0)
    x = g.normal(size=900)
    columns = {"y": x + g.normal(size=900), "a": x, "b\x1b": 2 * x, "c": 2.01 * x}
    found = dm.tournament(columns, ["a", "b\x1b", "c"], "y", rng=0, match=dm.Match(beta_r=0.05))
    figure = found.plot()
    [ax] = figure.axes
    assert next(t.get_text() for t in ax.get_xticklabels()) == "a"
    assert "champions: a" in ax.get_title(loc="left")
    figure.draw_without_rendering()
    image = ax.images[0].get_array()
    assert image.shape == (3, 3) and set(np.diag(image)) == {4}
    own = found.plot(ax=figure.add_subplot())
    assert own is figure
