"""Relative differences of many variants to one control, by Fieller's argument, all in step.

The relative difference is the L at which variant - (1 + L) control is 0, and its interval contains every L at
which that may be 0. That is Fieller's (1954) interval: the error of the control's mean enters. For one L the
rule gives an estimate and an interval of L + (variant - (1 + L) control)/c, c the control's mean; an end of
the interval is the L that is itself the end of its interval. Fixed-point iteration would reduce the distance
by the relative error of c each time; secant steps (Anderson's acceleration of one line) need a third of the
rounds.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from distmom.inference.answers import RuleAnswer
from distmom.inference.status import NoInterval
from distmom.inference.variants.together import rule_of
from distmom.numerics.arrays import Bools, Floats, Ints
from distmom.theory.intervals import least_order_blocks

Interval = tuple[float, float]

MOST_ROUNDS = 40

RTOL, ATOL = 1e-13, 1e-300
"""A root counts as found if it moves by no more than this."""

VALUES_AT_ONCE = 1 << 20
"""Lifts are found in portions of about this many block values, to bound the memory."""

LINES = 3
"""Lines of the rule for each lift: its estimate and the two ends of its interval."""


@dataclass(frozen=True)
class Lift:
    """A relative difference, NaN if there is none; its interval; why one of them is missing."""

    value: float
    interval: Interval | None
    reason: str | None


class PairedBlocks(NamedTuple):
    """Paired blocks of a control and a variant, of `size` units each, and the means of both."""

    control: Floats
    variant: Floats
    size: int
    control_mean: float
    variant_mean: float


def lifts(pairs: Sequence[PairedBlocks], wanted: str, confidence_level: float) -> list[Lift]:
    """The lift of each pair, bit-for-bit as if found alone."""
    alike: dict[int, list[int]] = {}
    for number, pair in enumerate(pairs):
        alike.setdefault(pair.control.size, []).append(number)
    found: dict[int, Lift] = {}
    for n_blocks, numbers in alike.items():
        at_once = max(1, VALUES_AT_ONCE // (LINES * n_blocks))
        for start in range(0, len(numbers), at_once):
            some = numbers[start : start + at_once]
            found.update(zip(some, _lifts([pairs[i] for i in some], wanted, confidence_level), strict=True))
    return [found[number] for number in range(len(pairs))]


def _lifts(pairs: Sequence[PairedBlocks], wanted: str, confidence_level: float) -> Iterator[Lift]:
    """Those of pairs with equal numbers of blocks."""
    control = np.stack([pair.control for pair in pairs])[:, None]
    variant = np.stack([pair.variant for pair in pairs])[:, None]
    c, mean = np.array([(pair.control_mean, pair.variant_mean) for pair in pairs]).T
    size = np.array([pair.size for pair in pairs])
    at = np.repeat((mean / c - 1.0)[:, None], LINES, axis=1)
    found, last, last_step = at.copy(), at.copy(), np.full(at.shape, np.nan)
    reasons = np.zeros(len(pairs), np.int64)
    moving = np.arange(len(pairs))
    for _ in range(MOST_ROUNDS):
        now = at[moving]
        with np.errstate(invalid="ignore", over="ignore"):
            about = variant[moving] - (1.0 + now[..., None]) * control[moving]
            values = now[..., None] + about / c[moving, None, None]
        sizes = np.repeat(size[moving], LINES)
        answer = rule_of(values.reshape(-1, values.shape[-1]), sizes, confidence_level)
        then, reasons[moving] = _next(answer, wanted, 1.0 - confidence_level)
        then = np.where(np.isnan(then), now, then)
        at[moving] = _ahead(now, then, last[moving], last_step[moving])
        found[moving], last[moving], last_step[moving] = then, now, then - now
        moving = moving[~_same(then, now).all(axis=1)]
        if not moving.size:
            break
    for (value, low, high), reason in zip(found.tolist(), reasons.tolist(), strict=True):
        yield Lift(value, None, NoInterval(reason).words) if reason else Lift(value, (low, high), None)


def _ahead(now: Floats, then: Floats, last: Floats, last_step: Floats) -> Floats:
    """Where to look next: a secant step to the root of `then - now`, unless it leads far away."""
    step = then - now
    with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
        secant = now - step * (now - last) / (step - last_step)
        return np.where(np.abs(secant - then) <= np.abs(step), secant, then)


def _next(answer: RuleAnswer, wanted: str, delta: float) -> tuple[Floats, Ints]:
    """The estimate and both ends for each lift, NaN if one of the ends is missing; the upper one's reason."""
    found = answer.intervals
    if wanted == "auto":
        by_order = answer.n_blocks >= least_order_blocks(delta)
    else:
        by_order = np.full(answer.n_blocks.shape, wanted == "order")
    reason: Ints = np.where(by_order, found.order_reason, found.cantelli_reason).reshape(-1, LINES)
    if wanted == "none":
        reason = np.full(reason.shape, int(NoInterval.NOT_WANTED))
    low = np.where(by_order, found.order_low, found.cantelli_low).reshape(-1, LINES)[:, 1]
    high = np.where(by_order, found.order_high, found.cantelli_high).reshape(-1, LINES)[:, 2]
    known = ~reason[:, 1:].any(axis=1)
    ends = (np.where(known, end, np.nan) for end in (low, high))
    return np.stack([answer.estimate.reshape(-1, LINES)[:, 0], *ends], axis=1), reason[:, 2]


def _same(x: Floats, y: Floats) -> Bools:
    """Whether each root no longer moves."""
    with np.errstate(invalid="ignore", over="ignore"):
        near = np.isfinite(y) & (np.abs(x - y) <= ATOL + RTOL * np.abs(y))
    return np.asarray((x == y) | near)
