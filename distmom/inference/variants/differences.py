"""Two robust ratios compared: their difference, and the relative one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from distmom.inference.answers import RuleAnswer
from distmom.inference.estimate import Estimate, Estimates, Promise
from distmom.inference.status import Finding
from distmom.inference.variants.lifts import Lift, PairedBlocks, lifts
from distmom.inference.variants.ratios import RobustRatio, fewer_blocks, least_level
from distmom.inference.variants.together import Asked, Steps, all_answered, answered
from distmom.numerics.arrays import Floats

CLEARLY = 2.0
"""The control's mean is clearly away from 0 if even twice its interval's margin does not reach 0."""

MAY_BE_0 = "the control's mean does not differ significantly from 0"
"""Why there is no lift, neither for robust nor for sample means."""


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
        return answered(self.steps(), self.confidence_level)[0]

    def lift(self, wanted: str) -> Lift:
        """The relative difference."""
        return compared([self], wanted)[0][1]

    def steps(self) -> Steps[tuple[RuleAnswer, PairedBlocks]]:
        """The rule on the differences of the paired blocks, and these blocks."""
        finest = yield from self.finest()
        asked = self._asked(finest)
        answer = (yield asked).alone()
        return answer, PairedBlocks(*self._blocks(finest), asked.size, self.control.value, self.variant.value)


def compared(pairs: Sequence[Paired], wanted: str) -> list[tuple[RuleAnswer, Lift]]:
    """The rule on the differences of each pair, and its lift; all pairs have one control and one level."""
    if not pairs:
        return []
    level = pairs[0].confidence_level
    answers, blocks = zip(*all_answered([pair.steps() for pair in pairs], level), strict=True)
    why = _unclear(pairs[0].control, wanted, level)
    if why is not None:
        return [(answer, Lift(math.nan, None, why)) for answer in answers]
    return list(zip(answers, lifts(blocks, wanted, level), strict=True))


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
