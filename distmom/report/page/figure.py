"""The pictures of a page as a separate file: SVG with title, legends, axis labels and style."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from distmom.errors import ConfigError
from distmom.report.page.bars import draw_bars
from distmom.report.page.pictures import Bars, Curve, Matrix, Picture, Spans
from distmom.report.page.render import svg_document
from distmom.report.page.scales import shortened
from distmom.report.page.svg import (
    AXIS_HEIGHT,
    BAR_HEIGHT,
    Drawing,
    Mark,
    draw_axis,
    draw_curve,
    draw_span,
    draw_strip,
)

WIDTH, MARGIN = 720, 24
INNER = WIDTH - 2 * MARGIN
NAMES, TEXTS = 160, 235
"""Pixels next to the bars of `Spans`: names on the left, values on the right."""

MIDDLE, END = {"text-anchor": "middle"}, {"text-anchor": "end"}
LETTER, LINE = 6.6, 18
"""Approximate width of a letter, and height of a line of text."""

MOST_NAMED = 40
"""Most rows of a matrix with names."""


@dataclass(frozen=True)
class Figure:
    """Pictures of a result: a notebook displays them, `save` writes them.

    Attributes
    ----------
    svg : str
        A self-contained SVG document with a light background.
    """

    svg: str

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write an .svg file, completely or not at all.

        Raises
        ------
        ConfigError
            If the extension is not .svg, or the folder does not exist.
        ResourceError
            If it cannot be written.
        """
        from distmom.report.write import check_output, write_whole

        target = Path(path)
        if target.suffix.lower() != ".svg":
            raise ConfigError(
                f"path: pictures are .svg files, not {target.suffix!r}; name one, and "
                "convert it with a browser, Inkscape or rsvg-convert"
            )
        check_output(target, "path", (".svg",))
        write_whole(target, lambda temporary: temporary.write_text(self.svg, "utf-8"), "path")

    def _repr_svg_(self) -> str:
        return self.svg

    def __repr__(self) -> str:
        return f"<Figure: {len(self.svg):,} characters of SVG; .save('figure.svg')>"


def figure(pictures: Sequence[Picture], title: str) -> Figure:
    """Stack pictures under a title.

    Raises
    ------
    ConfigError
        If there are none.
    """
    if not pictures:
        raise ConfigError("plot: this result has no picture; print it, or write it to an .html file")
    marks, y = [_text(MARGIN, 28, shortened(title, 90), "title")], 40.0
    for picture in pictures:
        if picture.heading and len(pictures) > 1:
            marks.append(_text(MARGIN, y + 16, shortened(picture.heading, 95), "heading"))
            y += 24
        more, height = _placed(picture, y)
        marks += more
        y += height + 16
    return Figure(svg_document(tuple(marks), WIDTH, round(y), title, _style()))


def _placed(picture: Picture, y: float) -> tuple[list[Mark], float]:
    """A picture that starts at `y`, and its height."""
    if isinstance(picture, Spans):
        return _spans(picture, y)
    if isinstance(picture, Matrix):
        return _matrix(picture, y)
    if isinstance(picture, Curve):
        drawing = draw_curve(picture)
    elif isinstance(picture, Bars):
        drawing = draw_bars(picture)
    else:
        drawing = draw_strip(picture)
    marks, top = _legend(drawing.legend, y)
    marks.append(_inner(drawing, MARGIN, y + top, INNER))
    return marks, top + drawing.height


def _spans(spans: Spans, y: float) -> tuple[list[Mark], float]:
    """Names, bars and values, and one axis below them."""
    axis = draw_axis(spans)
    marks, top = _legend(axis.legend, y)
    width = INNER - NAMES - TEXTS
    at = y + top
    for line in spans.lines:
        marks.append(_text(MARGIN, at + 15, shortened(line.name, 23), "name"))
        marks.append(_inner(draw_span(line, spans), MARGIN + NAMES, at, width))
        marks.append(_text(WIDTH - MARGIN, at + 15, shortened(line.text, 36), "label", **END))
        at += BAR_HEIGHT
    marks.append(_inner(axis, MARGIN + NAMES, at, width))
    return marks, at + AXIS_HEIGHT - y


def _matrix(matrix: Matrix, y: float) -> tuple[list[Mark], float]:
    """Coloured cells with their words; names at the side and above if there is room."""
    marks, top = _legend(tuple((f"cell {kind}", word) for kind, word in matrix.kinds.items()), y)
    named = len(matrix.rows) <= MOST_NAMED
    left, head = (NAMES, 90) if named else (0, 0)
    size = min(56.0, (INNER - left) / max(len(matrix.columns), 1))
    x0, y0 = MARGIN + left, y + top + head
    for i, row in enumerate(matrix.cells):
        for j, cell in enumerate(row):
            x, at = round(x0 + size * j, 1), round(y0 + size * i, 1)
            told = (Mark("title", {}, cell.title),) if cell.title else ()
            side = round(size - 1.0, 1)
            frame = {"x": x, "y": at, "width": side, "height": side, "class": f"cell {cell.kind}"}
            marks.append(Mark("rect", frame, inner=told))
            if cell.text and LETTER * len(cell.text) < size:
                marks.append(_text(x + size / 2, at + size / 2 + 4, cell.text, "name", **MIDDLE))
    for i, name in enumerate(matrix.rows if named else ()):
        place = y0 + size * (i + 0.5) + 4
        marks.append(_text(x0 - 6, place, shortened(name, 23), "name", **END))
    for j, name in enumerate(matrix.columns if named else ()):
        x = round(x0 + size * (j + 0.5) + 4, 1)
        marks.append(_text(x, y0 - 6, shortened(name, 12), "name", transform=f"rotate(-90 {x} {y0 - 6:.1f})"))
    return marks, top + head + size * len(matrix.rows)


def _legend(entries: Sequence[tuple[str, str]], y: float) -> tuple[list[Mark], float]:
    """The meaning of marks, in as many lines as needed; and their height."""
    marks: list[Mark] = []
    x, line = 0.0, 0
    for kind, words in entries:
        words = shortened(words, 90)
        width = 26 + LETTER * len(words) + 14
        if x and x + width > INNER:
            x, line = 0.0, line + 1
        marks += [
            _sign(kind, MARGIN + x, y + LINE * line + 9),
            _text(MARGIN + x + 26, y + LINE * line + 13, words),
        ]
        x += width
    return marks, LINE * (line + 1) + 4 if entries else 0.0


def _sign(kind: str, x: float, y: float) -> Mark:
    """The symbol of a legend entry."""
    shape, _, of = kind.partition(" ")
    x = round(x, 1)
    if shape == "dot":
        return Mark("circle", {"cx": x + 10, "cy": y, "r": 5, "class": of})
    if shape == "cross":
        return _text(x + 14, y + 5, "×", "non-finite")
    if shape in ("band", "bar", "cell"):
        return Mark("rect", {"x": x, "y": y - 6, "width": 20, "height": 12, "class": kind})
    if of in ("estimate", "plain"):
        return Mark("line", {"x1": x, "x2": x + 20, "y1": y, "y2": y, "class": of})
    return Mark("polyline", {"points": f"{x},{y} {x + 20},{y}", "class": of})


def _inner(drawing: Drawing, x: float, y: float, width: float) -> Mark:
    frame = {"x": x, "y": y, "width": width, "height": drawing.height, "overflow": "visible"}
    return Mark("svg", {**frame, "aria-label": drawing.label}, inner=drawing.marks)


def _text(x: float, y: float, words: str, kind: str = "name", **more: str) -> Mark:
    return Mark("text", {"x": round(x, 1), "y": round(y, 1), "class": kind, **more}, words)


@cache
def _style() -> str:
    """Style rules for pictures as in pages; light colours replace variables, which few viewers support."""
    css = Path(__file__).with_name("style.css").read_text("utf-8")
    light = dict(re.findall(r"(--[\w-]+): (#\w+)", css[: css.index("@media")]))
    rules = re.findall(r"\.distmom [^{}]+\{[^{}]*(?:fill|stroke)[^{}]*\}", css[: css.index("@media (min")])
    text = re.sub(r"var\((--[\w-]+)\)", lambda found: light[found[1]], "\n".join(rules))
    return re.sub(r"\.distmom (svg )?", ".distmom-figure ", text)
