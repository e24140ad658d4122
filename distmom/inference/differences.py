"""Two robust ratios compared: their difference, and the relative one by Fieller's argument."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from distmom.inference.answers import RuleAnswer
from distmom.inference.estimate import Estimate, Estimates, Promise
from distmom.inference.ratios import RobustRatio, answer_equal, fewer_blocks, least_level
from distmom.inference.status import Finding
from distmom.numerics.arrays import Floats

Interval = tuple[float, float]

CLEARLY = 2.0
"""The control's mean is clearly away from 0 if twice its interval's reach does not get there."""

MOST_ROUNDS = 40


@dataclass(frozen=True)
class Paired:
    """Blocks of a control and of a variant, paired by their numbers.

    Units are put into blocks by a hash that does not know the variant, so a unit that is in both is in the
    same block of both, and what the two have in common leaves the difference.
    """

    control: RobustRatio
    variant: RobustRatio
    confidence_level: float

    @cached_property
    def finest(self) -> int | None:
        """The most blocks to take: they tell something in both, and the smaller one has units for them."""
        mine = self.variant.cells.levels
        levels = [k for k in self.control.cells.levels if k in mine]
        finest, fewer = max(levels, default=None), fewer_blocks(levels, self._n_independent)
        if fewer == finest or self._answer(finest).status[0] & Finding.CONTAMINATED:
            return finest
        return fewer

    @property
    def _n_independent(self) -> int:
        return min(self.control.cells.n_independent, self.variant.cells.n_independent)

    def _blocks(self, finest: int | None) -> tuple[Floats, Floats]:
        k = least_level(self.control.cells, finest)
        return self.control.blocks(k), self.variant.blocks(k)

    def _answer(self, finest: int | None) -> RuleAnswer:
        control, variant = self._blocks(finest)
        with np.errstate(invalid="ignore"):
            values = variant - control
        return answer_equal(values[None], finest, self._n_independent, self.confidence_level)

    def difference(self) -> RuleAnswer:
        """The rule on the differences of the paired blocks."""
        return self._answer(self.finest)

    def lift(self, wanted: str) -> Lift:
        """The relative difference L: the interval holds the L at which variant - (1 + L) control may be 0.

        That is Fieller's (1954) interval: the error of the control's mean enters. For one L the rule gives an
        estimate and an interval of L + (variant - (1 + L) control)/c, c the control's mean; an end of the
        interval is the L that is itself the end of its interval, and is found by going there again and
        again, which brings it nearer by the relative error of c each time.
        """
        c = self.control.value
        why = _unclear(self.control, wanted, self.confidence_level)
        if why is not None:
            return Lift(math.nan, None, why)
        control, variant = self._blocks(self.finest)
        at = np.full(3, self.variant.value / c - 1.0)
        for _ in range(MOST_ROUNDS):
            with np.errstate(invalid="ignore", over="ignore"):
                values = at[:, None] + (variant - (1.0 + at[:, None]) * control) / c
            answer = answer_equal(values, self.finest, self._n_independent, self.confidence_level)
            low, high = (estimate_of(answer, g, wanted, self.confidence_level).shown for g in (1, 2))
            why = high.reason
            known = low.interval is not None and high.interval is not None
            ends = (low.interval[0], high.interval[1]) if known else (math.nan, math.nan)
            before, at = at, np.array([answer.estimate[0], *ends])
            at = np.where(np.isnan(at), before, at)
            if np.allclose(at, before, rtol=1e-13, atol=1e-300):
                break
        return Lift(float(at[0]), None if why else (float(at[1]), float(at[2])), why)


@dataclass(frozen=True)
class Lift:
    """A relative difference, NaN where there is none; its interval; why one of them is missing."""

    value: float
    interval: Interval | None
    reason: str | None


def estimate_of(answer: RuleAnswer, g: int, interval: str, confidence_level: float) -> Estimate:
    """What is shown of a line of the answer.

    By default the interval is that of order statistics, but with too few blocks for them the exact bound.
    """
    n_blocks = int(answer.n_blocks[g])
    promise = Promise(interval, confidence_level, 1.0 - confidence_level, n_blocks)
    return Estimates(answer, promise).estimate(g)


def _unclear(control: RobustRatio, wanted: str, confidence_level: float) -> str | None:
    """Why nothing can be said relative to the control's mean; None where it can be."""
    kind = "auto" if wanted == "none" else wanted
    given = estimate_of(control.answer, 0, kind, confidence_level).shown.interval
    if given is None:
        return "the control's mean has no interval, so it may be 0"
    reach = max(given[1] - control.value, control.value - given[0])
    if abs(control.value) > CLEARLY * reach:
        return None
    return "the control's mean is not clearly away from 0"
