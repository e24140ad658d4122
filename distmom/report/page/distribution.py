"""The picture of the distribution of a column, with outlying values on a scale of their own."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from distmom.report.far_rows import FarRows
from distmom.report.histogram import Histogram, Tail
from distmom.report.page.pictures import AxisScale, Bars, Ends, Panel
from distmom.report.page.scales import Numbers, Times, titled
from distmom.report.page.svg import LETTER, anchored
from distmom.report.words import cell

MOST_TICKS = 4
TAIL, GAP = 0.17, 0.04
"""Shares of the axis for an outlying part, and for the break next to it."""

MOST_DOTS = 400
"""Most blocks drawn; beyond that, this many quantiles."""

LEAST_CODE = 0.1
"""Smallest share of the outlying rows for an outlying value to be named."""

OUTSIDE = {
    "screened out": "left out",
    "borne": "far out",
    "told": "far out, in the estimate",
}
OWN_SCALE = (
    " Beyond a break, bars have a height of their own and widths that grow with the distance from the median."
)


def distribution(r: Any) -> tuple[Bars, ...]:
    """The picture, if the result has a histogram."""
    found: Histogram | None = r.numbers.histogram
    if found is None:
        return ()
    scale: AxisScale = Numbers() if r.scale is None else Times(r.scale)
    start = TAIL + GAP if found.below is not None else 0.0
    end = 1.0 - TAIL - GAP if found.above is not None else 1.0
    far: FarRows | None = r.numbers.far_rows

    def at(value: float) -> float:
        return start + (end - start) * found.place(value)

    panels = [_middle(found, far, start, end)]
    if found.below is not None:
        panels.insert(0, _outside(found.below, found, far, scale, (0.0, TAIL), reverse=True))
    if found.above is not None:
        panels.append(_outside(found.above, found, far, scale, (1.0 - TAIL, 1.0)))
    tallest = max(found.counts) / found.n
    caption = f"From a uniform sample of {found.n:,} rows."
    return (
        Bars(
            f"Distribution of {cell(r.column)}",
            caption + OWN_SCALE * (len(panels) > 1),
            tuple(panels),
            tuple(_ticks(found, scale, at, start, end)),
            titled(cell(r.column), scale),
            f"rows in a bar, {100.0 * tallest:.2g}% in the tallest",
            **_answer(r, at, start, end),
            far_word="" if far is None else OUTSIDE[far.action],
        ),
    )


def _answer(r: Any, at: Callable[[float], float], start: float, end: float) -> dict[str, Any]:
    """The estimate, its interval and the values of blocks, as far as they are in the middle."""
    numbers = r.numbers
    told: dict[str, Any] = {}
    place = math.nan if numbers.estimate is None else at(numbers.estimate)
    if start <= place <= end:
        told["estimate"] = place
    if numbers.interval is not None:
        low, high = (min(max(at(value), start), end) for value in numbers.interval)
        if low < high:
            told |= {"band": (low, high), "band_word": f"{r.level} interval"}
    values = np.asarray(getattr(numbers, "block_estimates", ()), float)
    places = np.array([at(value) for value in np.sort(values[np.isfinite(values)]).tolist()])
    inside = places[(places >= start) & (places <= end)]
    if inside.size > MOST_DOTS:
        inside = np.quantile(inside, np.linspace(0.0, 1.0, MOST_DOTS))
    if places.size > 1 and inside.size:
        outside = values.size - int(((places >= start) & (places <= end)).sum())
        words = f"{r.drawn[0]} of {values.size:,} blocks" + (f", {outside:,} outside" if outside else "")
        told |= {"dots": tuple(inside.tolist()), "dots_word": words}
    return told


def _middle(found: Histogram, far: FarRows | None, start: float, end: float) -> Panel:
    tallest, n = max(found.counts), len(found.counts)
    width = (found.high - found.low) / n
    bars = range(n) if far is not None else ()
    beyond = frozenset(k for k in bars if _is_far(found.low + (k + 0.5) * width, far))
    return Panel(start, end, tuple(count / tallest for count in found.counts), beyond)


def _outside(
    tail: Tail, found: Histogram, far: FarRows | None, scale: AxisScale, place: Ends, *, reverse: bool = False
) -> Panel:
    """One side: its bars, their share of all rows, and frequent values."""
    n, tallest = len(tail.counts), max(tail.counts)
    distances = [(tail.near - tail.centre, tail.far - tail.centre)] * n
    middles = [tail.centre + a * abs(b / a) ** ((k + 0.5) / n) for k, (a, b) in enumerate(distances)]
    beyond = [k for k, value in enumerate(middles) if _is_far(value, far)]
    heights = [count / tallest for count in tail.counts]
    words = f"{100.0 * sum(tail.counts) / found.n:.2g}% of the rows"
    known = [] if far is None else [v for v, share in far.values if share >= LEAST_CODE * far.share]
    codes = [scale.text(value) for value in known if (value < tail.centre) == reverse]
    if codes:
        words += f", at {', '.join(codes)}" if len(codes) == 1 else f", many at {', '.join(codes)}"
    if reverse:
        heights, beyond = heights[::-1], [n - 1 - k for k in beyond]
    return Panel(*place, tuple(heights), frozenset(beyond), words)


def _is_far(value: float, far: FarRows | None) -> bool:
    return far is not None and not far.low < value < far.high


def _ticks(
    found: Histogram, scale: AxisScale, at: Callable[[float], float], start: float, end: float
) -> list[tuple[float, str]]:
    """Round numbers in the middle, and the ends of the outlying parts."""
    ends = [(0.0, found.below)] * (found.below is not None) + [(1.0, found.above)] * (found.above is not None)
    outer = [(place, scale.text(tail.far)) for place, tail in ends if tail is not None]
    most = MOST_TICKS + 1 - len(ends)
    inner = [(at(value), label) for value, label in scale.ticks(found.low, found.high, most)]
    return sorted(_apart([*outer, *((place, label) for place, label in inner if start <= place <= end)]))


def _apart(places: Iterable[tuple[float, str]]) -> list[tuple[float, str]]:
    """The labels for which there is room; earlier ones have priority."""
    kept: list[tuple[float, str]] = []
    for place, words in places:
        low, high = _extent(place, words)
        taken = [_extent(*other) for other in kept]
        if all(high + LETTER <= first or last + LETTER <= low for first, last in taken):
            kept.append((place, words))
    return kept


def _extent(place: float, words: str) -> Ends:
    """Start and end of words at a place, kept inside the ends of the axis."""
    width = LETTER * len(words)
    low = place - {"start": 0.0, "middle": 0.5, "end": 1.0}[anchored(place, words)] * width
    return low, low + width
