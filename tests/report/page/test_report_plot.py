"""Pictures of results as files: what is drawn where, that they stand alone, and how they are saved."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from pages import EVIL, PAGES

import distmom as dm
from distmom.report.page.svg import draw_strip

X = np.random.default_rng(0).exponential(size=20_000)
SVG = "{http://www.w3.org/2000/svg}"


def words(figure: Any) -> list[str]:
    return [e.text or "" for e in ElementTree.fromstring(figure.svg).iter(f"{SVG}text")]


def test_blocks_estimate_and_ladder_are_drawn_as_in_the_page() -> None:
    found = dm.mean(X, rng=0)
    root = ElementTree.fromstring(found.plot().svg)
    strip, ladder, _ = root.findall(f"{SVG}svg")
    wanted = draw_strip(found.telling().pictures[0])
    assert [e.get("cx") for e in strip.iter(f"{SVG}circle")] == [
        mark.attributes["cx"] for mark in wanted.marks if mark.tag == "circle"
    ]
    assert len(list(strip.iter(f"{SVG}circle"))) == found.n_blocks
    assert len(list(ladder.iter(f"{SVG}circle"))) == len(found.path)


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.one_in(3)
def test_every_picture_stands_alone(name: str, tmp_path: Path) -> None:
    """Title, axis labels, a style of its own, a light ground, no links; marks inside of it."""
    figure = PAGES[name](tmp_path).plot()
    root = ElementTree.fromstring(figure.svg)
    told = words(figure)
    assert told[0] == (root.get("aria-label") or "")[:89] or told[0].endswith("…")
    assert "label" in {e.get("class") for e in root.iter(f"{SVG}text")}
    assert "var(" not in figure.svg and "@media" not in figure.svg and "<style>" in figure.svg
    assert root.find(f"{SVG}rect").get("fill") == "#ffffff"  # type: ignore[union-attr]
    assert "href" not in figure.svg and "url(" not in figure.svg and "<script" not in figure.svg
    width, height = float(root.get("width") or 0), float(root.get("height") or 0)
    for element in root:
        x, y = element.get("x"), element.get("y")
        if x and y and not x.endswith("%"):
            assert 0 <= float(x) <= width and 0 <= float(y) <= height
        if element.tag == f"{SVG}svg":
            assert float(y or 0) + float(element.get("height") or 0) <= height
    assert figure._repr_svg_() == figure.svg


def test_what_data_contain_stays_text_and_is_xml() -> None:
    columns = {f"{EVIL}\x1b\x00": X, "k": np.array([EVIL, "b\x07"])[np.arange(X.size) % 2]}
    figure = dm.mean(columns, next(iter(columns)), by="k", rng=0).plot()
    assert any("<script" in text for text in words(figure)) and "<script" not in figure.svg


def test_more_coordinates_and_little_data_have_pictures() -> None:
    g = np.random.default_rng(0)
    vectors = {f"x{i}": g.normal(size=5_000) for i in range(30)}
    assert len(words(dm.mean(vectors, joint=True, rng=0).plot())) > 60
    for x in (np.ones(5_000), X[:3], np.array([1.0])):
        assert words(dm.mean(x, rng=0).plot())[0].startswith("x: ")


def test_a_picture_is_saved_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    figure = dm.mean(X, rng=0).plot()
    figure.save(tmp_path / "mean.svg")
    assert (tmp_path / "mean.svg").read_text("utf-8") == figure.svg
    for wrong, said in (("mean.png", r"pictures are \.svg files"), ("none/mean.svg", "there is no folder")):
        with pytest.raises(dm.ConfigError, match=said):
            figure.save(tmp_path / wrong)

    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_text", full)
    with pytest.raises(dm.ResourceError, match="No space left on device"):
        figure.save(tmp_path / "other.svg")
    assert [path.name for path in tmp_path.iterdir()] == ["mean.svg"]


def test_results_survive_pickling() -> None:
    found = dm.mean({"x": X, "k": np.arange(X.size) % 3}, "x", by="k", rng=0)
    again = pickle.loads(pickle.dumps(found))
    assert all(a == b for a, b in zip(again, found, strict=True)) and again.run == found.run
