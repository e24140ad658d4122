"""The five kinds of pictures in a report, independent of how they are drawn."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from distmom.numerics.arrays import Floats
from distmom.report.digits import fixed, in_digits
from distmom.report.page.scales import Numbers

Ends = tuple[float, float]


class AxisScale(Protocol):
    """Ticks of an axis, and the format of its values."""

    def ticks(self, low: float, high: float, most: int) -> list[tuple[float, str]]:
        """Places and labels of at most `most` ticks."""

    def text(self, value: float) -> str:
        """A value for a legend."""


@dataclass(frozen=True, eq=False)
class Strip:
    """Values of blocks along a line, with estimate, interval and plain estimate.

    Attributes
    ----------
    heading, caption : str
    values : ndarray of float64
        Non-finite ones are NaN or infinite.
    estimate, plain : float
    interval : (float, float) or None
    scale : AxisScale
    what, plain_word : str
        Name of the block values ("means"), and of the plain estimate ("sample mean").
    level : float
        Confidence level.
    non-finite : int
    x_name : str
        Title of the axis: what it shows, and its unit.
    """

    heading: str
    caption: str
    values: Floats
    estimate: float
    interval: Ends | None
    plain: float
    scale: AxisScale
    what: str
    plain_word: str
    level: float
    non_finite: int = 0
    x_name: str = ""

    def view(self) -> Ends:
        """Limits that include the middle of the blocks, the interval and the estimate, with a margin."""
        values = self.values[np.isfinite(self.values)]
        held = [*(self.interval or ()), self.estimate]
        if values.size:
            quarter, middle, three = np.quantile(values, [0.25, 0.5, 0.75])
            reach = 6.0 * (three - quarter)
            inside = values[np.abs(values - middle) <= reach]
            held += [float(inside.min()), float(inside.max())] if inside.size else [float(middle)]
        held = [value for value in held if np.isfinite(value)]
        return padded(min(held), max(held)) if held else (0.0, 1.0)

    def text(self, value: float) -> str:
        """A value with the digits that the interval supports, as elsewhere in the report."""
        if self.interval is None or self.scale != Numbers():
            return self.scale.text(value)
        return fixed(value, in_digits(*self.interval))


@dataclass(frozen=True)
class Span:
    """A line of `Spans`: a named estimate with its interval."""

    name: str
    text: str
    estimate: float | None = None
    ends: Ends | None = None
    plain: float | None = None
    marked: bool = False


@dataclass(frozen=True)
class Spans:
    """Named intervals on one axis, one below the other.

    Attributes
    ----------
    heading, caption : str
    lines : tuple of Span
    scale : AxisScale
    words : tuple of str
        Names of estimate, interval and plain estimate; those with empty names are not drawn.
    x_name : str
    """

    heading: str
    caption: str
    lines: tuple[Span, ...]
    scale: AxisScale
    words: tuple[str, str, str]
    x_name: str = ""

    def view(self) -> Ends:
        """Limits that include all intervals; plain estimates outside are marked by arrows."""
        held = [v for s in self.lines for v in (s.estimate, *(s.ends or ())) if v is not None]
        held = [value for value in held if np.isfinite(value)]
        return padded(min(held), max(held)) if held else (0.0, 1.0)


SERIES = 8
"""Colours for lines of equal rank."""


@dataclass(frozen=True, eq=False)
class Line:
    """A line of a `Curve`.

    Attributes
    ----------
    name : str
    x, y : ndarray of float64
    half : ndarray of float64 or None
        Margins of error around y, drawn as bars.
    points : bool
        Whether the points are marked rather than joined.
    strong : bool
        Whether it is emphasised.
    series : int
        1 to `SERIES`: the colour of one of several lines of equal rank; 0: a single line.
    dashed : bool
        With `series`.
    """

    name: str
    x: Floats
    y: Floats
    half: Floats | None = None
    points: bool = False
    strong: bool = True
    series: int = 0
    dashed: bool = False


@dataclass(frozen=True, eq=False)
class Curve:
    """Lines over a common axis: a ladder of numbers of blocks, losses over steps.

    Attributes
    ----------
    heading, caption : str
    lines : tuple of Line
    x_name, y_name : str
    x_scale, y_scale : AxisScale
    log_x, log_y : bool
    level : (float, str) or None
        A level line and its name.
    """

    heading: str
    caption: str
    lines: tuple[Line, ...]
    x_name: str
    y_name: str
    x_scale: AxisScale
    y_scale: AxisScale
    log_x: bool = False
    log_y: bool = False
    level: tuple[float, str] | None = None

    def limits(self) -> tuple[Ends, Ends]:
        """Limits of both axes; without finite points 0 to 1 (1 to 10 if logarithmic)."""
        x = np.concatenate([line.x for line in self.lines])
        y = np.concatenate([line.y for line in self.lines])
        halves = [np.zeros(line.x.size) if line.half is None else line.half for line in self.lines]
        half = np.nan_to_num(np.concatenate(halves), posinf=0.0)
        extra = [] if self.level is None else [self.level[0]]
        y_ends = np.concatenate([y - half, y + half, np.array(extra, float)])
        return _limits(x, self.log_x), _limits(y_ends, self.log_y)


@dataclass(frozen=True)
class Panel:
    """Bars of equal width over a part of an axis, on a scale of their own.

    Attributes
    ----------
    start, end : float
        The part, as shares of the axis.
    heights : tuple of float
        Heights of the bars; the tallest is 1.
    far : frozenset of int
        Numbers of the outlying bars.
    words : str
        Text above it, at its outer end.
    """

    start: float
    end: float
    heights: tuple[float, ...]
    far: frozenset[int] = frozenset()
    words: str = ""


@dataclass(frozen=True)
class Bars:
    """Frequencies of values, with the interval and the values of blocks; all places are shares of the axis.

    Attributes
    ----------
    heading, caption : str
    panels : tuple of Panel
        The middle, and the outlying parts.
    ticks : tuple of (float, str)
    x_name, y_name : str
    band : (float, float) or None
        The interval, named `band_word`.
    band_word : str
    estimate : float or None
    dots : tuple of float
        Values of blocks, named `dots_word`.
    dots_word : str
    far_word : str
        How outlying rows are handled, in words.
    """

    heading: str
    caption: str
    panels: tuple[Panel, ...]
    ticks: tuple[tuple[float, str], ...]
    x_name: str
    y_name: str
    band: Ends | None = None
    band_word: str = ""
    estimate: float | None = None
    dots: tuple[float, ...] = ()
    dots_word: str = ""
    far_word: str = ""


@dataclass(frozen=True)
class Cell:
    """An entry of a `Matrix`: its text, what it means in words, and its kind."""

    text: str
    kind: str
    title: str = ""


@dataclass(frozen=True)
class Matrix:
    """Cells of some kinds: who beat whom, or numbers by sign and size.

    Attributes
    ----------
    heading, caption : str
    rows, columns : tuple of str
    cells : tuple of tuple of Cell
    kinds : dict of str to str
        The kinds and their names in the legend; those of style: ``won``, ``lost``, ``close``, ``open``,
        ``self``, ``p1`` … ``p3`` and ``n1`` … ``n3`` for positive and negative numbers, ``zero``.
    corner : str
        What rows and columns represent.
    """

    heading: str
    caption: str
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    cells: tuple[tuple[Cell, ...], ...]
    kinds: dict[str, str] = field(default_factory=dict)
    corner: str = ""


def square(names: tuple[str, ...], cell: Callable[[int, int], Cell]) -> tuple[tuple[Cell, ...], ...]:
    """The cells of a matrix of pairs of names, from their numbers."""
    return tuple(tuple(cell(i, j) for j in range(len(names))) for i in range(len(names)))


Picture = Strip | Spans | Curve | Bars | Matrix


def padded(low: float, high: float) -> Ends:
    """A view with a margin on both sides; for a single value, half its size."""
    margin = 0.05 * (high - low) or 0.5 * abs(low) or 0.5
    return low - margin, high + margin


def _limits(values: Floats, log: bool) -> Ends:
    values = values[np.isfinite(values)]
    values = values[values > 0] if log else values
    if not values.size:
        return (1.0, 10.0) if log else (0.0, 1.0)
    low, high = float(values.min()), float(values.max())
    if log:
        low, high = (float(v) for v in 10.0 ** np.array(padded(np.log10(low), np.log10(high))))
        return low, high
    return padded(low, high)


Place = Callable[[float], float]


def placed(ends: Ends, log: bool = False) -> Place:
    """The function that maps a value to its share of an axis."""
    low, high = (np.log10(end) for end in ends) if log else ends

    def share(value: float) -> float:
        return float(((np.log10(value) if log else value) - low) / (high - low))

    return share
