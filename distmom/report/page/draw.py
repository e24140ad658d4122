"""The same pictures with Matplotlib."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from distmom.errors import ConfigError
from distmom.report.page.parts import Curve, Matrix, Picture, Scale, Spans, Strip
from distmom.report.page.scales import Numbers
from distmom.report.page.svg import GOLDEN

BLOCKS, ESTIMATE, PLAIN, FAINT = "#0072B2", "#111111", "#D55E00", "#9ecae9"
"""Told apart also by those who see few colours (Okabe and Ito)."""

SERIES_COLOURS = (
    "#0072b2",
    "#b34700",
    "#007a5a",
    "#a83c80",
    "#85650a",
    "#5a55b8",
    "#191c20",
    "#707780",
)

CELLS = {
    "won": "#0072B2",
    "lost": "#D55E00",
    "close": "#e6e6e6",
    "open": "#ffffff",
    "self": "#555555",
    "p1": "#e3eff8",
    "p2": "#c3def0",
    "p3": "#93c5e6",
    "n1": "#fbeadf",
    "n2": "#f6d0b5",
    "n3": "#f0b084",
    "zero": "#ffffff",
}
MOST_NAMES, MOST_TICKS, MOST_LETTERS = 40, 7, 30
HEIGHT = 0.8
"""Of a strip; above it is the legend."""


def draw(pictures: Sequence[Picture], title: str, ax: Any = None) -> Any:
    """Draw the first picture on given axes, or all of them in a figure of their own.

    Raises
    ------
    ConfigError
        If Matplotlib is not installed, or there is nothing to draw.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ConfigError("plot: needs Matplotlib; pip install 'distmom[plot]'") from error
    if not pictures:
        raise ConfigError("plot: this result has no picture; print it, or write it to an .html file")
    if ax is not None:
        _draw(pictures[0], ax, title)
        return ax.figure
    if len(pictures) == 2 and isinstance(pictures[0], Strip) and isinstance(pictures[1], Curve):
        figure = Figure(figsize=(9.0, 3.6), layout="constrained")
        axes = figure.subplots(1, 2, width_ratios=[3, 2])
    else:
        heights = [_height(picture) for picture in pictures]
        figure = Figure(figsize=(7.5, sum(heights)), layout="constrained")
        axes = figure.subplots(len(pictures), 1, squeeze=False, height_ratios=heights)[:, 0]
    for i, (picture, place) in enumerate(zip(pictures, axes, strict=True)):
        _draw(picture, place, title if i == 0 else picture.heading)
    return figure


def _height(picture: Picture) -> float:
    if isinstance(picture, Spans):
        return 1.3 + 0.26 * len(picture.lines)
    return 3.5 + 0.3 * len(picture.rows) if isinstance(picture, Matrix) else 3.4


def _draw(picture: Picture, ax: Any, title: str) -> None:
    if isinstance(picture, Strip):
        _strip(picture, ax)
    elif isinstance(picture, Spans):
        _spans(picture, ax)
    elif isinstance(picture, Curve):
        _curve(picture, ax)
    else:
        _matrix(picture, ax)
    ax.set_title(title, fontsize=10, loc="left")


def _strip(strip: Strip, ax: Any) -> None:
    """The view is that of most blocks and the interval, whatever lies outside."""
    low, high = strip.view()
    values = strip.values[np.isfinite(strip.values)]
    shown = values[(values >= low) & (values <= high)]
    heights = HEIGHT * (0.12 + 0.8 * ((np.arange(shown.size) * GOLDEN) % 1.0))
    dots = {"s": 22, "color": BLOCKS, "alpha": 0.75, "linewidths": 0}
    ax.scatter(shown, heights, **dots, label=f"block {strip.what}")
    if strip.interval is not None:
        band = {"color": FAINT, "alpha": 0.5, "linewidth": 0, "zorder": 0}
        ax.axvspan(*strip.interval, 0, HEIGHT, label=strip.level_words(), **band)
    if np.isfinite(strip.estimate):
        words = f"estimate {strip.text(strip.estimate)}"
        ax.axvline(strip.estimate, 0, HEIGHT, color=ESTIMATE, linewidth=1.6, label=words)
    text = f"{strip.plain_word} {strip.text(strip.plain)}"
    if low <= strip.plain <= high:
        ax.axvline(strip.plain, 0, HEIGHT, color=PLAIN, linewidth=1.6, linestyle="--", label=text)
    elif np.isfinite(strip.plain):
        right = strip.plain > high
        place, side = (0.99, "right") if right else (0.01, "left")
        arrow = f"{text} →" if right else f"← {text}"
        ax.text(place, 0.04, arrow, transform=ax.transAxes, ha=side, color=PLAIN, fontsize=9)
    beyond = values.size - shown.size
    ruined = f", {strip.ruined} ruined" if strip.ruined else ""
    where = f" ({beyond} outside this view{ruined})" if beyond or ruined else ""
    ax.set(xlim=(low, high), ylim=(0, 1), yticks=[])
    ax.set_xlabel(f"{strip.what} of {strip.values.size:,} blocks{where}")
    _ticks(ax.set_xticks, strip.scale, (low, high))
    ax.legend(fontsize=8, frameon=False, loc="upper left", ncols=2)
    ax.spines[["left", "right", "top"]].set_visible(False)


def _spans(spans: Spans, ax: Any) -> None:
    low, high = spans.view()
    places = np.arange(len(spans.lines))[::-1]
    words = list(spans.words)

    def label(which: int) -> str | None:
        """Each word once."""
        word, words[which] = words[which], ""
        return word or None

    for y, line in zip(places.tolist(), spans.lines, strict=True):
        if line.ends is not None:
            ax.plot(line.ends, [y, y], color=FAINT, linewidth=6, label=label(1), zorder=1)
        if line.estimate is not None:
            ax.plot(line.estimate, y, "o", color=ESTIMATE, markersize=5, label=label(0), zorder=3)
        if line.plain is not None and np.isfinite(line.plain):
            inside = low <= line.plain <= high
            at = min(max(line.plain, low), high)
            marker = "|" if inside else ">" if line.plain > high else "<"
            size = 12 if inside else 6
            ax.plot(at, y, marker, color=PLAIN, markersize=size, clip_on=False, label=label(2), zorder=2)
    ax.set_yticks(places, [shortened(line.name) for line in spans.lines], fontsize=8)
    ax.set(xlim=(low, high), ylim=(-1.5, len(spans.lines) - 0.3))
    _ticks(ax.set_xticks, spans.scale, (low, high))
    ax.legend(fontsize=8, frameon=False, loc="lower left", bbox_to_anchor=(0.0, -0.02), ncols=3).set_zorder(4)
    ax.spines[["left", "right", "top"]].set_visible(False)


def _curve(curve: Curve, ax: Any) -> None:
    x_view, y_view = curve.limits()
    for line in curve.lines:
        color = BLOCKS if line.points or not line.strong else ESTIMATE
        color = SERIES_COLOURS[line.series - 1] if line.series else color
        if line.points:
            halves = np.zeros(line.x.size) if line.half is None else np.nan_to_num(line.half, posinf=0.0)
            bars = {"fmt": "o", "color": color, "ecolor": FAINT, "markersize": 4, "elinewidth": 2}
            ax.errorbar(line.x, line.y, halves, **bars, label=line.name)
        else:
            width = 1.6 if line.strong else 0.8
            style = "--" if line.dashed else "-"
            ax.plot(line.x, line.y, style, color=color, linewidth=width, label=line.name or None)
    if curve.level is not None and np.isfinite(curve.level[0]):
        ax.axhline(curve.level[0], color=ESTIMATE, linewidth=1.0, label=curve.level[1])
    if curve.log_x:
        ax.set_xscale("log")
    if curve.log_y:
        ax.set_yscale("log")
    _ticks(ax.set_xticks, curve.x_scale, x_view)
    _ticks(ax.set_yticks, curve.y_scale, y_view)
    ax.minorticks_off()
    ax.set(xlabel=curve.x_name, ylabel=curve.y_name, xlim=x_view, ylim=y_view)
    ax.spines[["right", "top"]].set_visible(False)
    if len(curve.lines) > 1:
        ax.legend(fontsize=8, frameon=False)


def _matrix(matrix: Matrix, ax: Any) -> None:
    from matplotlib.colors import ListedColormap
    from matplotlib.patches import Patch

    kinds = list(CELLS)
    codes = np.array([[kinds.index(cell.kind) for cell in row] for row in matrix.cells])
    colours = ListedColormap(list(CELLS.values()))
    ax.imshow(codes, cmap=colours, vmin=-0.5, vmax=len(kinds) - 0.5, interpolation="nearest")
    if len(matrix.rows) <= MOST_NAMES:
        ax.set_xticks(
            range(len(matrix.columns)), list(map(shortened, matrix.columns)), rotation=90, fontsize=8
        )
        ax.set_yticks(range(len(matrix.rows)), list(map(shortened, matrix.rows)), fontsize=8)
    if len(matrix.rows) <= 12 and any(len(cell.text) > 1 for row in matrix.cells for cell in row):
        for i, row in enumerate(matrix.cells):
            for j, cell in enumerate(row):
                ax.text(j, i, cell.text, ha="center", va="center", fontsize=8)
    patches = [
        Patch(facecolor=CELLS[kind], edgecolor="#999999", label=word) for kind, word in matrix.kinds.items()
    ]
    ax.legend(handles=patches, fontsize=8, frameon=False, loc="upper left", bbox_to_anchor=(1.0, 1.0))


def shortened(name: str) -> str:
    """A name beside an axis."""
    return name if len(name) <= MOST_LETTERS else f"{name[: MOST_LETTERS - 1]}…"


def _ticks(setter: Any, scale: Scale, view: tuple[float, float]) -> None:
    """Ticks of the scale; Matplotlib's own where these are numbers."""
    if isinstance(scale, Numbers) and not scale.percent:
        return
    found = scale.ticks(*view, MOST_TICKS)
    setter([value for value, _ in found], [label for _, label in found])
