"""The distribution of a column on its page: outlying rows are marked, on a scale of their own."""

from __future__ import annotations

import itertools
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import distmom as dm
from distmom.report.page.bars import draw_bars
from distmom.report.page.distribution import MOST_TICKS, _extent, distribution

N = 20_000


def column(damage: str) -> np.ndarray:
    x = np.random.default_rng(0).normal(20.0, 2.0, N)
    bad = np.random.default_rng(1).random(N) < 0.02
    return {"nothing": x, "code": np.where(bad, -9999.0, x), "unit": np.where(bad, 1000.0 * x, x)}[damage]


@pytest.mark.parametrize("ask", [dm.mean, dm.describe])
@pytest.mark.parametrize("damage", ["nothing", "code", "unit"])
def test_rows_far_out_are_marked(ask, damage):
    data = {"x": column(damage)}
    found = dm.mean(data, "x", rng=0) if ask is dm.mean else dm.describe(data, rng=0).columns["x"]
    (bars,) = distribution(found)
    far = [panel for panel in bars.panels if panel.far]
    assert len(far) == (damage != "nothing") == len(bars.panels) - 1
    assert all({k for k, height in enumerate(panel.heights) if height} <= panel.far for panel in far)
    words = {"nothing": "", "code": "% of the rows, at -9,999", "unit": "% of the rows"}[damage]
    assert all(
        panel.words.endswith(words) and float(panel.words.split("%")[0]) in (1.9, 2.0) for panel in far
    )
    places = [place for place, _ in bars.ticks]
    assert 2 <= len(places) <= MOST_TICKS + 1 and places == sorted(places)
    assert ("Beyond a break" in bars.caption) == (damage != "nothing")
    extents = [_extent(*tick) for tick in bars.ticks]
    assert all(a[1] <= b[0] for a, b in itertools.pairwise(extents))
    drawing = draw_bars(bars)
    kinds = [kind for kind, _ in drawing.legend]
    assert ("bar far" in kinds) == bool(far) and {"bar", "band", "rule estimate"} <= set(kinds)
    assert ("dot block" in kinds) == (ask is dm.mean)


def test_interval_estimate_and_blocks_lie_where_their_values_are():
    found = dm.mean({"x": column("code")}, "x", rng=0)
    (bars,) = distribution(found)
    _, middle = bars.panels
    h = found.histogram
    assert h is not None and bars.band is not None

    def at(value: float) -> float:
        return middle.start + (middle.end - middle.start) * (value - h.low) / (h.high - h.low)

    assert bars.band == pytest.approx([at(end) for end in found.interval])
    assert bars.estimate == pytest.approx(at(found.estimate))
    np.testing.assert_allclose(bars.dots, [at(value) for value in np.sort(found.block_estimates)])


def test_blocks_that_lie_outside_are_counted():
    found = dm.mean({"x": column("unit")}, "x", rng=0)
    moved = np.append(found.block_estimates[1:], 1e6)
    (bars,) = distribution(replace(found, block_estimates=moved))
    assert len(bars.dots) == found.n_blocks - 1 and bars.dots_word.endswith(", 1 outside")


def test_pages_have_it_and_stay_small(tmp_path: Path) -> None:
    names = [f"c{k}" for k in range(30)]
    data = {name: column("code" if name == "c29" else "nothing") for name in names}
    dm.write_results(dm.describe(data, rng=0), tmp_path / "many.html")
    text = (tmp_path / "many.html").read_text("utf-8")
    drawn = [name for name in names if f"Distribution of {name}<" in text]
    assert drawn == [*names[:5], "c29"]  # the first ones, and what there is to look at
    dm.write_results(dm.mean(data, "c0", rng=0), tmp_path / "one.html")
    dm.write_results(dm.mean(data, "c29", rng=0), tmp_path / "code.html")
    one, code = ((tmp_path / name).read_text("utf-8") for name in ("one.html", "code.html"))
    assert "Distribution of c0<" in one and 'class="bar far"' not in one
    assert 'class="bar far"' in code and "left out" in code
    assert max(len(one), len(code)) < 40_000 and len(text) < 80_000


def test_times_and_vectors(tmp_path: Path) -> None:
    days = np.datetime64("2020-01-01") + np.random.default_rng(0).integers(0, 900, N).astype("timedelta64[D]")
    found = dm.mean({"t": days}, "t", rng=0)
    (bars,) = distribution(found)
    assert any(words.startswith("2021") for _, words in bars.ticks)
    assert found.plot().svg.count("<path") == 1 and "histogram" not in found.to_dict()
    both = dm.mean({"x": column("nothing"), "y": column("nothing")}, joint=True, rng=0)
    assert both.histogram is None and both.plot().svg


@pytest.mark.parametrize(
    "ask",
    [
        lambda data: dm.ustatistic(data, "x", kernel="gini", rng=0),
        lambda data: dm.ustatistic(data, ["x", "z"], kernel="covariance", rng=0),
        lambda data: dm.difference(data, "x", by="arm", rng=0),
        lambda data: dm.mean(data, "x", rng=0),
    ],
)
def test_pages_of_all_commands_say_what_lies_far_out(ask, tmp_path: Path) -> None:
    arm = np.random.default_rng(2).integers(0, 2, N)
    data = {"x": column("code"), "z": column("nothing") - 20.0 + column("nothing"), "arm": arm}
    dm.write_results(ask(data), tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text("utf-8")
    assert "lie far from all others" in text and "a usual code for missing" in text
