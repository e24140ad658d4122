"""Pictures of results: what is drawn where, for clean, damaged, ruined and tiny data."""

from __future__ import annotations

import pickle
import sys

import matplotlib
import numpy as np
import pytest
from matplotlib.figure import Figure

import distmom as dm

matplotlib.use("Agg")
X = np.random.default_rng(0).exponential(size=20_000)


def test_blocks_estimate_interval_and_plain_mean_are_drawn() -> None:
    found = dm.mean(X, rng=0)
    figure = found.plot()
    assert isinstance(figure, Figure)
    strip, ladder = figure.axes
    points = strip.collections[0].get_offsets()
    assert sorted(points[:, 0]) == pytest.approx(sorted(found.block_estimates))
    assert [line.get_xdata()[0] for line in strip.lines] == [found.estimate, found.plain_estimate]
    drawn = ladder.lines[0].get_xydata()
    assert [tuple(xy) for xy in drawn] == [(k, estimate) for k, estimate, _ in found.path]


def test_wild_blocks_do_not_set_the_view() -> None:
    wild = X.copy()
    wild[::700] = 1e9
    found = dm.mean(wild, rng=0, blocks=101)
    strip = found.plot().axes[0]
    low, high = strip.get_xlim()
    assert -10 < low < found.estimate < high < 10
    assert "outside this view" in strip.get_xlabel()
    assert any("plain mean" in text.get_text() and "→" in text.get_text() for text in strip.texts)


@pytest.mark.parametrize("x", [np.ones(5_000), X[:3], np.array([1.0])], ids=["constant", "three", "one"])
def test_little_data_has_a_picture_too(x: np.ndarray, tmp_path) -> None:  # type: ignore[no-untyped-def]
    dm.mean(x, rng=0).plot().savefig(tmp_path / "a.png")
    assert (tmp_path / "a.png").stat().st_size > 1_000


def test_one_axis_can_be_given() -> None:
    figure = Figure()
    ax = figure.subplots()
    assert dm.mean(X, rng=0).plot(ax) is figure
    assert len(figure.axes) == 1 and ax.get_title(loc="left").startswith("x: ok")


def test_without_matplotlib_the_remedy_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(dm.ConfigError, match=r"distmom\[plot\]"):
        dm.mean(X, rng=0).plot()


def test_results_survive_pickling() -> None:
    found = dm.mean({"x": X, "k": np.arange(X.size) % 3}, "x", by="k", rng=0)
    again = pickle.loads(pickle.dumps(found))
    assert all(a.same_bits(b) for a, b in zip(again, found, strict=True)) and again.run == found.run
