"""Ticks and labels of axes: numbers, shares, counts on a logarithmic axis, times."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

import numpy as np

from distmom.lake.columns.times import DAY, TimeScale
from distmom.report.digits import SCIENTIFIC, quantity
from distmom.report.times import readable

SECOND = 10**9
SECONDS = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200)
TIME_STEPS = (
    *(SECOND // 10**k * n for k in range(9, 0, -1) for n in (1, 2, 5)),
    *(SECOND * n for n in SECONDS),
    *(DAY * n for n in (1, 2, 5, 10, 20, 50, 100, 200, 365, 730, 1826, 3652)),
)

MOST_LETTERS = 38
"""Most letters of an axis title; more would not fit on a phone."""


@dataclass(frozen=True)
class Numbers:
    """Numbers at round places.

    Attributes
    ----------
    percent : bool
        Whether they are shares, written in percent.
    """

    percent: bool = False

    def ticks(self, low: float, high: float, most: int) -> list[tuple[float, str]]:
        """Multiples of 1, 2 or 5 times a power of ten, all with the same decimals."""
        if not math.isfinite(high - low) or high <= low:
            return []
        factor = 100.0 if self.percent else 1.0
        for finer in (1, 2, 3):  # a single tick does not show the scale
            step, decimals = _round_step(factor * (high - low), finer * most)
            first, last = math.ceil(factor * low / step), math.floor(factor * high / step)
            # floats so close that steps round to the same number share one tick
            places = sorted({k * step for k in range(first, last + 1)})
            if len(places) > 1:
                break
        places = places[:: -(-len(places) // (most + 1)) or 1]
        unit = "%" if self.percent else ""
        size = max(map(abs, places), default=0.0)
        if size >= SCIENTIFIC or decimals > 6:
            return [(p / factor, f"{p:.4g}{unit}") for p in places]
        return [(p / factor, f"{p:,.{decimals}f}{unit}") for p in places]

    def text(self, value: float) -> str:
        """Four digits."""
        return f"{quantity(100.0 * value)}%" if self.percent else quantity(value)


@dataclass(frozen=True)
class Powers:
    """Positive numbers on a logarithmic axis: at given places, or at 1, 2, 5 times or just powers of ten."""

    places: tuple[float, ...] = ()

    def ticks(self, low: float, high: float, most: int) -> list[tuple[float, str]]:
        """Some of the given places, evenly spaced on the axis, or powers of ten."""
        places = list(self.places)
        if not places:
            first, last = math.ceil(math.log10(low)), math.floor(math.log10(high))
            places = [10.0**k for k in range(first, last + 1, -(-max(last - first + 1, 1) // most))]
            if len(places) < 3:
                places = [n * 10.0**k for k in range(first - 1, last + 1) for n in (1, 2, 5)]
            if sum(low <= place <= high for place in places) < 2:
                places = [low, high]
        gap = (math.log10(high) - math.log10(low)) / (most + 1)
        kept: list[float] = []
        for place in places:
            if low <= place <= high and (not kept or math.log10(place / kept[-1]) >= gap):
                kept.append(place)
        return [(place, quantity(place)) for place in kept]

    def text(self, value: float) -> str:
        """Four digits."""
        return quantity(value)


@dataclass(frozen=True)
class Times:
    """Nanoseconds on a scale of times, at whole seconds, hours, days."""

    scale: TimeScale

    def ticks(self, low: float, high: float, most: int) -> list[tuple[float, str]]:
        """Multiples of a round step of time."""
        step = next((s for s in TIME_STEPS if (high - low) / s <= most), None)
        if step is None:
            step = int(DAY * 3652 * 10 ** math.ceil(math.log10((high - low) / (DAY * 3652 * most))))
        digits = 0 if step >= SECOND else 9 - int(math.log10(step))
        first, last = math.ceil(low / step), math.floor(high / step)
        found = []
        for k in range(first, last + 1):
            words = readable(self.scale, k * step, digits)
            if self.scale.kind != "duration":
                words = re.sub(r"[+-]\d\d:\d\d$", "", words)
                words = words[:10] if step >= DAY else words[5:16] if step >= 60 * SECOND else words[5:]
            found.append((float(k * step), words))
        return found

    def text(self, value: float) -> str:
        """To the second."""
        return readable(self.scale, value, 0)


def titled(what: str, scale: object, unit: str = "column's unit") -> str:
    """The title of an axis: what it shows, and its unit.

    Examples
    --------
    >>> titled("mean of fare", Numbers())
    "mean of fare [column's unit]"
    >>> titled("share", Numbers(percent=True))
    'share [%]'
    """
    if isinstance(scale, Times):
        unit = "duration" if scale.scale.kind == "duration" else scale.scale.zone or "no time zone"
    elif isinstance(scale, Numbers) and scale.percent:
        unit = "%"
    unit = f" [{unit}]" if unit else ""
    return shortened(what, MOST_LETTERS - len(unit)) + unit


def shortened(words: str, most: int) -> str:
    """Words shortened to fit."""
    return words if len(words) <= most else f"{words[: most - 1]}…"


def _round_step(width: float, most: int) -> tuple[float, int]:
    """A round step that fits at most `most` times, and its decimals."""
    least = width / most
    power = math.floor(math.log10(least))
    for factor in (1, 2, 5, 10):
        step = factor * 10.0**power
        if step >= least * (1.0 - 1e-12):
            break
    decimals = max(0, -power - (factor == 10))
    return float(np.float64(step)), decimals
