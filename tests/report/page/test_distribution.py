"""The distribution of a column on its page: what is set aside is marked, labels do not touch."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest

import distmom as dm
from distmom.report.page.distribution import MOST_TICKS, distribution
from distmom.report.page.svg import LETTER, draw_bars

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
    far = {k for k in bars.far if bars.heights[k]}
    assert bool(far) == (damage != "nothing") == bool(bars.cuts)
    share = sum(bars.heights[k] ** 2 for k in far)
    assert share == pytest.approx(0.0 if damage == "nothing" else 0.02, abs=0.004)
    assert [words for _, words in bars.named] == (["-9,999"] if damage == "code" else [])
    places = [place for place, _ in bars.ticks]
    assert 2 <= len(places) <= MOST_TICKS + 1 and places == sorted(places)
    assert bars.caption.endswith("rows.") and ("logarithmic" in bars.caption) == (damage != "nothing")
    lengths = [LETTER * len(words) for _, words in bars.ticks]
    if damage != "nothing":
        pairs = itertools.pairwise(zip(places, lengths, strict=True))
        assert all(b - a > (m + n) / 2 - 0.04 for (a, m), (b, n) in pairs)
    drawing = draw_bars(bars)
    assert [kind for kind, _ in drawing.legend] == ["bar"] + ["bar far"] * bool(far)


def test_pages_have_it_and_stay_small(tmp_path: Path) -> None:
    names = [f"c{k}" for k in range(30)]
    data = {name: column("code" if name == "c29" else "nothing") for name in names}
    dm.write_results(dm.describe(data, rng=0), tmp_path / "many.html")
    text = (tmp_path / "many.html").read_text("utf-8")
    drawn = [name for name in names if f"How the values of {name} are distributed" in text]
    assert drawn == [*names[:5], "c29"]  # the first ones, and what there is to look at
    dm.write_results(dm.mean(data, "c0", rng=0), tmp_path / "one.html")
    dm.write_results(dm.mean(data, "c29", rng=0), tmp_path / "code.html")
    one, code = ((tmp_path / name).read_text("utf-8") for name in ("one.html", "code.html"))
    assert "How the values of c0 are distributed" in one and 'class="bar far"' not in one
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
