"""Reports: what every kind of page says, that no text becomes markup, where things are drawn."""

from __future__ import annotations

import inspect
import re
import shlex
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pages import EVIL, OUTLYING, PAGES, X

import distmom as dm
from distmom.estimators.recorded import record
from distmom.lake.columns.times import DAY, TimeScale
from distmom.report.page.parts import Grid
from distmom.report.page.pictures import Curve, Line, Strip
from distmom.report.page.scales import Numbers, Powers, Times
from distmom.report.page.svg import draw_curve, draw_strip
from distmom.report.page.telling import leave_out

VOID = {"meta", "link", "br"}


class Reader(HTMLParser):
    """Elements, attributes and text of a page; complains about what is not closed."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.elements: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.words: list[str] = []
        self.open: list[str] = []
        self.feed(page)
        self.close()
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append(tag)
        self.attributes += attrs
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] != "style":
            self.words.append(data)

    @property
    def text(self) -> str:
        return re.sub(r"\s+", " ", " ".join(self.words)).replace("\u200b", "")


@pytest.mark.parametrize("name", PAGES)
def test_every_kind_of_result_has_a_page_that_needs_nothing_else(name: str, tmp_path: Path) -> None:
    found = PAGES[name](tmp_path)
    dm.write_results(found, tmp_path / "_page.html")
    page = (tmp_path / "_page.html").read_text("utf-8")
    read = Reader(page)
    assert read.elements.count("h1") == 1 and "What to do" in read.text
    assert "Assumptions" in read.text
    assert not {"script", "iframe", "img", "object", "embed", "form"} & set(read.elements)
    assert not [key for key, _ in read.attributes if key.startswith("on") or key == "src"]
    assert [value for key, value in read.attributes if key == "href"] == ["data:,"]
    assert not re.search(r"https?://|@import|url\(", page)
    assert "nan" not in read.text.lower().replace("nan,", "").split()
    fragment = found._repr_html_()
    assert ("<svg" in fragment or "<table" in fragment or "<dl" in fragment) and "<script" not in fragment


def test_a_lake_in_which_nobody_stands_out_has_a_page() -> None:
    from distmom.report.page.render import page

    found = dm.describe({"x": X}, rng=0)
    assert not found.named and "What to do" in Reader(page(found.story(), {})).text


def test_what_data_contain_stays_text(tmp_path: Path) -> None:
    columns = {EVIL: X, "k": np.array([EVIL, "b"])[np.arange(X.size) % 2]}
    found = dm.mean(columns, EVIL, by="k", rng=0)
    found.run["command"] = EVIL
    dm.write_results(found, tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text("utf-8")
    assert "<script" not in page and "49" not in EVIL and "{{7*7}}" in page
    assert EVIL in Reader(page).text


def test_the_result_its_certainty_and_the_way_back_are_told() -> None:
    from distmom.report.page.render import page

    found = dm.mean({"x": OUTLYING}, "x", confidence_level=0.95, contamination=None, rng=7, blocks=101)
    text = Reader(page(dm.Results.of(found).story(), found.run["versions"])).text
    low, _ = found.interval
    assert f"The mean of x is {found.estimate:.3f} (95% CI: {low:.3f} to" in text
    assert "outside that interval" in text and "contaminated" in text
    assert "up to 50 bad rows (breakdown point)" in text
    assert "dm.mean({'x': <ndarray>}, 'x', blocks=101, confidence_level=0.95, rng=7)" in text
    assert f"numpy {np.__version__}" in text


def test_the_lines_that_leave_bad_files_out_do_so(tmp_path: Path) -> None:
    found = PAGES["describe"](tmp_path)
    [code] = leave_out(found.named_files, found.run)
    told: dict[str, Any] = {"dm": dm}
    [(_, line)] = code.lines
    exec(line, told)
    [bad] = found.named_files
    assert found.data["n_files"] == 24
    assert not told["found"].named and told["found"].data["n_files"] == 23

    parameters = inspect.signature(dm.describe).parameters

    def lines(source: Any) -> list[Any]:
        made = SimpleNamespace(data={}, run={"seed": 0})
        record("describe", made, {"data": source}, parameters)
        shell = ("distmom", "describe", str(source))
        again = replace(made.run["again"], shell=shell, shell_excludes=True)
        return [line for one in leave_out([bad], {"again": again}) for _, line in one.lines]

    for source in ("s3://bucket/lake", "lake/*.parquet"):
        shell, python = lines(source)
        assert shlex.split(shell.replace("\\\n", "")) == ["distmom", "describe", source, "--exclude", bad]
        assert python == f"found = dm.describe(dm.scan({source!r}, exclude=[{bad!r}]), rng=0)"
    for unlike in ("@list.txt", X, ["a", "b"]):
        assert lines(unlike) == []


def test_the_status_stands_before_the_numbers(tmp_path: Path) -> None:
    [grid, _] = [b for b in PAGES["describe"](tmp_path).story().blocks if isinstance(b, Grid)]
    assert grid.headers[:3] == ("column", "status", "mean") and grid.rows[0][:2] == (
        "x",
        "files disagree; contaminated; share far out",
    )


def test_a_drawn_seed_and_no_secret_stand_in_the_call() -> None:
    found = dm.mean(X, rng=None)
    assert found.run["call"]["arguments"] == {"data": "<ndarray>", "rng": found.run["seed"]}
    again = dm.mean(X, rng=found.run["call"]["arguments"]["rng"])
    assert again == found


def test_dots_lie_where_their_values_are() -> None:
    values = np.array([0.0, 1.0, 2.0, 4.0, np.nan, np.inf])
    strip = Strip("", "", values, 1.0, (0.5, 3.0), 1e9, Numbers(), "means", "sample mean", 0.99, 2)
    low, high = strip.view()
    marks = draw_strip(strip).marks
    dots = [float(m.attributes["cx"][:-1]) for m in marks if m.tag == "circle"]
    np.testing.assert_allclose(dots, 100 * (values[:4] - low) / (high - low), atol=0.01)
    band = next(m for m in marks if m.attributes.get("class") == "band")
    assert float(band.attributes["x"][:-1]) == pytest.approx(100 * (0.5 - low) / (high - low), abs=0.01)
    assert float(band.attributes["width"][:-1]) == pytest.approx(250 / (high - low), abs=0.01)
    assert sum(m.text == "×" for m in marks) == 2
    assert any(m.text == "sample mean 1e+09 →" for m in marks)


@given(
    st.floats(-1e12, 1e12),
    st.floats(1e-6, 1e12),
    st.integers(2, 8),
    st.sampled_from([Numbers(), Numbers(percent=True), Times(TimeScale("timestamp", base=19_000))]),
)
def test_ticks_are_few_and_within_the_axis(low: float, width: float, most: int, scale: Any) -> None:
    high = low + width
    found = scale.ticks(low, high, most)
    places = [place for place, _ in found]
    assert len(found) <= most + 1 and places == sorted(set(places))
    assert all(low - 1e-9 * abs(low) <= p <= high + 1e-9 * abs(high) for p in places)


def test_ticks_of_numbers_powers_and_times() -> None:
    assert [t for _, t in Numbers().ticks(-0.32, 1.1, 4)] == ["0.0", "0.5", "1.0"]
    assert [t for _, t in Numbers().ticks(-0.41, 0.49, 2)] == ["-0.4", "0.0", "0.4"]
    assert [t for _, t in Numbers(percent=True).ticks(0.0, 0.42, 4)] == ["0%", "20%", "40%"]
    assert [t for _, t in Powers().ticks(3.0, 20_000.0, 5)] == ["10", "100", "1,000", "10,000"]
    assert [t for _, t in Powers((5.0, 7.0, 63.0)).ticks(4.0, 70.0, 3)] == ["5", "63"]
    day = Times(TimeScale("timestamp", base=19_860))
    assert [t for _, t in day.ticks(0.0, 3.0 * DAY, 4)] == [f"2024-05-{d}" for d in (17, 18, 19, 20)]
    assert [t for _, t in day.ticks(0.0, DAY / 12, 3)] == ["05-17 00:00", "05-17 01:00", "05-17 02:00"]


def test_a_curve_takes_long_lines_gaps_and_logarithms() -> None:
    steps = np.arange(1.0, 100_001.0)
    losses = np.where(steps % 1_000 == 0, np.nan, 1.0 / steps)
    looks = Line("held-out blocks", steps[::10_000], losses[1::10_000], points=True)
    lines = (Line("chosen blocks", steps, losses, strong=False), looks)
    curve = Curve("Loss", "", lines, "step", "loss", Numbers(), Powers(), log_y=True)
    drawing = draw_curve(curve)
    inner = next(m for m in drawing.marks if m.tag == "svg").inner[0]
    assert len(inner.attributes["points"].split()) <= 400 and "nan" not in inner.attributes["points"]
    assert sum(m.tag == "circle" for m in drawing.marks) == looks.x.size
    assert [text for _, text in drawing.legend] == ["chosen blocks", "held-out blocks"]


def test_a_result_without_pictures_says_so() -> None:
    from distmom.report.page.figure import figure

    with pytest.raises(dm.ConfigError, match="no picture"):
        figure([], "")


def test_what_the_answer_is_is_said_of_each_kind(tmp_path: Path) -> None:
    """The median of the blocks of a given number; where the means of smaller blocks balance by default."""
    x = np.random.default_rng(0).exponential(size=5_000)
    for blocks, words in ((11, "The estimate is the median"), ("auto", "The estimate is a robust mean")):
        found = dm.mean(x, blocks=blocks, rng=0)
        dm.write_results(found, tmp_path / "page.html")
        page = " ".join((tmp_path / "page.html").read_text("utf-8").split())
        assert words in page
        assert ("The estimate is the median" in page) == (blocks == 11)
        middle = np.sort(found.block_estimates)[(found.n_blocks - 1) // 2]
        assert (found.estimate == middle) == (blocks == 11)


def test_rows_of_a_difference_are_highlighted_and_numbers_have_no_exponent(tmp_path: Path) -> None:
    rows = {"x": np.r_[np.arange(4_000.0), 500.0 + np.arange(4_000.0)], "g": np.repeat([0, 1], 4_000)}
    found = dm.compare(rows, "x", by="g", statistics=("mean", "auc"), test=dm.Permutations(199), rng=0)
    dm.write_results(found, tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert found[0].drifted and found[0].ok and '<tr class="marked">' in page
    assert f"complete; {found[0].n_pairs:,.0f} evaluated" in page
