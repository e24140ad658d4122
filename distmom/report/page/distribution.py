"""The picture of how the values of a column are distributed, with what lies far out."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from distmom.report.histogram import Histogram
from distmom.report.page.pictures import AxisScale, Bars
from distmom.report.page.scales import Numbers, Times, titled
from distmom.report.page.svg import LETTER, anchored
from distmom.report.words import cell

MOST_TICKS = 5
LEAST_CODE = 0.1
"""Values far out that are named have this share of the rows far out."""

HEIGHTS = "The height of a bar is the square root of its share, so that few rows are seen, too."
SIGNED_LOG = " Across: linear near the middle, logarithmic farther out, on both sides."


def distribution(r: Any) -> tuple[Bars, ...]:
    """The picture, if the result has a histogram."""
    found: Histogram | None = r.numbers.histogram
    if found is None:
        return ()
    far, scale = r.numbers.far_rows, Numbers() if r.scale is None else Times(r.scale)
    low, high = (-math.inf, math.inf) if far is None else (far.low, far.high)
    n, total = len(found.counts), sum(found.counts)
    beyond = [k for k in range(n) if not found.place(low) < (k + 0.5) / n < found.place(high)]
    cuts = tuple(found.place(end) for end in (low, high) if math.isfinite(end))
    codes = [] if far is None else [v for v, share in far.values if share >= LEAST_CODE * far.share]
    caption = HEIGHTS if found.linear else HEIGHTS + SIGNED_LOG
    heading = f"How the values of {cell(r.column)} are distributed"
    word = {"set aside": "left out", "borne": "far out", "told": "far out, in the estimate"}
    return (
        Bars(
            heading,
            f"{caption} From a uniform sample of {total:,} rows.",
            tuple(math.sqrt(count / total) for count in found.counts),
            tuple(_ticks(found, scale)),
            frozenset(beyond),
            cuts,
            tuple(_apart((found.place(value), scale.text(value)) for value in codes)),
            "" if far is None else word[far.action],
            titled(cell(r.column), scale),
        ),
    )


def _ticks(found: Histogram, scale: AxisScale) -> list[tuple[float, str]]:
    """Places and labels: round numbers, or the centre with powers of ten around it."""
    if found.linear:
        marks = scale.ticks(found.low, found.high, MOST_TICKS)
        return [(found.place(value), label) for value, label in marks]
    first = math.ceil(math.log10(2.0 * found.unit))
    last = math.floor(math.log10(max(abs(found.low - found.centre), abs(found.high - found.centre))))
    powers = [10.0**k for k in range(last, first - 1, -1)]
    wanted = [found.centre, *(found.centre + sign * power for power in powers for sign in (1.0, -1.0))]
    places = ((found.place(value), scale.text(value)) for value in wanted)
    return sorted(_apart(one for one in places if 0.0 <= one[0] <= 1.0))


def _apart(places: Iterable[tuple[float, str]]) -> list[tuple[float, str]]:
    """Those that have room, the first ones before the others."""
    kept: list[tuple[float, str]] = []
    for place, words in places:
        low, high = _extent(place, words)
        taken = [_extent(*other) for other in kept]
        if all(high + LETTER <= first or last + LETTER <= low for first, last in taken):
            kept.append((place, words))
    return kept


def _extent(place: float, words: str) -> tuple[float, float]:
    """Where words begin and end that stand at a place, or inside of an end of the axis."""
    width = LETTER * len(words)
    low = place - {"start": 0.0, "middle": 0.5, "end": 1.0}[anchored(place, words)] * width
    return low, low + width
