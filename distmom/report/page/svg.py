"""The geometry of pictures in a page.

Places along the width are in percent, heights in pixels, so letters keep their size on every screen.
Connected lines are in a stretched inner picture.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from distmom.report.page.pictures import Curve, Line, Span, Spans, Strip, placed
from distmom.report.page.scales import MOST_LETTERS, shortened

GOLDEN = 0.6180339887498949
"""The fractional parts of its multiples spread points evenly, the same in every picture."""

MOST_POINTS = 1_500
"""Most blocks drawn; beyond that, this many quantiles."""

MOST_VERTICES = 400
TICKS = 4
"""On a phone more labels would touch each other."""

STRIP_HEIGHT, AXIS_HEIGHT, BAR_HEIGHT, CURVE_HEIGHT = 110, 44, 22, 220
CURVE_TOP = 24
"""Space for the name of the vertical axis."""

LETTER = 0.031
"""Share of the axis per letter on a narrow phone."""

INNER = 1000
"""Units of an inner picture, in both directions."""


@dataclass(frozen=True)
class Mark:
    """An SVG element; `inner` are the elements inside it."""

    tag: str
    attributes: dict[str, Any]
    text: str = ""
    inner: tuple[Mark, ...] = ()


@dataclass(frozen=True)
class Drawing:
    """A picture as wide as its place, its height in pixels."""

    height: int
    marks: tuple[Mark, ...]
    label: str
    legend: tuple[tuple[str, str], ...] = ()


def draw_strip(strip: Strip) -> Drawing:
    """Dots, a band for the interval, lines for estimate and plain estimate, arrows for values outside."""
    view = strip.view()
    at = placed(view)
    marks: list[Mark] = []
    legend = [("dot block", _block_words(strip))]
    if strip.interval is not None:
        marks.append(band(at, strip.interval, 18, STRIP_HEIGHT - 18))
        legend.append(("band", f"{100 * strip.level:.6g}% interval"))
    values = strip.values[np.isfinite(strip.values)]
    inside = values[(values >= view[0]) & (values <= view[1])]
    quantiles = np.linspace(0.0, 1.0, MOST_POINTS)
    shown = inside if inside.size <= MOST_POINTS else np.quantile(inside, quantiles)
    spread = (np.arange(shown.size) * GOLDEN) % 1.0
    marks += [
        dot(at(value), 26 + (STRIP_HEIGHT - 34) * height, 4)
        for value, height in zip(shown.tolist(), spread.tolist(), strict=True)
    ]
    if np.isfinite(strip.estimate):
        marks.append(upright(at(strip.estimate), 18, STRIP_HEIGHT, "estimate"))
        legend.append(("rule estimate", f"estimate {strip.text(strip.estimate)}"))
    marks += _plain_marks(strip, view)
    if view[0] <= strip.plain <= view[1]:
        legend.append(("rule plain", f"{strip.plain_word} {strip.text(strip.plain)}"))
    marks += _beyond(values, view)
    if strip.non_finite:
        marks += [
            Mark("text", {"x": f"{5 + 3 * i}%", "y": 13, "class": "non-finite"}, "×")
            for i in range(min(strip.non_finite, 10))
        ]
        legend.append(
            (
                "cross",
                f"{strip.non_finite} non-finite block{'s' * (strip.non_finite > 1)} (infinite or NaN)",
            )
        )
    marks += axis_marks(strip.scale.ticks(*view, TICKS), at, STRIP_HEIGHT, strip.x_name)
    return Drawing(STRIP_HEIGHT + AXIS_HEIGHT, tuple(marks), strip.heading, tuple(legend))


def _block_words(strip: Strip) -> str:
    n = strip.values.size
    words = f"{strip.what} of {n:,} blocks" if n > 1 else f"{strip.what} of the one block"
    return words + (f", {MOST_POINTS:,} drawn" if n > MOST_POINTS else "")


def draw_span(line: Span, spans: Spans) -> Drawing:
    """One line of `Spans`: a bar, a dot and, if there is room for it, the plain estimate."""
    view = spans.view()
    at = placed(view)
    middle = BAR_HEIGHT / 2
    marks: list[Mark] = []
    if line.ends is not None:
        marks.append(band(at, line.ends, 4, BAR_HEIGHT - 8))
    if line.plain is not None and np.isfinite(line.plain):
        share = at(line.plain)
        if 0.0 <= share <= 1.0:
            marks.append(upright(share, 2, BAR_HEIGHT - 2, "plain"))
        else:
            arrow = "▸" if share > 1.0 else "◂"
            end = {"x": "99%" if share > 1.0 else "1%", "text-anchor": "end" if share > 1.0 else "start"}
            marks.append(Mark("text", {**end, "y": middle + 5, "class": "plain"}, arrow))
    if line.estimate is not None and np.isfinite(line.estimate):
        marks.append(dot(at(line.estimate), middle, 5, "middle"))
    return Drawing(BAR_HEIGHT, tuple(marks), f"{line.name}: {line.text}")


def draw_axis(spans: Spans) -> Drawing:
    """The axis below all lines of `Spans`."""
    view = spans.view()
    marks = axis_marks(spans.scale.ticks(*view, TICKS), placed(view), 0, spans.x_name)
    kinds = ("dot middle", "band", "rule plain")
    legend = tuple((kind, word) for kind, word in zip(kinds, spans.words, strict=True) if word)
    return Drawing(AXIS_HEIGHT, tuple(marks), spans.heading, legend)


def draw_curve(curve: Curve) -> Drawing:
    """Lines or points with bars, a level line, both axes."""
    x_view, y_view = curve.limits()
    y_ticks = curve.y_scale.ticks(*y_view, TICKS)
    left = min(40.0, 3.0 + 2.5 * max((len(label) for _, label in y_ticks), default=1))
    share_x, share_y = placed(x_view, curve.log_x), placed(y_view, curve.log_y)

    def across(value: float) -> float:
        return (left + (98.0 - left) * share_x(value)) / 100.0

    def down(value: float) -> float:
        return CURVE_TOP + (CURVE_HEIGHT - CURVE_TOP - 4.0) * (1.0 - share_y(value))

    marks: list[Mark] = [
        Mark("text", {"x": "0%", "y": 11, "class": "label"}, shortened(curve.y_name, MOST_LETTERS))
    ]
    for value, label in y_ticks:
        y = round(down(value), 1)
        marks.append(Mark("line", {"x1": f"{left}%", "x2": "100%", "y1": y, "y2": y, "class": "guide"}))
        marks.append(Mark("text", {"x": f"{left - 1}%", "y": y + 4, "text-anchor": "end"}, label))
    legend: list[tuple[str, str]] = []
    for line in curve.lines:
        marks += _points(line, across, down) if line.points else [_joined(line, left, share_x, down)]
        if line.name:
            legend.append((f"{'dot' if line.points else 'rule'} {_class(line)}", line.name))
    if curve.level is not None and np.isfinite(curve.level[0]):
        y = round(down(curve.level[0]), 1)
        marks.append(Mark("line", {"x1": f"{left}%", "x2": "100%", "y1": y, "y2": y, "class": "estimate"}))
        legend.append(("rule estimate", curve.level[1]))
    marks += axis_marks(curve.x_scale.ticks(*x_view, TICKS + 1), across, CURVE_HEIGHT, curve.x_name)
    label = f"{curve.y_name} by {curve.x_name}"
    return Drawing(CURVE_HEIGHT + AXIS_HEIGHT, tuple(marks), label, tuple(legend))


def _class(line: Line) -> str:
    if not line.series:
        return "block" if line.strong else "faint"
    return f"s{line.series}" + " dashed" * line.dashed + " thin" * (not line.strong)


def _points(line: Line, across: Any, down: Any) -> list[Mark]:
    marks = []
    halves = np.zeros(line.x.size) if line.half is None else line.half
    for x, y, half in zip(line.x.tolist(), line.y.tolist(), halves.tolist(), strict=True):
        if not np.isfinite(y):
            continue
        place = percent(across(x))
        if np.isfinite(half) and half > 0.0:
            ends = {"y1": round(down(y + half), 1), "y2": round(down(y - half), 1)}
            marks.append(Mark("line", {"x1": place, "x2": place, **ends, "class": "reach"}))
        marks.append(dot(across(x), down(y), 4))
    return marks


def _joined(line: Line, left: float, share_x: Any, down: Any) -> Mark:
    """A polyline in an inner picture stretched to the full width."""
    good = np.isfinite(line.x) & np.isfinite(line.y)
    x, y = line.x[good], line.y[good]
    if x.size > MOST_VERTICES:
        kept = np.unique(np.linspace(0, x.size - 1, MOST_VERTICES).round().astype(int))
        x, y = x[kept], y[kept]
    pairs = zip(x.tolist(), y.tolist(), strict=True)
    points = " ".join(f"{INNER * share_x(a):.1f},{down(b):.1f}" for a, b in pairs)
    inner = Mark("polyline", {"points": points, "class": _class(line), "vector-effect": "non-scaling-stroke"})
    frame = {"x": f"{left}%", "width": f"{98.0 - left}%", "height": CURVE_HEIGHT}
    view = {"viewBox": f"0 0 {INNER} {CURVE_HEIGHT}", "preserveAspectRatio": "none"}
    return Mark("svg", frame | view, inner=(inner,))


def _plain_marks(strip: Strip, view: tuple[float, float]) -> list[Mark]:
    """A dashed line, or an arrow with the value if it is outside."""
    plain = strip.plain
    if view[0] <= plain <= view[1]:
        return [upright(placed(view)(plain), 18, STRIP_HEIGHT, "plain")]
    if not np.isfinite(plain):
        return []
    text = f"{strip.plain_word} {strip.text(plain)}"
    if plain > view[1]:
        return [Mark("text", {"x": "99.5%", "y": 12, "text-anchor": "end", "class": "plain"}, f"{text} →")]
    return [Mark("text", {"x": "0.5%", "y": 12, "class": "plain"}, f"← {text}")]


def _beyond(values: Any, view: tuple[float, float]) -> list[Mark]:
    """The number of blocks outside on each side."""
    marks = []
    left, right = int((values < view[0]).sum()), int((values > view[1]).sum())
    if left:
        marks.append(Mark("text", {"x": "0.5%", "y": STRIP_HEIGHT - 6, "class": "block"}, f"◂ {left} more"))
    if right:
        end = {"x": "99.5%", "y": STRIP_HEIGHT - 22, "text-anchor": "end", "class": "block"}
        marks.append(Mark("text", end, f"{right} more ▸"))
    return marks


def axis_marks(ticks: list[tuple[float, str]], at: Any, top: int, name: str) -> list[Mark]:
    """An axis with its name centred below."""
    marks = [Mark("line", {"x1": "0%", "x2": "100%", "y1": top + 0.5, "y2": top + 0.5, "class": "axis"})]
    for value, label in ticks:
        share = at(value)
        anchor = anchored(share, label)
        place = percent(share)
        marks.append(Mark("line", {"x1": place, "x2": place, "y1": top, "y2": top + 5, "class": "axis"}))
        marks.append(Mark("text", {"x": place, "y": top + 19, "text-anchor": anchor}, label))
    if name:
        below = {"x": "50%", "y": top + 37, "text-anchor": "middle", "class": "label"}
        marks.append(Mark("text", below, shortened(name, MOST_LETTERS)))
    return marks


def anchored(share: float, words: str) -> str:
    """The anchor of words at a place on an axis, so that they stay inside its ends."""
    half = LETTER * len(words) / 2.0
    return "start" if share < half else "end" if share > 1.0 - half else "middle"


def band(at: Any, ends: tuple[float, float], y: float, height: float) -> Mark:
    """An interval, clipped to the axis."""
    low, high = (min(1.0, max(0.0, at(end))) for end in ends)
    width = percent(max(high - low, 0.002))
    return Mark("rect", {"x": percent(low), "width": width, "y": y, "height": height, "class": "band"})


def dot(share: float, y: float, radius: int, kind: str = "block") -> Mark:
    """A point."""
    return Mark("circle", {"cx": percent(share), "cy": round(y, 1), "r": radius, "class": kind})


def upright(share: float, top: float, bottom: float, kind: str) -> Mark:
    """A vertical line."""
    place = percent(share)
    return Mark("line", {"x1": place, "x2": place, "y1": top, "y2": bottom, "class": kind})


def percent(share: float) -> str:
    """A place along the width."""
    return f"{100.0 * share:.2f}%"
