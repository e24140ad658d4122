"""Stories as HTML: a whole page, or a fragment for a notebook. Every text is escaped by the template."""

from __future__ import annotations

import re
from datetime import datetime
from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from distmom.report.page import svg
from distmom.report.page.bars import draw_bars
from distmom.report.page.parts import NOTES, TALL_ROWS, Advice, Block, Facts, Grid, Story
from distmom.report.page.pictures import Picture
from distmom.report.page.svg import Mark

IN_FRAGMENT: dict[type, int] = {Grid: 1, Advice: 1, Facts: 1}
MOST_PICTURES = 2
"""Most blocks of each kind, and most pictures, in a fragment."""

PHONE_LETTERS = 38
"""Wider tables become lists on a phone, with a name before each value, so that no sideways scrolling is
needed."""

FIGURE_SPACE, POINT_SPACE = "\u2007", "\u2008"
"""As wide as a digit, and as a point."""


PER_CENT = re.compile(r"(?<=\d) %(?!\w)")

NO_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
"""Control characters and the like."""


@cache
def _environment() -> Environment:
    loader = PackageLoader("distmom.report.page", "")
    environment = Environment(loader=loader, autoescape=True, undefined=StrictUndefined)
    environment.trim_blocks = environment.lstrip_blocks = True
    environment.filters |= {"kind": _kind, "aligned": _aligned, "breakable": breakable, "stacked": stacked}
    draw = {"strip": svg.draw_strip, "curve": svg.draw_curve, "span": svg.draw_span, "axis": svg.draw_axis}
    draw |= {"bars": draw_bars}
    environment.globals |= {"draw": draw, "tall_rows": TALL_ROWS}
    return environment


def _kind(block: Any) -> str:
    return type(block).__name__.lower()


def _aligned(cell: str) -> str:
    """Replace blanks that align numbers on a terminal by blanks as wide as digits."""
    text = cell.strip(" ")
    left = len(cell) - len(cell.lstrip(" "))
    right = len(cell) - len(cell.rstrip(" "))
    if not right or "." in text.split("…")[-1]:
        return FIGURE_SPACE * left + text + FIGURE_SPACE * right
    return FIGURE_SPACE * left + text + POINT_SPACE + FIGURE_SPACE * (right - 1)


def breakable(text: str) -> str:
    """Allow line breaks after the slashes of long paths; keep percent signs with their numbers."""
    return PER_CENT.sub("%", text.replace("/", "/\u200b"))


def stacked(grid: Grid) -> bool:
    """Whether a table is too wide for a phone; its padding is three letters per column."""
    widest = [max(map(len, column)) for column in zip(grid.headers, *grid.rows, strict=True)]
    return sum(letters + 3 for letters in widest) > PHONE_LETTERS


def page(story: Story, versions: dict[str, str], written: datetime | None = None) -> str:
    """A self-contained page."""
    template = _environment().get_template("page.html")
    return template.render(story=story, versions=versions, written=written) + "\n"


def fragment(story: Story) -> str:
    """The answer, its table, advice, first pictures, figures and notes, for a notebook cell."""
    template = _environment().get_template("fragment.html")
    blocks: list[Block] = []
    for block in story.blocks:
        if isinstance(block, Picture):
            alike, most = sum(isinstance(one, Picture) for one in blocks), MOST_PICTURES
        else:
            alike, most = sum(type(one) is type(block) for one in blocks), IN_FRAGMENT.get(type(block), 0)
        if alike < most or block.heading == NOTES:
            blocks.append(block)
    return template.render(story=story, blocks=blocks)


def svg_document(marks: tuple[Mark, ...], width: int, height: int, title: str, style: str) -> str:
    """Marks as a self-contained file; characters not allowed in XML become U+FFFD."""
    template = _environment().get_template("figure.svg")
    text = template.render(marks=marks, width=width, height=height, title=title, style=style)
    return NO_XML.sub("\ufffd", text.lstrip()) + "\n"
