"""Sums of times that outlive a run: from which day they count, and the same sums counted from another one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, get_args

from distmom.lake.columns.times import DAY, TimeKind, TimeScale, Unit
from distmom.lake.source import ReadOptions
from distmom.reductions.state import MeanState

MOST_DAYS = 1 << 40
"""Farther from 1970 than any time that Arrow stores."""


def with_times_of(read: ReadOptions, other: ReadOptions) -> ReadOptions:
    """The options with the scales of columns that were null throughout here, but not there."""
    known = {**dict(other.times), **dict(read.times)}
    return replace(read, times=tuple((name, known[name]) for name in read.columns if name in known))


def recounted(
    state: MeanState | None, columns: Sequence[str], then: ReadOptions, now: ReadOptions
) -> MeanState | None:
    """Sums of these columns, counted from the days of `then`, as counted from those of `now`.

    Means are rounded once more, at 2**-53 of the distance between the days; nothing else changes.
    """
    before, after = then.scales, now.scales
    days = [before[name].base - after[name].base if name in before else 0 for name in columns]
    if state is None or not any(days):
        return state
    return state.moved([float(n * DAY) for n in days])


def scale_from_facts(facts: Any) -> TimeScale | None:
    """The scale that JSON carries; an error of Python's if it is none."""
    if facts is None:
        return None
    scale = TimeScale(**facts)
    words = scale.kind in get_args(TimeKind) and scale.unit in get_args(Unit)
    if not words or not isinstance(scale.zone, str | None):
        raise ValueError(f"{facts!r} is no scale of times")
    if type(scale.base) is not int or abs(scale.base) > MOST_DAYS:
        raise ValueError(f"{scale.base!r} is no day")
    return scale
