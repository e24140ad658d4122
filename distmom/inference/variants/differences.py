"""Two robust ratios compared: their difference, and the relative one by Fieller's argument."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from distmom.inference.answers import RuleAnswer
from distmom.inference.estimate import Estimate, Estimates, Promise, Shown
from distmom.inference.status import Finding
from distmom.inference.variants.ratios import RobustRatio, fewer_blocks, least_level
from distmom.inference.variants.together import Answered, Asked, Steps, answered
from distmom.numerics.arrays import Floats

Interval = tuple[float, float]

CLEARLY = 2.0
"""The control's mean is clearly away from 0 if even twice its interval's margin does not reach 0."""

MAY_BE_0 = "the control's mean does not differ significantly from 0"
"""Why there is no lift, neither for robust nor for sample means."""

MOST_ROUNDS = 40

RTOL, ATOL = 1e-13, 1e-300
"""A root counts as found if it moves by no more than this."""


@dataclass(frozen=True)
class Paired:
    """Blocks of a control and of a variant, paired by their numbers.

    Units are assigned to blocks by a hash that ignores the variant, so a unit that is in both is in the
    same block of both, and their common part cancels in the difference.
    """

    control: RobustRatio
    variant: RobustRatio
    confidence_level: float

    def finest(self) -> Steps[int | None]:
        """The largest usable number of blocks: informative in both, with enough units in the smaller one."""
        mine = self.variant.cells.levels
        levels = [k for k in self.control.cells.levels if k in mine]
        finest, fewer = max(levels, default=None), fewer_blocks(levels, self._n_independent)
        if fewer == finest or (yield self._asked(finest)).status() & Finding.CONTAMINATED:
            return finest
        return fewer

    @property
    def _n_independent(self) -> int:
        return min(self.control.cells.n_independent, self.variant.cells.n_independent)

    def _blocks(self, finest: int | None) -> tuple[Floats, Floats]:
        k = least_level(self.control.cells, finest)
        return self.control.blocks(k), self.variant.blocks(k)

    def _asked(self, finest: int | None) -> Asked:
        control, variant = self._blocks(finest)
        with np.errstate(invalid="ignore", over="ignore"):
            values = variant - control
        return Asked(values[None], finest, self._n_independent)

    def difference(self) -> RuleAnswer:
        """The rule on the differences of the paired blocks."""
        return answered(self._difference(), self.confidence_level)

    def _difference(self) -> Steps[RuleAnswer]:
        finest = yield from self.finest()
        return (yield self._asked(finest)).alone()

    def steps(self, wanted: str) -> Steps[tuple[RuleAnswer, Lift]]:
        """The rule on the differences of the paired blocks, and the lift."""
        finest = yield from self.finest()
        answer = (yield self._asked(finest)).alone()
        return answer, (yield from self._lift(wanted, finest))

    def lift(self, wanted: str) -> Lift:
        """The relative difference."""
        return answered(self.steps(wanted), self.confidence_level)[1]

    def _lift(self, wanted: str, finest: int | None) -> Steps[Lift]:
        """The relative difference L: the interval contains the L at which variant - (1 + L) control may be 0.

        That is Fieller's (1954) interval: the error of the control's mean enters. For one L the rule gives an
        estimate and an interval of L + (variant - (1 + L) control)/c, c the control's mean; an end of the
        interval is the L that is itself the end of its interval. It is found by fixed-point iteration,
        which reduces the distance by the relative error of c each time.
        """
        c = self.control.value
        why = _unclear(self.control, wanted, self.confidence_level)
        if why is not None:
            return Lift(math.nan, None, why)
        control, variant = self._blocks(finest)
        at = np.full(3, self.variant.value / c - 1.0)
        for _ in range(MOST_ROUNDS):
            with np.errstate(invalid="ignore", over="ignore"):
                values = at[:, None] + (variant - (1.0 + at[:, None]) * control) / c
            answer = yield Asked(values, finest, self._n_independent)
            low, high = (self._shown(answer, line, wanted) for line in (1, 2))
            why = high.reason
            known = low.interval is not None and high.interval is not None
            ends = (low.interval[0], high.interval[1]) if known else (math.nan, math.nan)
            before, at = at, np.array([answer.estimate(), *ends])
            at = np.where(np.isnan(at), before, at)
            if all(map(_same, at.tolist(), before.tolist())):
                break
        return Lift(float(at[0]), None if why else (float(at[1]), float(at[2])), why)

    def _shown(self, answer: Answered, line: int, interval: str) -> Shown:
        g = answer.first + line
        return _estimates(answer.every, g, interval, self.confidence_level).number(g)


def _same(x: float, y: float) -> bool:
    """Whether a root no longer moves."""
    return x == y or (math.isfinite(y) and abs(x - y) <= ATOL + RTOL * abs(y))


@dataclass(frozen=True)
class Lift:
    """A relative difference, NaN if there is none; its interval; why one of them is missing."""

    value: float
    interval: Interval | None
    reason: str | None


def estimate_of(answer: RuleAnswer, g: int, interval: str, confidence_level: float) -> Estimate:
    """The estimate that is shown for a line of the answer.

    By default the interval is that of order statistics; with too few blocks for them, the exact bound.
    """
    return _estimates(answer, g, interval, confidence_level).estimate(g)


def _estimates(answer: RuleAnswer, g: int, interval: str, confidence_level: float) -> Estimates:
    n_blocks = int(answer.n_blocks[g])
    return Estimates(answer, Promise(interval, confidence_level, 1.0 - confidence_level, n_blocks))


def _unclear(control: RobustRatio, wanted: str, confidence_level: float) -> str | None:
    """Why nothing can be said relative to the control's mean; None if it can."""
    kind = "auto" if wanted == "none" else wanted
    given = estimate_of(control.answer, 0, kind, confidence_level).shown.interval
    if given is None:
        return "the control's mean has no interval, so it may be 0"
    reach = max(given[1] - control.value, control.value - given[0])
    if abs(control.value) > CLEARLY * reach:
        return None
    return MAY_BE_0
