"""The geometry of the picture of a distribution."""

from __future__ import annotations

from distmom.report.page.pictures import Bars, Panel
from distmom.report.page.scales import MOST_LETTERS, shortened
from distmom.report.page.svg import (
    AXIS_HEIGHT,
    INNER,
    Drawing,
    Mark,
    axis_marks,
    band,
    dot,
    percent,
    upright,
)

TOP, FLOOR, HEIGHT = 36, 136, 152
"""The tallest bars extend from the second to the first; dots are between the second and the third."""

GAP = 0.012
"""Share of the axis between the two strokes of a break."""


def draw_bars(bars: Bars) -> Drawing:
    """Draw the interval behind the bars, the values of blocks below them, and breaks where a scale ends."""
    marks = [Mark("text", {"x": "0%", "y": 11, "class": "label"}, shortened(bars.y_name, MOST_LETTERS))]
    legend = [("bar", "rows")]
    if any(panel.far for panel in bars.panels):
        legend.append(("bar far", bars.far_word))
    if bars.band is not None:
        marks.append(band(float, bars.band, TOP, HEIGHT - TOP))
        legend.append(("band", bars.band_word))
    for panel in bars.panels:
        marks += _panel(panel)
    if bars.estimate is not None:
        marks.append(upright(bars.estimate, TOP, HEIGHT, "estimate"))
        legend.append(("rule estimate", "estimate"))
    marks += [dot(place, (FLOOR + HEIGHT) / 2, 3) for place in bars.dots]
    if bars.dots:
        legend.append(("dot block", bars.dots_word))
    marks += axis_marks(list(bars.ticks), float, HEIGHT, bars.x_name)
    for before, after in zip(bars.panels, bars.panels[1:], strict=False):
        marks += _break((before.end + after.start) / 2.0)
    return Drawing(HEIGHT + AXIS_HEIGHT, tuple(marks), bars.heading, tuple(legend))


def _panel(panel: Panel) -> list[Mark]:
    """Two outlines, of usual and of outlying bars, in a stretched inner picture; and its words."""
    n, height = len(panel.heights), FLOOR - TOP
    marks: list[Mark] = []
    for kind in ("bar", "bar far"):
        mine = [k for k in range(n) if (k in panel.far) == (kind == "bar far") and panel.heights[k]]
        outline = "".join(
            f"M{INNER * k / n:.0f} {height}V{min(height * (1.0 - panel.heights[k]), height - 1.0):.1f}"
            f"H{INNER * (k + 1) / n:.0f}V{height}"
            for k in mine
        )
        if mine:
            marks.append(Mark("path", {"d": outline, "class": kind}))
    frame = {"x": percent(panel.start), "width": percent(panel.end - panel.start), "y": TOP, "height": height}
    view = {"viewBox": f"0 0 {INNER} {height}", "preserveAspectRatio": "none"}
    drawn = [Mark("svg", frame | view, inner=tuple(marks))]
    if panel.words:
        left = panel.start < 0.5
        place = {"x": percent(panel.start if left else panel.end), "text-anchor": "start" if left else "end"}
        look = {"y": 28, "class": "plain" if panel.far else "label"}
        drawn.append(Mark("text", place | look, shortened(panel.words, MOST_LETTERS)))
    return drawn


def _break(place: float) -> list[Mark]:
    """Two strokes across the axis."""
    half, down = GAP / 2.0, {"y1": HEIGHT + 5, "y2": HEIGHT - 5, "class": "axis"}
    return [
        Mark("line", {"x1": percent(x - half), "x2": percent(x + half), **down})
        for x in (place - half, place + half)
    ]
