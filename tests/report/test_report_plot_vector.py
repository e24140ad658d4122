"""Pictures of mean vectors: a plane for two coordinates, strips for more."""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib
import numpy as np
import pytest

import distmom as dm

matplotlib.use("Agg")
G = np.random.default_rng(0)
DATA = {name: G.exponential(1.0 + i, 20_000) for i, name in enumerate("abcd")}


def test_two_coordinates_are_a_plane_with_a_circle() -> None:
    found = dm.mean(DATA, ["a", "b"], joint=True, rng=0)
    assert isinstance(found, dm.VectorResult)
    (ax,) = found.plot().axes
    np.testing.assert_array_equal(np.asarray(ax.collections[0].get_offsets()), found.block_estimates)
    (ball,) = ax.patches
    assert (ball.center, ball.radius) == (tuple(found.estimate), found.radius)
    assert [tuple(line.get_xydata()[0]) for line in ax.lines] == [
        tuple(found.estimate),
        tuple(found.plain_estimate),
    ]


def test_intervals_of_coordinates_are_a_box() -> None:
    found = dm.mean(DATA, ["a", "b"], joint="coordinatewise", rng=0)
    (box,) = found.plot().axes[0].patches
    assert [*box.get_xy(), box.get_x() + box.get_width()] == pytest.approx(
        [*found.intervals[:, 0], found.intervals[0, 1]]
    )


@pytest.mark.parametrize("joint", ["geometric", "coordinatewise"])
def test_more_coordinates_are_strips(joint: str, tmp_path: Path) -> None:
    wild = {name: values.copy() for name, values in DATA.items()}
    wild["c"][::1_000] = 1e9
    found = dm.mean(wild, list("abcd"), joint=joint, rng=0)
    figure = found.plot()
    (ax,) = figure.axes
    assert [label.get_text().split()[0] for label in ax.get_yticklabels()] == list("abcd")
    diamonds = [line.get_xydata()[0] for line in ax.lines if line.get_marker() == "D"]
    assert [y for _, y in diamonds] == [3, 2, 1, 0] and diamonds[2][0] == 6.0  # at the edge: far outside
    figure.savefig(tmp_path / "strips.png")


def test_strange_data_have_a_picture_too(tmp_path: Path) -> None:
    for n, d in ((3, 2), (5_000, 2), (5_000, 30)):
        found = dm.mean({f"x{i}": np.full(n, float(i)) for i in range(d)}, joint=True, rng=0)
        found.plot().savefig(tmp_path / "a.png")
    assert "18 more coordinates" in found.plot().axes[0].get_xlabel()


def test_without_matplotlib_the_remedy_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    found = dm.mean(DATA, ["a", "b"], joint=True, rng=0)
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(dm.ConfigError, match=r"distmom\[plot\]"):
        found.plot()
